"""Cases without an environment for the tests of engines: they count, and fail, die or wait as they are asked to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.sweep.cases import SweepCase

LOG = "ran.txt"


class CountCase(SweepCase):
    """Counts up to a number.

    Attributes:
        number: rows of the case.
        fault: `raise`, `mistake` (a ConfigError), `once` (fails at first), `kill` (SIGKILL at first), `kill_always`,
            or `wait`.
        folder: where the runs are logged, and the first ones marked.
        key: the batch key.
    """

    runner: ClassVar[str] = "tests.sweep.counting:run_counts"

    number: int
    fault: str = ""
    folder: str = ""
    key: str = "count"

    @property
    def batch_key(self) -> Hashable:
        return self.key


def run_counts(cases: Sequence[CountCase]) -> list[dict[str, np.ndarray]]:
    """Count, or fail."""
    return [_count(case) for case in cases]


def _count(case: CountCase) -> dict[str, np.ndarray]:
    marker = Path(case.folder) / f"{case.number}.{case.fault}"
    first = bool(case.folder) and not marker.exists()
    if case.fault:
        if case.folder:
            marker.touch()
        _fail(case, first)
    if case.folder:
        with (Path(case.folder) / LOG).open("a", encoding="utf-8") as file:
            file.write(f"{case.number}\n")
    return {"value": np.arange(case.number, dtype=np.float32) / 3}


def _fail(case: CountCase, first: bool) -> None:
    match case.fault:
        case "raise":
            raise ValueError(f"cannot count to {case.number}")
        case "mistake":
            raise ConfigError(f"number: expected another, got {case.number}")
        case "once" if first:
            raise OSError("not yet")
        case "kill" if first:
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGKILL)
        case "kill_always":
            os.kill(os.getpid(), signal.SIGKILL)
        case "wait":
            time.sleep(0.5)


def read_log(folder: Path) -> list[int]:
    """Return the numbers that were counted, in order, each as often as it was."""
    path = folder / LOG
    return [int(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []
