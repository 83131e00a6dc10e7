"""Detection of traced values, which represent numbers that are not known yet.

Internals: the class `jax.core.Tracer`, which JAX exports without documenting it.
Benefit: constructors can check their arguments and still be called in a compiled function.
Without it: no public function detects these values, so `HARVESTGYM_XLA=off` does not affect this module.

This module does not import JAX, so that files can be checked without it.
"""

from __future__ import annotations

import sys
from typing import Any


def is_traced(value: Any) -> bool:
    """Return whether a value is traced by JAX; False if JAX was never imported."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)
