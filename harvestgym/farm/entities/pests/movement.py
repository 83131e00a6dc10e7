"""Movement of pests within the field: between neighbouring plots with the wind, and between the hosts on a plot."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.random import multinomial

from .equations import PESTS_MAX

WALKS = ((0, -1), (0, 1), (1, 0), (-1, 0))
"""Steps (x, y) to the north, south, east and west; a fifth choice is to stay."""


def step_weights(uniform: Array, wind: Array, wind_x: Array, wind_y: Array) -> Array:
    """Return the weights p of the random walk from uniform numbers; both (length, width, 5), with staying last.

    Each weight is a uniform number plus, in the direction of the wind, a tenth of the wind speed in km/h. A wind
    between two directions adds its component to each. Steps out of the field have weight 0.
    """
    nothing = jnp.zeros_like(wind)
    push = wind / 10 * jnp.maximum(jnp.stack([-wind_y, wind_y, wind_x, -wind_x, nothing]), 0.0)
    return (uniform + push) * _open(uniform.shape[0], uniform.shape[1])


def walk(population: Array, weights: Array, uniform: Array) -> Array:
    """Return the number of pests on each plot after all have moved at once, each in one of the five ways; none is lost.

    If more would enter a plot than it can hold, none do: they stay where they were. `uniform` has shape (length, width,
    4).
    """
    split = multinomial(uniform, population, weights, PESTS_MAX)
    going = [split[..., i] for i in range(len(WALKS))]
    coming = sum(jnp.roll(n, way, (0, 1)) for n, way in zip(going, WALKS, strict=True))
    welcome = coming + population <= PESTS_MAX
    gone = sum(n * jnp.roll(welcome, (-x, -y), (0, 1)) for n, (x, y) in zip(going, WALKS, strict=True))
    return population + jnp.where(welcome, coming, 0) - gone


def spread_over_hosts(population: Array, alive: Array, repulsion: Array, uniform: Array) -> Array:
    """Return the number of pests on each host on each plot, (host, length, width); zero where no host is alive.

    Each living individual attracts pests with weight exp(-repulsion). `alive` and `repulsion` have shape (host, length,
    width); `uniform` has shape (length, width, host), and its last entry is not used.
    """
    weights = jnp.moveaxis(alive * jnp.exp(-repulsion), 0, -1)
    fed = jnp.where((weights > 0).any(-1), population, 0)
    return jnp.moveaxis(multinomial(uniform[..., :-1], fed, weights, PESTS_MAX), -1, 0)


def _open(length: int, width: int) -> np.ndarray:
    """Return 1 for each step that stays within the field and 0 for the others."""
    x, y = np.indices((length, width))
    to = [(x + dx, y + dy) for dx, dy in (*WALKS, (0, 0))]
    inside = [(i >= 0) & (i < length) & (j >= 0) & (j < width) for i, j in to]
    return np.stack(inside, axis=-1).astype(np.float32)
