"""Stands of plants in a given stage, as a test says, and their day on a loam."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Ledger, Place
from harvestgym.farm.entities.messages import Air, Load, Strain, Visits, zero_values
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage, is_alive
from harvestgym.farm.entities.plant.state import PlantState
from harvestgym.farm.entities.soil import Soil
from tests.farm.messages import message
from tests.farm.soil_plant_day import field, live_jit

GROWN = {"population": 16, "spacing": 25.0, "size": 30.0}
FLOWERING = {"flowers": 16, "pollinated": 10}
FRUITING = {"fruits": 10, "fruit_weight": 3.0}

LOAM = Soil.named("loam")
ROW = field((1, 7))
"""One field for all days made by hand, so that they share one compiled program."""


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


def a_day(
    plant: Plant, states: tuple[Any, Any], today: Air, uniforms: dict[str, jax.Array], place: Place = ROW,
    visits: float = 0.0, pests: float = 0.0, death: float = 0.0, growth: float = 0.0, harvest: float = 0.0,
) -> tuple[tuple[Any, Any], tuple[Ledger, Ledger]]:  # fmt: skip
    """Return plants and soil tomorrow, with what others say of themselves, and the ledgers of both."""
    others = (
        message(Visits, place, occurrence=visits), message(Load, place, pests=pests),
        message(Strain, place, death=death, growth=growth, harvest=harvest),
    )  # fmt: skip
    return live_jit(plant, LOAM, states, place, today, uniforms, others)
