"""Forked processes: JAX runs threads, which a fork does not copy, so a forked process would wait forever.

Internals: `jax._src.xla_bridge.backends_are_initialized`; on Linux the names of XLA's threads.
Gain: an error that explains what to do, instead of a process that hangs, regardless of who used JAX before the fork.
Without it: only a use of JAX by this package is detected. The off switch does not apply.

This module does not import JAX: it runs when `harvestgym` is imported.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_used = _forked = False
"""Whether this package has used JAX, and whether this process was forked from one in which JAX had started."""


def is_jax_started() -> bool:
    """Return whether JAX has started in this process, or had started in the parent before the fork."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    asked = getattr(bridge, "backends_are_initialized", None)
    return asked() if asked else _used


def check_process() -> None:
    """Raise RuntimeError if this process was forked from one where JAX was in use."""
    if _forked:
        raise RuntimeError(
            "expected a process in which JAX can start, got one forked from a process that had used it, where it would "
            "hang; start processes with spawn: gymnasium.make_vec(id, vectorization_mode='async', "
            "vector_kwargs={'context': 'spawn'}), or use harvestgym.make_vec, which needs no processes"
        )


def note_use() -> None:
    """Record that JAX is in use in this process, after `check_process`."""
    global _used
    check_process()
    _used = True


def _note_fork() -> None:
    global _forked
    _forked = is_jax_started()


def _has_lost_threads() -> bool:
    """Return whether JAX has started but its threads are missing: the fork happened before this import."""
    names = list(Path("/proc/self/task").glob("*/comm"))  # empty without /proc
    return is_jax_started() and bool(names) and not any("XLA" in name.read_text() for name in names)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
    _forked = _has_lost_threads()
