"""What all hosts have in common: they shade one another and close their stomata in dry soil (crops and weeds)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .entity import Board
from .messages import Canopy


def water_threshold(draught: jax.Array, wilting: jax.Array, capacity: jax.Array) -> jax.Array:
    """Eq. (5): the water in the soil, L, below which a plant feels the drought."""
    return (1 - draught) * wilting + draught * capacity


def open_stomata(extractable: jax.Array, threshold: jax.Array) -> jax.Array:
    """K_s of FAO-56 eq. (84), 0 to 1: below the threshold of eq. (5) a plant transpires less.

    The paper's plant spends at its full rate until nothing is left and then stands still. Both arguments are
    water above the wilting point.
    """
    return jnp.clip(extractable / jnp.maximum(threshold, 1e-6), 0.0, 1.0)


def light_left(board: Board) -> jax.Array | float:
    """Share (0 to 1) of the light on each plot that the other hosts of the field leave to the reader, itself a host."""
    alone = len(board.place.hosts) == 1
    return 1.0 if alone else light_between(board.sent(Canopy), board.by_host(Canopy))


def light_between(own: Canopy, standing: Canopy) -> jax.Array:
    """Share (0 to 1) of the light on a host of each plot that the other hosts leave it.

    Each of them takes what its shade covers, and of that the part that its height has in the sum of both heights:
    all from what is far below it, half from its equal. `standing` is stacked along the host axis, `own` included.
    """
    return jnp.prod(_passing(standing, own), axis=0) / _passing(own, own)


def _passing(above: Canopy, below: Canopy) -> jax.Array:
    """The light that passes one canopy on the way to another."""
    return 1 - above.shade * above.height / jnp.maximum(above.height + below.height, 1e-6)
