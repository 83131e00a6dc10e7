"""Tracing: values that stand for numbers not known yet.

Internals: the class `jax.core.Tracer`, which JAX exports without documenting it.
Gain: constructors check their arguments, and may also be called in a compiled function.
Without it: no public function distinguishes these values, so the off switch does not apply.

This module does not import JAX, because files can be checked without it.
"""

from __future__ import annotations

import sys
from typing import Any


def is_traced(value: Any) -> bool:
    """Return whether a value is traced by JAX; False if JAX was never imported."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)
