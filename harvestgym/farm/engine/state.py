"""A farm's state and parameters, and the flows of a day."""

from __future__ import annotations

from typing import Any, NamedTuple

from jax import Array

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.farm.entities.base import Entity, Place

from .farmers import Farmer, Rule
from .formula_compiler import ReferenceValues
from .reward_terms import Score


class FieldParams(Pytree):
    """A field's location and its entities' parameter sets."""

    place: Place
    entities: tuple[Entity, ...]


class ContextParams(Pytree):
    """The distributions of contexts.

    `tables` holds, for each draw, the entries that it sets: a row for each choice or mixed set, or for each end of a
    range.
    """

    tables: tuple[Array, ...]
    noise: Array = par("noise#day-1", "forecast error variance per day ahead, in squared ranges", low=0, high=1)


class FarmParams(Pytree):
    """All numeric parameters of a farm; its structure is in the `FarmModel`.

    `context` holds the distributions to draw from; it is empty if nothing is drawn or a context has been applied.
    """

    fields: tuple[FieldParams, ...]
    farmers: tuple[Farmer, ...]
    rules: dict[str, Rule]
    score: Score
    starts: tuple[Array, ...]
    stops: ReferenceValues
    horizon: Array = par("horizon#day", "days after which the episode is truncated", low=1, dtype="int")
    context: ContextParams | tuple[()] = ()


class FarmState(Pytree):
    """The states of all entities, and the history that the score and the farmers need.

    `context` is empty if nothing is drawn. In modes without requests, `acting` is False, and no observations are
    requested or paid for.
    """

    fields: tuple[tuple[Any, ...], ...]
    farmers: tuple[Any, ...]
    totals: dict[str, Array]
    today: dict[str, Array]
    context: Any = ()
    day: Array = var("elapsed#day", "days since the start", dtype="int", axes=())
    cost: Array = var("intervention_cost", "cost of today's interventions", axes=())
    wages: Array = var("wages", "wages of today's work", axes=())
    accepted: Array = var("accepted", "which of today's orders a farmer accepted", dtype="bool", axes=("order",))
    over: Array = var("over", "whether the episode had ended before today", dtype="bool", axes=())
    effective: Array = var("effective", "which of today's orders had an effect", dtype="bool", axes=("order",))
    refusal: Array = var("refusal", "reason of each refused order, 0 if none", dtype="int", axes=("order",))
    acting: Array = var("acting", "whether today's requests are answered", dtype="bool", axes=())
    asked: Array = var("asked", "which offered entries were observed", dtype="bool", axes=("entry",))
    paid: Array = var("observation_cost", "cost of today's observations", axes=())


class DayReport(NamedTuple):
    """The flows across the farm boundary in a day: flows per plot for each field, and the tally of the whole farm.

    The keys of `unread` are a sentence about each message that nothing reads, and the module of the message. JAX keeps
    keys with the trace of a day.
    """

    flows: tuple[dict[str, Array], ...]
    tally: dict[str, Array]
    unread: dict[tuple[str, str], None]
