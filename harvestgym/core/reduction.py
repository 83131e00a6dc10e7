"""Reductions of the last axis by additions or comparisons of halves, for use in the step of an environment.

In batches of 4,096 and more, XLA's CPU compiler in JAX 0.8 to 0.10 passes `jnp.sum`, `jnp.max` and `jnp.min` to a
library, some of whose kernels silently return wrong numbers in a loop. It does not recognise the reductions of this
module, even in programs that a user jits. On a CPU their log2(n) operations fuse with their consumers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp


def reduce_by_halves(combine: Callable[[jax.Array, jax.Array], jax.Array], x: jax.Array) -> jax.Array:
    """Reduce the last axis, with at least one element, by `combine`; the result has shape `x.shape[:-1]`."""
    odd = None
    while (n := x.shape[-1]) > 1:
        if n % 2:
            odd = x[..., -1] if odd is None else combine(odd, x[..., -1])
        x = combine(x[..., : n // 2], x[..., n // 2 : n - n % 2])
    return x[..., 0] if odd is None else combine(x[..., 0], odd)


add_up = partial(reduce_by_halves, jnp.add)
find_highest = partial(reduce_by_halves, jnp.maximum)
find_lowest = partial(reduce_by_halves, jnp.minimum)
