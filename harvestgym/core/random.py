"""Randomness: keys named by what they are for, and samplers that are pure functions of given uniforms.

An entity draws its uniforms of the day in one call and slices them by use. The count samplers invert the
distribution by walking outwards from its mean, a fixed number of steps: no loop waits for the slowest lane,
so XLA fuses a draw into one kernel, and thousands of environments under `vmap` cost no more than their sum.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike


def key_for(key: jax.Array, name: str) -> jax.Array:
    """Return `key` folded by the CRC-32 of `name`, the same on every machine."""
    return keys_for(key, [name])[0]


def keys_for(key: jax.Array, names: Sequence[str]) -> jax.Array:
    """Return one key per name, shape (len(names), *key.shape), each independent of what the others are.

    Raises ValueError if two names would share a key.
    """
    codes = [zlib.crc32(name.encode()) for name in names]
    for i, code in enumerate(codes):
        if code in codes[:i]:
            first = names[codes.index(code)]
            raise ValueError(f"keys want distinct names, found {first!r} and {names[i]!r}: rename one of them")
    return jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, np.array(codes, np.uint32))


def bernoulli(u: ArrayLike, p: ArrayLike) -> jax.Array:
    """Return True with probability `p` in [0, 1], False otherwise, from uniforms `u` in [0, 1)."""
    return jnp.less(u, p)


def uniform_int(u: ArrayLike, low: ArrayLike, high: ArrayLike) -> jax.Array:
    """Return int32 of `low`, ..., `high`, both included, equally likely up to the 2^-23 of a float32 `u`.

    The span must stay below 2^24, the integers that float32 tells apart.
    """
    span = jnp.asarray(high, jnp.int32) - jnp.asarray(low, jnp.int32) + 1
    return low + jnp.minimum((u * span.astype(jnp.float32)).astype(jnp.int32), span - 1)


def normal(u: ArrayLike) -> jax.Array:
    """Return standard normal quantiles of `u` in [0, 1), cut symmetrically at 2^-24 (5.3 deviations)."""
    return jax.scipy.special.ndtri(jnp.clip(u, 2.0**-24, 1 - 2.0**-24))


@partial(jax.jit, static_argnames="n_max")
def binomial(u: ArrayLike, n: ArrayLike, p: ArrayLike, n_max: int) -> jax.Array:
    """Return int32 successes in `n` trials of probability `p`; `u` in [0, 1), `n`, `p` broadcast together.

    Needs 0 <= n <= n_max and 0 <= p <= 1; always within [0, n]; not monotone in `u`. Over all float32
    uniforms of `jax.random.uniform` it is within 1e-5 of the binomial in total variation for n_max <= 1000;
    what remains is their spacing of 2^-23. The compiled program grows as the square root of `n_max`.
    """
    u, n, p = jnp.broadcast_arrays(_float(u), jnp.asarray(n, jnp.int32), _float(p))
    q = jnp.where(p > 0.5, 1 - p, p)  # of the rarer outcome: (1 - q)^n is kept from underflow
    pivot, rest, mass = _pivot(n.astype(jnp.float32), q)
    up, down = q / (1 - q), (1 - q) / jnp.maximum(q, 1e-30)

    def step(j, walk):
        unspent, right, left, count = walk
        right = right * ((rest - (j - 1)) * up / (pivot + j))  # mass of pivot + j; 0 beyond n
        left = left * ((pivot - (j - 1)) * down / (rest + j))  # mass of pivot - j; 0 below 0
        after_right = unspent - right
        after_left = after_right - left
        here = jnp.where(after_right <= 0, pivot + j, pivot - j)
        count = jnp.where((unspent > 0) & (after_left <= 0), here, count)
        return after_left, right, left, count

    walk = (1 - mass - u, mass, mass, pivot)
    count = lax.fori_loop(1, _steps(n_max) + 1, step, walk, unroll=True)[-1].astype(jnp.int32)
    return jnp.where(p > 0.5, n - count, count)


@partial(jax.jit, static_argnames="n_max")
def multinomial(u: ArrayLike, n: ArrayLike, p: ArrayLike, n_max: int) -> jax.Array:
    """Return int32 counts of shape (..., k) that sum to `n` exactly, by conditional binomials.

    Shapes: `u` (..., k - 1), `n` (...), weights `p` (..., k), broadcast over (...). Weights are non-negative
    and need not sum to one; a weight of 0 receives nothing, unless all are 0: then the last receives all.
    """
    p = _float(p)
    tail = lax.cumsum(p, axis=p.ndim - 1, reverse=True)
    share = (p / jnp.where(tail > 0, tail, 1))[..., :-1]
    u, share, n = jnp.broadcast_arrays(_float(u), share, jnp.asarray(n, jnp.int32)[..., None])

    def draw(left, given):
        u, share = given
        left = left - binomial(u, left, share, n_max)
        return left, left

    first = n[..., 0]
    _, left = lax.scan(draw, first, (jnp.moveaxis(u, -1, 0), jnp.moveaxis(share, -1, 0)))
    bounds = jnp.concatenate([first[None], left, jnp.zeros_like(first)[None]])
    return jnp.moveaxis(bounds[:-1] - bounds[1:], 0, -1)


def _float(x: ArrayLike) -> jax.Array:
    return jnp.asarray(x, jnp.float32)


def _steps(n_max: int) -> int:
    """Six deviations of the widest law, p = 1/2, and two more for the skew of small `n_max`."""
    return min(n_max, math.ceil(3 * math.sqrt(n_max)) + 2)


def _pivot(n: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return where the walk starts (0 or the whole part of the mean), `n` minus it, and its probability.

    With m the pivot and d = nq - m, log P(m) = m log(1 + d/m) + (n-m) log(1 - d/(n-m)) + s, s being Stirling's
    remainder, none when m = 0: every term is small, where the factorials would cancel in float32.
    """
    mean = n * q
    pivot = jnp.where(mean < 3, 0.0, jnp.floor(mean))
    rest = n - pivot
    m, r, total = jnp.maximum(pivot, 1), jnp.maximum(rest, 1), jnp.maximum(n, 1)
    stirling = _stirling(total) - _stirling(m) - _stirling(r) + 0.5 * jnp.log(total / (2 * math.pi * m * r))
    apart = mean - pivot
    log_mass = pivot * _log1p(apart / m) + rest * _log1p(-apart / r) + jnp.where(pivot > 0, stirling, 0.0)
    return pivot, rest, jnp.exp(log_mass)


def _stirling(x: jax.Array) -> jax.Array:
    """Stirling's series for log x! - log(sqrt(2 pi x) (x/e)^x), within 3e-7 for x >= 3."""
    i = 1 / (x * x)
    return (1 / 12 - (1 / 360 - i / 1260) * i) / x


def _log1p(x: jax.Array) -> jax.Array:
    """log(1 + x) for |x| <= 1/2, as 2 atanh(x / (2 + x)): XLA on a CPU does not vectorise its own here."""
    s = x / (2 + x)
    series = jnp.zeros_like(s)
    for k in range(13, 0, -2):
        series = series * s * s + 2 / k
    return s * series
