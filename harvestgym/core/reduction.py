"""Reductions of the last axis by additions or comparisons of halves, for what an environment computes in a step.

In a batch of 4,096 and more, XLA's CPU compiler of JAX 0.8 to 0.10 gives `jnp.sum`, `jnp.max` and `jnp.min` to a
library, and some of its kernels give wrong numbers in a loop, without a word. It does not recognise these reductions,
in any program, also in one that a user has jitted. On a CPU they fuse with what uses them; there are log2(n) of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp


def reduce_by_halves(combine: Callable[[jax.Array, jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Return `combine` of all elements along the last axis, of shape `x.shape[:-1]`; there must be one at least."""
    odd = None
    while (n := x.shape[-1]) > 1:
        if n % 2:
            odd = x[..., -1] if odd is None else combine(odd, x[..., -1])
        x = combine(x[..., : n // 2], x[..., n // 2 : n - n % 2])
    return x[..., 0] if odd is None else combine(x[..., 0], odd)


add_up = partial(reduce_by_halves, jnp.add)
find_highest = partial(reduce_by_halves, jnp.maximum)
find_lowest = partial(reduce_by_halves, jnp.minimum)
