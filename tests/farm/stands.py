"""Stands of plants in a given stage, as a test says."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from harvestgym.core.tree import replace
from harvestgym.farm.entities.messages import zero_values
from harvestgym.farm.entities.plant.stages import Stage, is_alive
from harvestgym.farm.entities.plant.state import PlantState

GROWN = {"population": 16, "spacing": 25.0, "size": 30.0}
FLOWERING = {"flowers": 16, "pollinated": 10}
FRUITING = {"fruits": 10, "fruit_weight": 3.0}


def stand(n: int, stage: Stage | jax.Array, **changes: Any) -> PlantState:
    """n plots in a row with middling bean plants of a stage (or stages, `(1, n)`)."""
    return stands((1, n), stage, **changes)


def stands(shape: tuple[int, int], stage: Stage | jax.Array, **changes: Any) -> PlantState:
    """Do as `stand`, on a field of any shape."""
    blank = zero_values(PlantState, {"plot": shape})
    at = jnp.broadcast_to(jnp.asarray(stage, jnp.int32), shape)
    values: dict[str, Any] = {name: jnp.where(is_alive(at), value, 0) for name, value in GROWN.items()}
    values |= {name: jnp.where((at >= Stage.BLOOM) & (at <= Stage.RIPE), v, 0) for name, v in FLOWERING.items()}
    values |= {name: jnp.where((at == Stage.FRUIT) | (at == Stage.RIPE), v, 0) for name, v in FRUITING.items()}
    values["population"] = jnp.where(at == Stage.NONE, 0, GROWN["population"])
    values |= {"stage": at} | changes
    return replace(blank, **{name: _like(getattr(blank, name), value) for name, value in values.items()})


def _like(blank: jax.Array, value: Any) -> jax.Array:
    return jnp.broadcast_to(jnp.asarray(value), blank.shape).astype(blank.dtype)
