"""A fast random generator for many short simulations: JAX keys whose bits come from a 32-bit mixing hash.

A draw from JAX's default generator (threefry) takes longer than the simulation of one year of a fishery. `key(seed)`
returns a typed key with a different implementation; every function that takes a key accepts it. The generator is a
counter hash (murmur's finaliser with better constants, three rounds per word), suitable for simulation but not for
cryptography. It is used only if such a key is passed; other keys are threefry keys, which give different numbers for
the same seed.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.extend.random import define_prng_impl

GOLDEN_STEP = 0x9E3779B9
SECOND_STEP = 0x85EBCA6B


def _mix(x: Array) -> Array:
    """Mix 32 bits with a bijection in which each input bit flips each output bit with probability about one half."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x21F0AAAD)
    x = (x ^ (x >> 15)) * jnp.uint32(0x735A2D97)
    return x ^ (x >> 15)


def hash_word(key: Array, count: Array, salt: int) -> Array:
    """Return a 32-bit hash of a key of shape (2,) and each count."""
    inner = _mix(key[0] + count * jnp.uint32(GOLDEN_STEP) + jnp.uint32(salt & 0xFFFFFFFF))
    return _mix(_mix(inner ^ key[1]) + key[0] + count * jnp.uint32(SECOND_STEP))


def _child(key: Array, count: Array) -> Array:
    return jnp.stack([hash_word(key, count, SECOND_STEP), hash_word(key, count, 3 * SECOND_STEP)], axis=-1)


def _seed(seed: Array) -> Array:
    word = seed.astype(jnp.uint32)
    return jnp.stack([_mix(word + jnp.uint32(GOLDEN_STEP)), _mix(word ^ jnp.uint32(SECOND_STEP))])


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    return _child(key, jnp.arange(math.prod(shape), dtype=jnp.uint32)).reshape(*shape, 2)


def _fold_in(key: Array, data: int | Array) -> Array:
    return _child(key, _mix(jnp.asarray(data, jnp.uint32) ^ jnp.uint32(GOLDEN_STEP)))


def _bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    if width not in (8, 16, 32):
        raise ValueError(f"bits: expected a width of 8, 16 or 32, got {width}; try jax.random.key")
    count = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    dtype = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32}[width]
    return (hash_word(key, count, 0) >> (32 - width)).astype(dtype)


@functools.cache
def _impl() -> object:
    return define_prng_impl(
        key_shape=(2,), seed=_seed, split=_split, random_bits=_bits, fold_in=_fold_in,
        name="harvestgym_hash", tag="hh",
    )  # fmt: skip


def key(seed: int) -> Array:
    """Make a key for the hash generator, to use instead of `jax.random.key(seed)`."""
    return jax.random.key(seed, impl=_impl())  # type: ignore[arg-type]
