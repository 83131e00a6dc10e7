"""Functions shared by all hosts, crops and weeds: responses, shortages of water and nutrients, light."""

from __future__ import annotations

import dataclasses
import math
from functools import reduce

import jax
import jax.numpy as jnp

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.response import Response, exponents

from .base import Board
from .messages import NUTRIENTS, Canopy, Ground

Drivers = dict[str, jax.Array]
"""Today's value of every driver of a host, by the names of its `parameters.py`."""


def driver_names(response: type[Response]) -> tuple[str, ...]:
    """Return the drivers of a response: the names of its windows, in their order."""
    return tuple(field.name for field in dataclasses.fields(response) if field.name != "intercept")


def exponent_terms(response: Response, drivers: Drivers) -> Drivers:
    """Return the exponent terms of a response, by driver; ConfigError for a window without a driver."""
    names = driver_names(type(response))
    for name in names:
        if name not in drivers:
            raise ConfigError(
                f"{type(response).__name__}: expected a driver for the window {name!r}, got {', '.join(drivers)}; "
                f"try a soil whose message Ground has factors={{{name!r}: ...}}"
            )
    return exponents(response, **{name: drivers[name] for name in names})


def add_to_strain(
    strain: jax.Array, response: Response, base: type[Response], drivers: Drivers
) -> tuple[jax.Array, Drivers]:
    """Add the terms of windows that a subclass adds to `base` to the strain; return it and the terms of `base`."""
    terms = exponent_terms(response, drivers)
    own = {name: terms.pop(name) for name in driver_names(base)}
    return sum(terms.values(), strain), own


def add_factors(drivers: Drivers, ground: Ground) -> Drivers:
    """Add the factors of the soil to the drivers of a host; ConfigError for one with the name of a driver."""
    for name in ground.factors:
        if name in drivers:
            raise ConfigError(
                f"Ground: expected a factor with a new name, got {name!r}, a driver of hosts; try 'soil_{name}'"
            )
    return ground.factors | drivers


def probability(response: Response, drivers: Drivers, strain: jax.Array | None = None) -> jax.Array:
    """Eq. (1) for the drivers that a response names, `strain` being the term of kinds unknown to the host."""
    own = response.intercept if strain is None else response.intercept + strain
    return jnp.exp(-(own + reduce(jnp.add, exponent_terms(response, drivers).values())))


def compute_shortages(asked: jax.Array, number: jax.Array, threshold: jax.Array, ground: Ground) -> Drivers:
    """Compute the deficit of the soil today: g of N, P, K, C per plant, and a share of water (negative is plenty).

    The share is of the water that the soil can hold for plants, so that each soil is as dry as it feels. Arguments:
    the nutrients that the `number` of plants of a plot ask, g; the water of eq. (5), L.
    """
    lacking = (asked - ground.nutrients) / jnp.where(number > 0, number, 1)
    dry = (threshold - ground.water) / (ground.capacity - ground.wilting)
    return dict(zip(NUTRIENTS, lacking, strict=True)) | {"water": dry}


def water_threshold(drought: jax.Array, wilting: jax.Array, capacity: jax.Array) -> jax.Array:
    """Eq. (5): the water in the soil, L, below which a plant feels the drought."""
    return (1 - drought) * wilting + drought * capacity


def stomatal_opening(extractable: jax.Array, threshold: jax.Array) -> jax.Array:
    """K_s of FAO-56 eq. (84), 0 to 1: below the threshold of eq. (5) a plant transpires less.

    The paper's plant spends at its full rate until nothing is left and then stands still. Both arguments are
    water above the wilting point.
    """
    return jnp.clip(extractable / jnp.maximum(threshold, 1e-6), 0.0, 1.0)


def unshaded_light(board: Board) -> jax.Array | float:
    """Share (0 to 1) of the light on each plot that the other hosts of the field leave to the reader, itself a host.

    Each of them takes what its shade covers, and of that the part that its height has in the sum of both heights:
    all from what is far below it, half from its equal.
    """
    return math.prod(transmitted_light(other, board.read_own(Canopy)) for other in board.read_others(Canopy))


def transmitted_light(above: Canopy, below: Canopy) -> jax.Array:
    """Share (0 to 1) of the light that passes one canopy on the way to another."""
    return 1 - above.shade * above.height / jnp.maximum(above.height + below.height, 1e-6)
