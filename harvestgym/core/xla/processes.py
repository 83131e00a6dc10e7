"""Processes that were forked: JAX runs threads, which a fork does not copy, so a forked process would wait forever.

Internals: JAX starts its threads with its first program; no name of JAX is used.
Gain: an error that says what to do, and not a process that hangs.
Without it: the forked process hangs at its first program, so the off switch does not apply.
"""

from __future__ import annotations

import os

_in_use = False
_forked_in_use = False


def check_process() -> None:
    """Raise RuntimeError if this process was forked from one where JAX was in use."""
    if _forked_in_use:
        raise RuntimeError(
            "expected a process in which JAX can start, got one forked from a process that had used it, where it would "
            "hang; start processes with spawn: gymnasium.make_vec(id, vectorization_mode='async', "
            "vector_kwargs={'context': 'spawn'}), or use harvestgym.make_vec, which needs no processes"
        )


def note_use() -> None:
    """Note that JAX is in use in this process, after `check_process`."""
    global _in_use
    check_process()
    _in_use = True


def _note_fork() -> None:
    global _forked_in_use
    _forked_in_use = _in_use


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
