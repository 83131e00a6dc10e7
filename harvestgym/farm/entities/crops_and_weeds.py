"""Functions shared by all hosts (crops and weeds): responses, shortages of water and nutrients, and light."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from harvestgym.core.errors import require
from harvestgym.farm.entities.response import Response, driver_names, exponents

from .base import Board
from .messages import NUTRIENTS, Canopy, Ground

Drivers = dict[str, Array]
"""Today's values of the drivers (input variables) of a host's responses, by the names of the windows."""


def add_to_strain(strain: Array, response: Response, base: type[Response], drivers: Drivers) -> tuple[Array, Drivers]:
    """Return the strain plus the terms of windows that `response` adds to `base`, and the terms of `base`."""
    terms = exponents(response, drivers)
    own = {name: terms.pop(name) for name in driver_names(base)}
    return sum(terms.values(), strain), own


def add_factors(drivers: Drivers, ground: Ground) -> Drivers:
    """Add the soil factors to a host's drivers; raise ConfigError if a name is already taken."""
    for name in ground.factors:
        require(name not in drivers, "Ground", "a factor whose name no driver has", repr(name), f"'soil_{name}'")
    return ground.factors | drivers


def compute_shortages(asked: Array, number: Array, threshold: Array, ground: Ground) -> Drivers:
    """Compute today's deficits in the soil: g of N, P, K and C per plant, and a fraction of water (negative: surplus).

    The water deficit is relative to the water that the soil can hold for plants, so that soils are comparable. `asked`
    is the amount of nutrients, in g, that the `number` plants on a plot need; `threshold` is the water threshold of
    eq. (5), in L.
    """
    lacking = (asked - ground.nutrients) / jnp.where(number > 0, number, 1)
    dry = (threshold - ground.water) / (ground.capacity - ground.wilting)
    return dict(zip(NUTRIENTS, lacking, strict=True)) | {"water": dry}


def water_threshold(drought: Array, wilting: Array, capacity: Array) -> Array:
    """Compute the soil water, in L, below which a plant suffers from drought, by eq. (5)."""
    return (1 - drought) * wilting + drought * capacity


def stomatal_opening(extractable: Array, threshold: Array) -> Array:
    """Compute K_s of FAO-56 eq. (84), 0 to 1: below the threshold of eq. (5) a plant transpires less.

    In the paper, a plant instead transpires at the full rate until no water is left, and then stops. Both arguments are
    amounts of water above the wilting point.
    """
    return jnp.clip(extractable / jnp.maximum(threshold, 1e-6), 0.0, 1.0)


def unshaded_light(board: Board) -> Array | float:
    """Return the fraction of the light on each plot that the other hosts leave to the host that reads the board.

    Where another host casts shade, it takes a fraction of the light equal to its height divided by the sum of both
    heights: nearly all of the light if it is much taller, half of it if both have the same height.
    """
    return math.prod(transmitted_light(other, board.read_own(Canopy)) for other in board.read_others(Canopy))


def transmitted_light(above: Canopy, below: Canopy) -> Array:
    """Return the fraction of the light (0 to 1) that passes through one canopy to another."""
    return 1 - above.shade * above.height / jnp.maximum(above.height + below.height, 1e-6)
