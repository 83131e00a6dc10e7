"""Logs of openings: each use of sealed or held-out data by these programs adds a line to a file in `results`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harvestgym.evaluate import splits

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
LOG = RESULTS / "test-side-opened.jsonl"
"""The openings of the test side of the core suite."""


def describe_commit() -> str:
    """Return the commit of the code, with a `+` if a tracked file differs from it, except for stored results."""
    run = partial(subprocess.run, cwd=ROOT, check=True, capture_output=True, text=True)
    changed = run(["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!experiments/results"]).stdout
    return run(["git", "rev-parse", "HEAD"]).stdout.strip() + "+" * bool(changed.strip())


def append_entry(log: Path, entry: Mapping[str, Any]) -> None:
    """Append an entry to a log, with the time as `opened`, after its first item."""
    first, *rest = entry.items()
    timed = dict([first, ("opened", datetime.now(UTC).isoformat(timespec="seconds")), *rest])
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(timed) + "\n")


def log_opening(part: str, ids: Sequence[str], log: Path = LOG) -> None:
    """Append an opening of the test side: what it is for, the time, the ids, the digest of the file, the commit."""
    append_entry(log, {"part": part, "ids": list(ids), "digest": splits.digest(), "commit": describe_commit()})
