"""The parameter groups of the weeds, by equation.

Every `Response` is one equation of section 4.4.2; its windows are named after their drivers, with these units:

    distance_to_edge (plots); temperature (mean, degC); humidity (%); herbicide (g per m2 of soil, acting on weeds);
    N, P, K, C (today's need minus the soil's stock, in g per weed); water (deficit below the threshold of eq. (5), as a
    fraction of the soil's extractable capacity).
"""

from __future__ import annotations

from functools import partial

from jax import Array

from harvestgym.core.pytree import par, pytree
from harvestgym.farm.entities.messages import name_nutrients, repels
from harvestgym.farm.entities.response import Response, Window

WEEDS_MAX = 250
"""Largest number of seeds, and of sprouted weeds, per m2: many times the number that shade the ground completely.

The binomials of eqs. (26) to (29) are compiled for this number; the paper's tables end at 1000.
"""


_count = partial(par, low=0, high=WEEDS_MAX, dtype="int")
"""A number of seeds or flowers."""


@pytree
class Appearance(Response):
    """Eq. (26)."""

    distance_to_edge: Window


@pytree
class Growth(Response):
    """Eq. (27)."""

    temperature: Window
    humidity: Window
    herbicide: Window


@pytree
class Blooming(Response):
    """Eq. (28). The paper has no interval for herbicide; the reference implementation uses the interval for growth."""

    herbicide: Window


@pytree
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


@pytree
class Weed:
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
