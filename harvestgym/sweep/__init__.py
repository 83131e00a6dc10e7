"""Sweeps: many cases as data, run in one process or on a Ray cluster, one Parquet file per case, resumable.

`sweep` runs cases, `read` returns their rows as one table, `expand` makes the cases of a grid. A case names its code
by strings, so that it can be sent to another process; this package imports no environment.
"""

from .batches import LOCAL, EngineOptions
from .cases import CallCase, EpisodeCase, SweepCase
from .engine import SweepReport, collect, run_cases, sweep
from .grid import SweepFile, expand, read_sweep_file
from .storage import FolderStatus, find_status, read

__all__ = [
    "LOCAL",
    "CallCase",
    "EngineOptions",
    "EpisodeCase",
    "FolderStatus",
    "SweepCase",
    "SweepFile",
    "SweepReport",
    "collect",
    "expand",
    "find_status",
    "read",
    "read_sweep_file",
    "run_cases",
    "sweep",
]
