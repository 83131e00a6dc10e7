"""Logs of openings: each use of sealed or held-out data by these programs adds a line to a file in `results`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
CODE = ("harvestgym", "experiments", "examples", ":!experiments/results", ":!harvestgym/evaluate/suite_anchors.json")
LOG = RESULTS / "test-side-opened.jsonl"
"""The openings of the test side of the core suite."""


def describe_commit() -> str:
    """Return the commit, with a `+` if a tracked file of the code differs from it; results are not code."""
    run = partial(subprocess.run, cwd=ROOT, check=True, capture_output=True, text=True)
    changed = run(["git", "status", "--porcelain", "--untracked-files=no", "--", *CODE]).stdout
    return run(["git", "rev-parse", "HEAD"]).stdout.strip() + "+" * bool(changed.strip())


def append_entry(log: Path, entry: Mapping[str, Any]) -> None:
    """Append an entry to a log, with the time as `opened`, after its first item."""
    first, *rest = entry.items()
    timed = dict([first, ("opened", datetime.now(UTC).isoformat(timespec="seconds")), *rest])
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(timed) + "\n")


def log_opening(part: str, ids: Sequence[str], log: Path = LOG) -> None:
    """Append an opening of the test side: what it is for, the time, the ids, the digest of the file, the commit.

    Raises:
        ConfigError: if the code differs from the commit.
    """
    commit = describe_commit()
    if commit.endswith("+"):
        raise ConfigError(f"{part}: expected code as in a commit, got changed files; commit them, and open again")
    append_entry(log, {"part": part, "ids": list(ids), "digest": splits.digest(), "commit": commit})
