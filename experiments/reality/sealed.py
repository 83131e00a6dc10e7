"""Sealed parts of `protocol.md`: each is opened once, which adds a line to `results/reality-opened.jsonl`."""

from __future__ import annotations

import hashlib
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

PROTOCOL = Path(__file__).with_name("protocol.md")
LOG = Path(__file__).parents[1] / "results/reality-opened.jsonl"


def hash_protocol() -> str:
    """Return the SHA-256 of the protocol, which every result cites."""
    return hashlib.sha256(PROTOCOL.read_bytes()).hexdigest()


def open_sealed(part: str, log: Path = LOG) -> None:
    """Log that a sealed part is opened, with the commit of the code; raise RuntimeError if it was opened before."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    before = [line for line in map(json.loads, lines) if line["part"] == part]
    if before:
        raise RuntimeError(f"{part}: expected a part that is sealed, got one that was opened on {before[0]['opened']}")
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROTOCOL.parent, capture_output=True, text=True, check=True
    )
    entry = {"part": part, "opened": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit.stdout.strip()}
    entry["protocol"] = hash_protocol()
    log.write_text("\n".join([*lines, json.dumps(entry)]) + "\n", encoding="utf-8")
