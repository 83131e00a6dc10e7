"""Choices among few arrays, written out: on a CPU `jnp.select` and `argmax` cost more than the day around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp


def choose(cases: Sequence[tuple[jax.Array, Any]], otherwise: Any) -> jax.Array:
    """The value of the first case `(condition, value)` that holds, elementwise, or `otherwise`."""
    found = jnp.asarray(otherwise)
    for holds, value in reversed(cases):
        found = jnp.where(holds, value, found)
    return found


def largest(rows: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """The place (int32) of the largest of some arrays, elementwise, the first of equals, and its value."""
    best = jnp.asarray(rows[0])
    at = jnp.zeros(best.shape, jnp.int32)
    for i, row in enumerate(rows[1:], start=1):
        more = row > best
        best, at = jnp.where(more, row, best), jnp.where(more, i, at)
    return at, best
