"""Randomness: random keys named by use, and samplers that are pure functions of uniform numbers.

An entity draws all its uniform numbers for a day in one call and slices them by use. Counts are drawn by inversion, in
a fixed number of steps outwards from the mean: no loop waits for the slowest element, and one vectorised kernel
handles all elements of all environments, even under `vmap`.

`threefry_words` is the generator for JAX's default keys (Threefry-2x32), written out so that XLA compiles it to one
kernel. On a CPU, JAX lowers it to a loop with several kernels per call, which would dominate the time of a short day.
The words are identical to JAX's.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_batching import custom_vmap
from jax.typing import ArrayLike

THREEFRY = "threefry2x32"
"""JAX's name for its default generator."""
PARITY = 0x1BD11BDA
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""Constants of Threefry-2x32."""
FEW = 8
"""Largest `vmap` size for which the steps of a sampler are compiled as a loop instead of being unrolled."""

NEAR = 8
"""Number of steps of a sampler after which a batch on a CPU stops if they were enough for all elements."""


def key_for(key: Array, name: str) -> Array:
    """Return `key` folded with the CRC-32 of `name`; the result is the same on every machine."""
    return keys_for(key, (name,))[0]


def keys_for(key: Array, names: Sequence[str]) -> Array:
    """Return `key_for` of each name, shape `(len(names), *key.shape)`: each key depends on its own name only.

    The keys equal the results of `jax.random.fold_in`. Raises ValueError if two names would share a key.
    """
    codes = _codes(names)
    if not is_threefry(key):
        return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, codes)
    words = jnp.stack(threefry_words(key, np.zeros_like(codes), codes), axis=-1)
    return jax.random.wrap_key_data(words, impl=THREEFRY)


def uniforms(key: Array, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return float32 multiples of 2^-23 in [0, 1), `sizes[name]` for each name; names do not affect one another.

    A single kernel computes all of them. With a key of JAX's default generator, the i-th number for a name is the word
    at counter (CRC-32 of the name, i). Raises ValueError if two names would share numbers.
    """
    codes, counts = _codes(list(sizes)), list(sizes.values())
    if not is_threefry(key):
        keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, codes)
        return {name: jax.random.uniform(keys[i], (n,), jnp.float32) for i, (name, n) in enumerate(sizes.items())}
    within = np.concatenate([np.arange(n, dtype=np.uint32) for n in (0, *counts)])
    high, low = threefry_words(key, np.repeat(codes, counts), within)
    ends = np.cumsum(counts)[:-1] if counts else []
    first = (high ^ low) >> 9  # the first 23 bits
    flat = lax.optimization_barrier(first.astype(jnp.float32) * jnp.float32(2.0**-23))
    return dict(zip(sizes, jnp.split(flat, ends), strict=True)) if counts else {}


def is_key(value: Any) -> bool:
    """Return whether a value is a typed key, or the shape of a key."""
    return isinstance(value, Array | jax.ShapeDtypeStruct) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def is_threefry(key: Array) -> bool:
    """Return whether `key` is a typed key of JAX's default generator."""
    return is_key(key) and str(jax.random.key_impl(key)) == THREEFRY


def threefry_words(key: Array, high: ArrayLike, low: ArrayLike) -> tuple[Array, Array]:
    """Return the two words for a scalar typed key at each counter (`high`, `low`), all uint32.

    Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), 20 rounds.
    """
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


def bernoulli(u: ArrayLike, p: ArrayLike) -> Array:
    """Return True with probability `p` in [0, 1], False otherwise, from uniforms `u` in [0, 1)."""
    return jnp.less(u, p)


