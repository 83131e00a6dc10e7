"""Compiled programs of this process: dropped before they exceed the limit of the system.

A program takes several memory mappings. Linux allows a process 65,530 of them, and LLVM aborts a process that asks for
more: some thousands of programs, or two dozen farms, each with rollouts, planners and tuning.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

PIECES = 20_000
"""Number of memory mappings above which programs are dropped: a third of the Linux limit, 1 to 2 GiB."""


def free_programs_if_full() -> bool:
    """Drop all compiled programs if this process has too many memory mappings; return whether it did.

    Programs that are needed later are compiled again. On systems other than Linux this does nothing.
    """
    if sys.platform != "linux" or Path("/proc/self/maps").read_bytes().count(b"\n") <= PIECES:
        return False
    import jax  # a sweep can be described without JAX

    jax.clear_caches()
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)  # otherwise the C library keeps freed memory
    return True
