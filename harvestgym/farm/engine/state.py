"""The state of a farm, its parameters, and the flows of a day."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from harvestgym.core.tree import par, pytree, var
from harvestgym.farm.entities.base import Entity, Place

from .conditions import ReferenceValues
from .constraints import Rule
from .farmers import Farmer
from .scoring import Score


@pytree
class FieldParams:
    """A field's place and the parameter sets of its entities."""

    place: Place
    entities: tuple[Entity, ...]


@pytree
class FarmParams:
    """All numbers of a farm; its structure is in the `FarmModel`."""

    fields: tuple[FieldParams, ...]
    farmers: tuple[Farmer, ...]
    rules: dict[str, Rule]
    score: Score
    starts: tuple[jax.Array, ...]
    stops: ReferenceValues
    horizon: jax.Array = par("horizon#day", "days after which the game is truncated", low=1, dtype="int")


@pytree
class FarmState:
    """The states of all entities, and what the score and the farmer need to know of the past."""

    fields: tuple[tuple[Any, ...], ...]
    farmers: tuple[Any, ...]
    totals: dict[str, jax.Array]
    today: dict[str, jax.Array]
    context: Any = ()
    day: jax.Array = var("elapsed#day", "days since the start", dtype="int", axes=())
    cost: jax.Array = var("intervention_cost", "cost of today's interventions", axes=())
    wages: jax.Array = var("wages", "wages of today's work", axes=())
    accepted: jax.Array = var("accepted", "which orders of today were taken by a farmer", dtype="bool", axes=("order",))
    over: jax.Array = var("over", "whether the game had ended before today", dtype="bool", axes=())
    effective: jax.Array = var("effective", "which orders of today had an effect", dtype="bool", axes=("order",))


class DayReport(NamedTuple):
    """The flows across the boundary in a day: per field the flows per plot, over the farm the tally."""

    flows: tuple[dict[str, jax.Array], ...]
    tally: dict[str, jax.Array]
