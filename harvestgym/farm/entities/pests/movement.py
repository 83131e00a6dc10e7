"""Pests within the field: from plot to neighbour plot with the wind, and on a plot from host to host."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.random import multinomial

from .equations import PESTS_MAX

WALKS = ((0, -1), (0, 1), (1, 0), (-1, 0))
"""Steps (x, y) to the north, south, east and west; a fifth way is to stay."""


def step_weights(uniform: jax.Array, wind: jax.Array, wind_x: jax.Array, wind_y: jax.Array) -> jax.Array:
    """Return the weights p of the random walk, (length, width, 5), of uniforms of that shape; staying comes last.

    To each a uniform number, and to the direction that the wind, km/h, blows to a tenth of its speed. A wind between
    two directions gives each its component. The ways out of the field have no weight.
    """
    nothing = jnp.zeros_like(wind)
    push = wind / 10 * jnp.maximum(jnp.stack([-wind_y, wind_y, wind_x, -wind_x, nothing]), 0.0)
    return (uniform + push) * _open(uniform.shape[0], uniform.shape[1])


def walk(population: jax.Array, weights: jax.Array, uniform: jax.Array) -> jax.Array:
    """Return the pests of each plot after all have stepped at once, each to one of the five ways; none is lost.

    A plot for which too many come takes nobody in: they stay where they were. `uniform` is (length, width, 4).
    """
    split = multinomial(uniform, population, weights, PESTS_MAX)
    going = [split[..., i] for i in range(len(WALKS))]
    coming = sum(jnp.roll(n, way, (0, 1)) for n, way in zip(going, WALKS, strict=True))
    welcome = coming + population <= PESTS_MAX
    gone = sum(n * jnp.roll(welcome, (-x, -y), (0, 1)) for n, (x, y) in zip(going, WALKS, strict=True))
    return population + jnp.where(welcome, coming, 0) - gone


def spread_over_hosts(population: jax.Array, alive: jax.Array, repulsion: jax.Array, uniform: jax.Array) -> jax.Array:
    """Return the pests of each plot on each of its hosts, (host, length, width); nobody where none is alive.

    Each living individual attracts by exp(-repulsion). Shapes: `alive`, `repulsion` (host, length, width), `uniform`
    (length, width, host); its last entry is not used.
    """
    weights = jnp.moveaxis(alive * jnp.exp(-repulsion), 0, -1)
    fed = jnp.where((weights > 0).any(-1), population, 0)
    return jnp.moveaxis(multinomial(uniform[..., :-1], fed, weights, PESTS_MAX), -1, 0)


def _open(length: int, width: int) -> np.ndarray:
    """1 for each way that stays within the field, 0 for the others."""
    x, y = np.indices((length, width))
    to = [(x + dx, y + dy) for dx, dy in (*WALKS, (0, 0))]
    inside = [(i >= 0) & (i < length) & (j >= 0) & (j < width) for i, j in to]
    return np.stack(inside, axis=-1).astype(np.float32)
