"""BasicScore of section 3.1.2: costs of actions and observations, stage rewards, a weighted final reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import ConfigError, unknown
from harvestgym.core.tree import par, pytree
from harvestgym.farm.config.components import term as part_term
from harvestgym.farm.schema import ScoreSpec

from .actions import ActionTable, Orders
from .observations import ObservationPlan
from .reward_terms import RewardContext, Term
from .variables import FieldSlots, Variable, find_entity, find_field

RESOURCES = {"water#L": 1.0, "fertilizer#kg": 1.0, "cide#g": 0.001}
"""Weights of what is used, in the units of the tally (the reference implementation's)."""

LIFE = {"birds#nb": 1.0, "pollinators#nb": 0.5, "weeds#nb": 0.1, "pests#nb": 0.01}
"""Weights of what lives on the farm, counted every day (the reference implementation's)."""

TERMS = ("bio", "resource", "soil", "yield", "plant")


@pytree
class Score:
    """The score of a farm as parameters; the resource term is negative."""

    intervention_costs: jax.Array = par("intervention_costs", "cost of each row of the action table", low=0)
    observation_costs: jax.Array = par("observation_costs", "cost of an entry of each variable", low=0)
    stage: jax.Array = par("stage", "reward when a plant moves to its next stage of development", low=0)
    weights: jax.Array = par(TERMS, "weights of the final reward", low=0, high=1)
    terms: dict[str, Term]

    def prices(self, orders: Orders) -> jax.Array:
        """What each order costs if it is executed, float32 (m,)."""
        if not self.intervention_costs.shape[-1]:
            return jnp.zeros(orders.kind.shape)
        each = jnp.asarray(self.intervention_costs)[jnp.maximum(orders.kind - 1, 0)]
        return jnp.where(orders.kind > 0, each, 0.0)

    def look_costs(self, plan: ObservationPlan, table: Sequence[Variable]) -> jax.Array:
        """What each look of a plan costs: the unit cost of its variable times the entries seen."""
        at = np.asarray([table.index(look.variable) for look in plan.looks], int)
        entries = np.asarray([look.size for look in plan.looks], np.float32)
        return jnp.asarray(self.observation_costs)[at] * entries

    def daily(self, books: RewardContext) -> dict[str, jax.Array]:
        """The terms of the reward of a day, by name: stages passed, and the further terms."""
        stage = self.stage * books.today.get("stages#nb", jnp.float32(0.0))
        return {"stage": stage} | {name: term.daily(books) for name, term in self.terms.items()}

    def final(self, books: RewardContext) -> dict[str, jax.Array]:
        """The weighted terms of the final reward, by name."""
        zero = jnp.float32(0.0)
        raw = {
            "bio": _weighted(LIFE, books.totals),
            "resource": -_weighted(RESOURCES, books.totals),
            "soil": books.indices.get("soil", zero),
            "yield": books.totals.get("harvest#kg", zero),
            "plant": books.indices.get("plant", zero),
        }
        weighted = {name: jnp.asarray(self.weights)[i] * raw[name] for i, name in enumerate(TERMS)}
        return weighted | {name: term.final(books) for name, term in self.terms.items()}


def _weighted(weights: Mapping[str, float], totals: Mapping[str, jax.Array]) -> jax.Array:
    return sum((w * totals[n] for n, w in weights.items() if n in totals), jnp.float32(0.0))


def score_of(
    spec: ScoreSpec,
    actions: ActionTable,
    table: Sequence[Variable],
    fields: Sequence[FieldSlots],
    made: Mapping[str, Term] | None = None,
) -> Score:
    """The score of a farm from its file, every name checked; `made` has terms that are made already."""
    rows = {(*r.names, r.action.name): i for i, r in enumerate(actions.rows)}
    costs = np.full(len(rows), spec.intervention_cost, np.float32)
    for at, cost in _named(spec.intervention_costs, fields, rows, "action"):
        costs[at] = cost
    variables = {(*v.where, v.key): i for i, v in enumerate(table)}
    looks = np.full(len(variables), spec.observation_cost, np.float32)
    for at, cost in _named(spec.observation_costs, fields, variables, "variable"):
        looks[at] = cost
    weights = np.asarray([spec.bio, spec.resource, spec.soil, spec.harvest, spec.plant], np.float32)
    taken = [name for name in spec.terms if name in ("stage", *TERMS)]
    if taken:
        raise ConfigError(f"scoring > terms > {taken[0]}: the score has a term of this name; wanted another name")
    terms = {n: (made or {}).get(n) or part_term(t, f"scoring > terms > {n}") for n, t in spec.terms.items()}
    numbers: dict[str, Any] = {
        "intervention_costs": costs, "observation_costs": looks, "stage": np.float32(spec.stage), "weights": weights,
    }  # fmt: skip
    return Score(terms=terms, **numbers)


def _named(
    costs: Mapping[str, Any], fields: Sequence[FieldSlots], known: Mapping[tuple[str, str, str], int], what: str
) -> list[tuple[int, float]]:
    out: list[tuple[int, float]] = []
    for field, of_field in costs.items():
        f = find_field(fields, field, "scoring")
        for entity, of_entity in of_field.items():
            names = (fields[f].name, fields[f].slots[find_entity(fields[f], entity, "scoring")].name)
            for name, cost in of_entity.items():
                if (*names, name) not in known:
                    valid = (k[2] for k in known if k[:2] == names)
                    raise unknown(what, name, valid, f"scoring > {field} > {entity}")
                out.append((known[(*names, name)], cost))
    return out
