"""Arrival and departure of pests between the wild edge and the plots: eqs. (30) to (33)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import pytree
from harvestgym.core.random import bernoulli, binomial, uniform_int
from harvestgym.farm.entities.response import Response, Window, expglm

PESTS_MAX = 100
"""Largest number of pests on a plot; the paper's limit is 1000, ten times the number that its parameters produce."""


@pytree
class Appear(Response):
    """Eq. (32): temperature in degC, pesticide in g.m-2, distance in plots between a plot and the edge."""

    distance: Window
    temperature: Window
    pesticide: Window


@pytree
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
