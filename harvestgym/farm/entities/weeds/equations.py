"""One day of the weed population: eqs. (26) to (29) for all weeds at once, and the scattering of seeds."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.random import multinomial
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.response import expglm

from .parameters import WEEDS_MAX, Weed

NEIGHBOUR_OFFSETS = np.array([-1, 0, 1])


class DailyChances(NamedTuple):
    """Daily probabilities for a weed of each group, by eqs. (26), (27), (28) and (29), and for flowers to set seed."""

    appear: Array
    grow: Array
    bloom: Array
    stay: Array
    shed: Array


class WeedFates(NamedTuple):
    """Numbers of weeds per plot after a day: those that are new, changed group, or stayed in their group."""

    arrived: Array
    sprouted: Array
    bloomed: Array
    shed: Array
    growing: Array
    flowering: Array


def daily_chances(weed: Weed, day: Drivers) -> DailyChances:
    """Return the day's probabilities, by eqs. (26) to (29), capped at 1."""
    grow, stay = expglm(weed.grow, day["strain_growth"], **day), expglm(weed.stay, day["strain_death"], **day)
    full = DailyChances(expglm(weed.appear, **day), grow, expglm(weed.bloom, **day), stay, weed.shed_rate)
    return DailyChances(*(jnp.minimum(p, 1.0) for p in full))


def draw_fates(new: Array, groups: tuple[Array, Array, Array], p: DailyChances, uniform: Array) -> WeedFates:
    """Draw how many weeds arrive, sprout, bloom, seed or die, from this morning's numbers.

    Eqs. (28) and (29) both use the growing weeds of the morning, so more weeds could bloom or die than exist; here,
    only survivors can bloom, so that each weed has a single fate. The fates are drawn from multinomial distributions.

    Args:
        new: n of eq. (26), a scalar.
        groups: numbers of seeds, growing weeds and flowering weeds per plot.
        p: the day's probabilities.
        uniform: uniform numbers of shape (4, length, width, 2).
    """
    seeds, growing, flowering = groups
    n = jnp.stack([jnp.broadcast_to(new, seeds.shape), seeds, growing, flowering])
    stay = _stacked(seeds.shape, 1.0, 1.0, p.stay, p.stay)
    move = _stacked(seeds.shape, p.appear, p.grow, p.bloom, p.shed)
    fates = multinomial(uniform, n, jnp.stack([stay * move, stay * (1 - move), 1 - stay], -1), WEEDS_MAX)
    arrived, sprouted, bloomed, shed = fates[..., 0]
    room = WEEDS_MAX - growing - flowering
    return WeedFates(arrived, jnp.minimum(sprouted, room), bloomed, shed, fates[2, ..., 1], fates[3, ..., 1])


def _stacked(shape: tuple[int, ...], *values: Array | float) -> Array:
    return jnp.stack([jnp.broadcast_to(jnp.asarray(v, jnp.float32), shape) for v in values])


def scatter_seeds(seeds: Array, uniform: Array) -> Array:
    """Scatter `seeds` (at most WEEDS_MAX per plot) uniformly over the plots of the field in the 3 x 3 around each plot.

    For each seed, its row and then its column are drawn from those in the field, so that none is lost at the edge.
    `uniform` has shape (2, length, width, 2).
    """
    return _along(1, _along(0, seeds, uniform[0], WEEDS_MAX), uniform[1], len(NEIGHBOUR_OFFSETS) * WEEDS_MAX)


def _along(axis: int, seeds: Array, uniform: Array, most: int) -> Array:
    """Move each seed by -1, 0 or 1 plot along an axis with equal probability; with a single plot it stays."""
    size = seeds.shape[axis]
    if size == 1:
        return seeds
    target = np.indices(seeds.shape)[axis][..., None] + NEIGHBOUR_OFFSETS
    parts = multinomial(uniform, seeds, ((target >= 0) & (target < size)).astype(np.float32), most)
    return sum((jnp.roll(parts[..., i], side, axis) for i, side in enumerate(NEIGHBOUR_OFFSETS)), jnp.zeros_like(seeds))
