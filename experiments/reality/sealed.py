"""Sealed parts of `protocol.md`: each is opened once, which adds a line to `results/reality-opened.jsonl`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from experiments.test_side import RESULTS, append_entry, describe_commit

PROTOCOL = Path(__file__).with_name("protocol.md")
VERSIONS = (
    "2bee2590b6ef5dae03f613424986878f4fcf90fa52ffcd27b860f17e77ccc37c",
    "8993538bac0eb4d86e54f2ae036d103ec1e903eef34fbeae7ad71715b8733609",
)
"""The SHA-256 of the frozen protocol, and of each version with another entry under Changes."""

LOG = RESULTS / "reality-opened.jsonl"


def describe_run() -> dict[str, str]:
    """Return what every result cites: the SHA-256 of the protocol, and the commit."""
    return {"protocol": hashlib.sha256(PROTOCOL.read_bytes()).hexdigest(), "commit": describe_commit()}


def open_sealed(part: str, log: Path = LOG) -> None:
    """Log that a sealed part is opened, with the commit of the code; raise RuntimeError if it was opened before."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    before = [line for line in map(json.loads, lines) if line["part"] == part]
    if before:
        raise RuntimeError(f"{part}: expected a part that is sealed, got one that was opened on {before[0]['opened']}")
    log_opening(part, log)


def log_opening(part: str, log: Path = LOG) -> None:
    """Append the time, the protocol and the commit of an opening to the log."""
    append_entry(log, {"part": part} | describe_run())
