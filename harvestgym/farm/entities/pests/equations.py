"""Arrival and departure of pests, eqs. (30) to (33), and their movement between plots and between hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.random import bernoulli, binomial, multinomial, uniform_int
from harvestgym.farm.entities.response import Response, Window, expglm

PESTS_MAX = 100
"""Largest number of pests on a plot; the paper's limit is 1000, ten times the number that its parameters produce."""

WALKS = ((0, -1), (0, 1), (1, 0), (-1, 0))
"""Steps (x, y) to the north, south, east and west; a fifth choice is to stay."""


class Appear(Response):
    """Eq. (32): temperature in degC, pesticide in g.m-2, distance in plots between a plot and the edge."""

    distance: Window
    temperature: Window
    pesticide: Window


class Stay(Response):
    """Eq. (33): the drivers of eq. (32), and the birds that eat pests.

    The distance is measured relative to max(length, width) / 2, so that the paper's interval, which depends on the
    field, becomes [0, inf). No plot is that far from the edge, so the term applies to all plots; it is smallest in the
    middle.
    """

    distance: Window
    temperature: Window
    pesticide: Window
    birds: Window


def wave_size(frequency: Array, least: Array, most: Array, happens: Array, size: Array) -> Array:
    """Return the number of pests that a wave brings to the edge at each plot, `least` to `most` inclusive, by eq. (30).

    The printed equation never gives more than most - least, but the text says "between a minimal and maximal value".
    Each plot has separate waves, determined by its uniform numbers `happens` and `size`.
    """
    return jnp.where(bernoulli(happens, frequency), uniform_int(size, least, most), 0)


def p_appear(response: Appear, day: Mapping[str, Any]) -> Array:
    """Compute p_appear of eq. (32) from the day's drivers."""
    return jnp.minimum(expglm(response, **day), 1.0)


def p_stay(response: Stay, day: Mapping[str, Any]) -> Array:
    """Compute p_stay of eq. (33) from the day's drivers and `reach`, which is subtracted from the distance."""
    return jnp.minimum(expglm(response, **{**day, "distance": day["distance"] - day["reach"]}), 1.0)


def arrive_and_leave(
    present: Array, edge: Array, p_stay: Array, p_appear: Array, uniforms: tuple[Array, Array]
) -> Array:
    """Return the pests on each plot, by eq. (31): those in `present` that stay, plus those at the `edge` that arrive.

    Pests in excess of PESTS_MAX do not arrive.
    """
    trials = jnp.stack([present, edge])
    chances = jnp.stack([jnp.broadcast_to(p, present.shape) for p in (p_stay, p_appear)])
    kept, come = binomial(jnp.stack(uniforms), trials, chances, PESTS_MAX)
    return jnp.minimum(kept + come, PESTS_MAX)


def step_weights(uniform: Array, wind: Array, wind_x: Array, wind_y: Array) -> Array:
    """Return the weights p of the random walk from uniform numbers; both have shape (length, width, 5), staying last.

    Each weight is a uniform number plus, in the direction of the wind, a tenth of the wind speed in km/h. A wind
    between two directions adds to each the component that blows in that direction. Steps out of the field have weight
    0.
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
