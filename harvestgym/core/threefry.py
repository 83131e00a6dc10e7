"""Threefry-2x32, the generator of JAX's default keys, written out so that XLA makes one kernel of it.

On a CPU JAX lowers it to a loop of several kernels a call, which a short day would spend most of its time
launching. The words are JAX's own, bit by bit: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
as 1, 2, 3" (2011), 20 rounds.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

IMPLEMENTATION = "threefry2x32"
PARITY = 0x1BD11BDA
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def made(key: jax.Array) -> bool:
    """Whether `key` is a typed key of this generator."""
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    return typed and str(jax.random.key_impl(key)) == IMPLEMENTATION


def wrap(data: jax.Array) -> jax.Array:
    """The typed keys of words of shape (..., 2)."""
    return jax.random.wrap_key_data(data, impl=IMPLEMENTATION)


def words(key: jax.Array, high: ArrayLike, low: ArrayLike) -> tuple[jax.Array, jax.Array]:
    """The two words that a scalar typed key gives at each counter (`high`, `low`), all uint32."""
    data = jax.random.key_data(key)
    schedule = (data[0], data[1], data[0] ^ data[1] ^ jnp.uint32(PARITY))
    x, y = jnp.asarray(high, jnp.uint32) + schedule[0], jnp.asarray(low, jnp.uint32) + schedule[1]
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x = x + y
            y = ((y << distance) | (y >> (32 - distance))) ^ x
        x = x + schedule[(group + 1) % 3]
        y = y + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y
