"""The state of a farm, its parameters, and the flows of a day."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from harvestgym.core.tree import par, pytree, var
from harvestgym.farm.entities.base import Entity, Place

from .farmers import Farmer, Rule
from .formula_compiler import ReferenceValues
from .scoring import Score


@pytree
class FieldParams:
    """A field's place and the parameter sets of its entities."""

    place: Place
    entities: tuple[Entity, ...]


@pytree
class ContextParams:
    """The distributions of contexts.

    `tables` has for each draw the entries that it decides: a row for each choice or mixed set, or for the two
    ends of a range.
    """

    tables: tuple[jax.Array, ...]
    noise: jax.Array = par(
        "noise#day-1", "variance of a forecast per day ahead, in squared spans of what is seen", low=0, high=1
    )


@pytree
class FarmParams:
    """All numbers of a farm; its structure is in the `FarmModel`.

    `context` has what there is to draw; it is empty where nothing is drawn, or where a context is in force.
    """

    fields: tuple[FieldParams, ...]
    farmers: tuple[Farmer, ...]
    rules: dict[str, Rule]
    score: Score
    starts: tuple[jax.Array, ...]
    stops: ReferenceValues
    horizon: jax.Array = par("horizon#day", "days after which the game is truncated", low=1, dtype="int")
    context: ContextParams | tuple[()] = ()


@pytree
class FarmState:
    """The states of all entities, and what the score and the farmer need to know of the past.

    `context` is empty where nothing is drawn. In modes without requests `acting` is False, nothing is asked or paid.
    """

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
    acting: jax.Array = var("acting", "whether today's requests are answered", dtype="bool", axes=())
    asked: jax.Array = var("asked", "which entries of the offer were seen", dtype="bool", axes=("entry",))
    paid: jax.Array = var("observation_cost", "what they cost", axes=())


class DayReport(NamedTuple):
    """The flows across the boundary in a day: per field the flows per plot, over the farm the tally."""

    flows: tuple[dict[str, jax.Array], ...]
    tally: dict[str, jax.Array]
