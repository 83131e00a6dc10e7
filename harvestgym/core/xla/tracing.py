"""Tracing: values that stand for numbers that are not known yet, and Python's collector of garbage.

Internals: the class `jax.core.Tracer`, which JAX exports without documenting it.
Gain: constructors check the numbers that they are given, and may also be called in a compiled function; a trace
takes three quarters of the time without the collector, which looks through a million objects that all are in use.
Without it: no public function distinguishes these values, so the off switch does not apply.

This module does not import JAX: files are checked without it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def is_traced(value: Any) -> bool:
    """Return whether a value is a number that JAX is tracing; False where JAX was never imported."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause Python's collector of garbage; the outermost of several, also in other threads, lets it go on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
