"""Checks for this process: forks after which JAX would hang, and too many compiled programs in memory.

JAX runs threads, which a fork does not copy, so a forked process would wait forever. A compiled program uses several
memory mappings. Linux allows 65,530 mappings per process, and LLVM aborts a process that requests more. A few thousand
programs reach this limit, for example the programs of two dozen farms with rollouts, planners and tuning.

Internals: `jax._src.xla_bridge.backends_are_initialized`; on Linux, the names of XLA's threads.
Benefit: an error that explains what to do, instead of a process that hangs, no matter which code used JAX before the
fork; programs are dropped before they exceed the limit.
Without it: JAX use is only detected if it came from this package. `HARVESTGYM_XLA=off` does not affect this module.

This module does not import JAX: it runs when `harvestgym` is imported.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

PIECES = 20_000
"""Number of memory mappings above which programs are dropped: a third of the Linux limit, 1 to 2 GiB."""

_used = _forked = False
"""Whether this package has used JAX, and whether this process was forked from a process in which JAX had started."""


def is_jax_started() -> bool:
    """Return whether JAX has started in this process, or in its parent before the fork."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", None)
    return asked() if asked else _used


def check_process() -> None:
    """Raise RuntimeError if this process was forked from a process that was using JAX."""
    if _forked:
        raise RuntimeError(
            "expected a process in which JAX can start, got one forked from a process that had already used "
            "JAX, in which JAX would hang; start processes with spawn: gymnasium.make_vec(id, "
            "vectorization_mode='async', vector_kwargs={'context': 'spawn'}), or use harvestgym.make_vec, "
            "which needs no processes"
        )


def note_use() -> None:
    """Call `check_process`, then record that JAX is in use in this process."""
    global _used
    check_process()
    _used = True


def _note_fork() -> None:
    global _forked
    _forked = is_jax_started()


def _has_lost_threads() -> bool:
    """Return whether JAX has started but its threads are missing, because the fork happened before this import."""
    names = list(Path("/proc/self/task").glob("*/comm"))  # empty without /proc
    return is_jax_started() and bool(names) and not any("XLA" in name.read_text() for name in names)


def free_programs_if_full() -> bool:
    """Drop all compiled programs if this process has too many memory mappings; return whether they were dropped.

    Programs that are needed later are recompiled. On systems other than Linux, this does nothing.
    """
    if sys.platform != "linux" or Path("/proc/self/maps").read_bytes().count(b"\n") <= PIECES:
        return False
    import jax  # imported here because a sweep can be described without JAX

    jax.clear_caches()
    gc.collect()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)  # without this, the C library keeps the freed memory
    return True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
    _forked = _has_lost_threads()