def uniform_int(u: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """Return int32 values from `low` to `high` inclusive, equally likely up to the 2^-23 resolution of a float32 `u`.

    The range may contain at most 2^24 integers, the number that float32 can distinguish.
    """
    low = jnp.asarray(low, jnp.int32)
    size = jnp.asarray(high, jnp.int32) - low + 1
    return low + (u * size.astype(jnp.float32)).astype(jnp.int32)


def normal(u: ArrayLike) -> Array:
    """Return standard normal quantiles of `u` in [0, 1), clipped symmetrically at 2^-24 (5.3 standard deviations)."""
    return jax.scipy.special.ndtri(jnp.clip(u, 2.0**-24, 1 - 2.0**-24))


@partial(jax.jit, static_argnames="n_max")
def binomial(u: ArrayLike, n: ArrayLike, p: ArrayLike, n_max: int) -> Array:
    """Return int32 numbers of successes in `n` trials with probability `p`; `u` in [0, 1), `n` and `p` are broadcast.

    Requires 0 <= n <= n_max and 0 <= p <= 1. The result is in [0, n], is not monotone in `u` and has no gradient. With
    uniforms from `jax.random.uniform` it is within 1e-5 of the binomial in total variation for n_max up to 1000; their
    spacing of 2^-23 limits the accuracy. The compiled program grows with the square root of `n_max`.
    """
    elements = lax.stop_gradient((_float(u), jnp.asarray(n, jnp.int32), _float(p)))
    return _in_line(partial(_invert, steps=_steps(n_max)))(*jnp.broadcast_arrays(*elements))


@partial(jax.jit, static_argnames="n_max")
def multinomial(u: ArrayLike, n: ArrayLike, p: ArrayLike, n_max: int) -> Array:
    """Return int32 counts of shape (..., k) that sum to exactly `n`, using conditional binomials.

    Shapes: `u` (..., k - 1), `n` (...), weights `p` (..., k), broadcast over (...). Weights are non-negative and need
    not sum to one; categories with weight 0 receive nothing, unless all weights are 0; then the last receives all.
    """
    u, n, p = _float(u), jnp.asarray(n, jnp.int32), _float(p)
    whole = jnp.broadcast_to(n, jnp.broadcast_shapes(u.shape[:-1], n.shape, p.shape[:-1]))
    tail = _tails(p)
    share = (p / jnp.where(tail > 0, tail, 1))[..., :-1]

    def draw(left, given):
        u, share = given
        left = left - binomial(u, left, share, n_max)
        return left, left

    _, left = lax.scan(draw, whole, (jnp.moveaxis(u, -1, 0), jnp.moveaxis(share, -1, 0)))
    left = jnp.concatenate([whole[None], left, jnp.zeros_like(whole)[None]])
    return jnp.moveaxis(left[:-1] - left[1:], 0, -1)


def _codes(names: Sequence[str]) -> np.ndarray:
    """Return the CRC-32 of each name; all must be different."""
    codes = [zlib.crc32(name.encode()) for name in names]
    for i, code in enumerate(codes):
        if code in codes[:i]:
            first = names[codes.index(code)]
            raise ValueError(f"expected names with different CRC-32 codes, got {first!r} and {names[i]!r}; try another")
    return np.array(codes, np.uint32)


def _tails(p: Array) -> Array:
    """Return the sum of each weight and all later ones, computed by additions that XLA fuses with their consumers."""
    sums = list(itertools.accumulate(p[..., i] for i in reversed(range(p.shape[-1]))))
    return jnp.stack(sums[::-1], axis=-1)


def _float(x: ArrayLike) -> Array:
    return jnp.asarray(x, jnp.float32)


def _steps(n_max: int) -> int:
    """Return the number of steps: six standard deviations at p = 1/2, plus two steps for the skew at small `n_max`."""
    return min(n_max, math.ceil(3 * math.sqrt(n_max)) + 2)


def _in_line(sample: Callable[..., Array]) -> Callable[..., Array]:
    """Call `sample(u, n, p, unroll=)` once with all elements, also vmapped ones, as vectors; skip it if all n are 0.

    On a CPU, XLA vectorises over the innermost dimension: when this dimension had only two entries, draws took 6 to 8
    times longer. The `cond` also prevents XLA from fusing the sampler with surrounding code, whose arrays have more
    axes. Steps are unrolled for the long vectors of a batch. They are not unrolled for the few elements of one
    environment, which then compiles in two thirds of the time, or if `vmap` covers at most `FEW` elements, such as
    fields.
    """

    def line(u, n, p, unroll):
        flat = (u.reshape(-1), n.reshape(-1), p.reshape(-1))
        counts = lax.cond(jnp.any(n > 0), partial(sample, unroll=unroll), lambda u, n, p: jnp.zeros_like(n), *flat)
        return counts.reshape(n.shape)

    one, many = (custom_vmap(partial(line, unroll=unroll)) for unroll in (False, True))

    def widen(few, size, batched, *elements):
        wide = (x if b else jnp.broadcast_to(x, (size, *x.shape)) for x, b in zip(elements, batched, strict=True))
        return (few if size <= FEW else many)(*wide), True

    one.def_vmap(partial(widen, one))
    many.def_vmap(partial(widen, many))
    return one


def _invert(u: Array, n: Array, p: Array, steps: int, unroll: bool) -> Array:
    """Draw binomial counts by inversion, adding up probabilities outwards from the pivot until they cover `1 - u`.

    The small remaining probability, due to rounding or outcomes beyond the last step, is assigned to the pivot.
    """
    q = jnp.where(p > 0.5, 1 - p, p)  # probability of the rarer outcome, to keep (1 - q)^n from underflowing
    pivot, rest, mass = _pivot(n.astype(jnp.float32), q)
    up, down = q / (1 - q), (1 - q) / jnp.maximum(q, 1e-30)  # odds; the guard avoids a division by zero at q = 0

    def step(j, walk):
        unspent, right, left, count = walk
        right = right * ((rest - (j - 1)) * up / (pivot + j))  # mass of pivot + j: 0 beyond n
        left = left * ((pivot - (j - 1)) * down / (rest + j))  # mass of pivot - j: 0 below 0
        after_right = unspent - right
        after_left = after_right - left
        here = jnp.where(after_right <= 0, pivot + j, pivot - j)
        count = jnp.where((unspent > 0) & (after_left <= 0), here, count)
        return after_left, right, left, count

    near = min(steps, NEAR) if unroll and jax.default_backend() == "cpu" else steps
    go = partial(lax.fori_loop, body_fun=step, unroll=unroll)
    walk = go(1, near + 1, init_val=(1 - mass - u, mass, mass, pivot))
    if near < steps:
        more = partial(go, near + 1, steps + 1)
        walk = lax.cond(jnp.any(walk[0] > 0), lambda walk: more(init_val=walk), lambda walk: walk, walk)
    count = walk[-1].astype(jnp.int32)
    return jnp.where(p > 0.5, n - count, count)


def _pivot(n: Array, q: Array) -> tuple[Array, Array, Array]:
    """Return the pivot where the walk starts (the integer part of the mean, or 0), `n` minus it, and its probability.

    With m the pivot and d = nq - m: log P(m) = m log(1 + d/m) + (n-m) log(1 - d/(n-m)) + Stirling's remainder,
    which is zero for m = 0. Every term is small, whereas factorials would cancel in float32.
    """
    mean = n * q
    pivot = jnp.where(mean < 3, 0.0, jnp.floor(mean))
    rest = n - pivot
    apart = mean - pivot
    whole, m, r = jnp.maximum(n, 1), jnp.maximum(pivot, 1), jnp.maximum(rest, 1)
    remainder = _stirling(whole) - _stirling(m) - _stirling(r) + 0.5 * jnp.log(whole / (2 * math.pi * m * r))
    log_mass = pivot * _log1p(apart / m) + rest * _log1p(-apart / r) + jnp.where(pivot > 0, remainder, 0.0)
    return pivot, rest, jnp.exp(log_mass)


def _stirling(x: Array) -> Array:
    """Compute log(x! / (sqrt(2 pi x) (x/e)^x)) by Stirling's series, within 3e-7 for x >= 3."""
    i = 1 / (x * x)
    return (1 / 12 - (1 / 360 - i / 1260) * i) / x


def _log1p(x: Array) -> Array:
    """Compute log(1 + x) for |x| <= 1/2 as 2 atanh(x / (2 + x)): XLA does not vectorise its own version on a CPU."""
    s = x / (2 + x)
    series = jnp.zeros_like(s)
    for k in range(13, 0, -2):
        series = series * (s * s) + 2 / k
    return s * series
