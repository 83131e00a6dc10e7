"""Compiled programs of this process: dropped before there are more than the system lets a process hold.

A program takes several pieces of memory of its own. Linux allows a process 65,530 of them, and LLVM aborts the process
that asks for more: some thousands of programs, or two dozen farms with rollouts, planners and tuning of their own.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

PIECES = 20_000
"""Pieces of memory of a process above which its programs are dropped: a third of what Linux allows, 1 to 2 GiB."""


def free_programs_if_full() -> bool:
    """Drop all compiled programs if this process has many pieces of memory; return whether it had.

    Programs that are needed again are compiled again. Only Linux counts the pieces: elsewhere this does nothing.
    """
    if sys.platform != "linux" or Path("/proc/self/maps").read_bytes().count(b"\n") <= PIECES:
        return False
    import jax  # a sweep is described without it

    jax.clear_caches()
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)  # the C library keeps what was freed
    return True
