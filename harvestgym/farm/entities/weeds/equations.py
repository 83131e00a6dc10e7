"""The parameters of the weeds by equation, one day of eqs. (26) to (29) for all weeds at once, and scattered seeds.

Every `Response` is one equation of section 4.4.2; its windows are named after their drivers, with these units:

    distance_to_edge (plots); temperature (mean, degC); humidity (%); herbicide (g per m2 of soil, acting on weeds);
    N, P, K, C (today's need minus the soil's stock, in g per weed); water (deficit below the threshold of eq. (5), as a
    fraction of the soil's extractable capacity).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, par
from harvestgym.core.random import multinomial
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.messages import name_nutrients, repels
from harvestgym.farm.entities.response import Response, Window, expglm

WEEDS_MAX = 250
"""Largest number of seeds, and of sprouted weeds, per m2: many times the number that shade the ground completely.

The binomials of eqs. (26) to (29) are compiled for this number; the paper's tables end at 1000.
"""

NEIGHBOUR_OFFSETS = np.array([-1, 0, 1])

_count = partial(par, low=0, high=WEEDS_MAX, dtype="int")
"""A number of seeds or flowers."""


class Appearance(Response):
    """Eq. (26)."""

    distance_to_edge: Window


class Growth(Response):
    """Eq. (27)."""

    temperature: Window
    humidity: Window
    herbicide: Window


class Blooming(Response):
    """Eq. (28). The paper has no interval for herbicide; the reference implementation uses the interval for growth."""

    herbicide: Window


class Staying(Response):
    """Eq. (29), with the shortage (need minus stock) instead of the stock; the distance is the same.

    The paper sums over J_appear, but its table shows the intended variables. Here, the equation also applies to weeds
    in bloom, which would otherwise live forever.
    """

    temperature: Window
    herbicide: Window
    N: Window
    P: Window
    K: Window
    C: Window
    water: Window


class Weed(Pytree):
    """All parameters of a weed."""

    arrivals: Array = _count("max_new_seeds#nb", "maximum number of seeds that arrive per m2 and day, eq. (26)")
    size: Array = par("size#cm", "diameter and height of a weed", low=0, high=1000)
    flowers: Array = _count("flowers_per_plant#nb", "flowers per weed in bloom")
    shed_rate: Array = par("flower_to_seed#%", "share (0 to 1) of the flowers that seed per day", low=0, high=1)
    seeds: Array = _count("seed_per_flower#nb", "viable seeds per flower")
    repulsion: Array = repels("pest_repulsive_effect#float", "repulsion of pests; a negative value attracts them")
    drought: Array = par("sensitivity_draught#%", "sensitivity to drought, d of eq. (5), 0 to 1", low=0, high=1)
    nutrients: Array = par(name_nutrients("{}_grow_consumption#g.mm-1"), "daily need per mm of size", low=0, high=10)
    water: Array = par("Water_grow_consumption#mL.mm-1", "water that a weed keeps per mm of its size", low=0, high=1e4)
    appear: Appearance
    grow: Growth
    bloom: Blooming
    stay: Staying


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
