"""BasicScore (section 3.1.2): costs of actions and observations, stage rewards, and a weighted final reward."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.errors import locate_errors, mismatch, unknown
from harvestgym.core.pytree import par, pytree
from harvestgym.farm.schema import ScoreSpec

from .actions import ActionTable, Orders
from .name_table import walk_tree
from .reward_terms import Constraint, RewardContext, Term
from .variables import Variable

RESOURCES = {"water#L": 1.0, "fertilizer#kg": 1.0, "cide#g": 0.001}
"""Weights of the resources used, in the tally's units (from the reference implementation)."""

LIFE = {"birds#nb": 1.0, "pollinators#nb": 0.5, "weeds#nb": 0.1, "pests#nb": 0.01}
"""Weights of the living things on the farm, counted every day (from the reference implementation)."""

SCORE_TERMS = ("bio", "resource", "soil", "yield", "plant")


@pytree
class Score:
    """A farm's score as parameters; the resource term is negative."""

    intervention_costs: Array = par("intervention_costs", "cost of each row of the action table", low=0)
    observation_costs: Array = par("observation_costs", "cost per entry of each variable", low=0)
    stage: Array = par("stage", "reward when a plant moves to its next stage of development", low=0)
    weights: Array = par(SCORE_TERMS, "weights of the final reward", low=0, high=1)
    terms: dict[str, Term]
    constraints: dict[str, Constraint] = dataclasses.field(default_factory=dict)

    def prices(self, orders: Orders) -> Array:
        """Return the price of each order if it is carried out, float32 (m,)."""
        return jnp.concatenate([jnp.zeros(1, jnp.float32), self.intervention_costs])[orders.kind]

    def daily(self, context: RewardContext) -> dict[str, Array]:
        """Return the terms of a day's reward, by name: the reward for stages reached, and the additional terms."""
        stage = self.stage * context.today.get("stages#nb", jnp.float32(0.0))
        return {"stage": stage} | {n: _pay(n, term.daily, context) for n, term in self.terms.items()}

    def final(self, context: RewardContext) -> dict[str, Array]:
        """Return the weighted terms of the final reward, by name."""
        zero = jnp.float32(0.0)
        raw = {
            "bio": _weighted(LIFE, context.totals),
            "resource": -_weighted(RESOURCES, context.totals),
            "soil": context.indices.get("soil", zero),
            "yield": context.totals.get("harvest#kg", zero),
            "plant": context.indices.get("plant", zero),
        }
        weighted = {name: jnp.asarray(self.weights)[i] * raw[name] for i, name in enumerate(SCORE_TERMS)}
        return weighted | {n: _pay(n, term.final, context) for n, term in self.terms.items()}

    def constrain(self, amounts: Mapping[str, Array]) -> dict[str, Array]:
        """Return the cost of each constraint for the given tallies, under the key `cost_` plus its name."""
        costs: dict[str, Array] = {}
        for name, constraint in self.constraints.items():
            with locate_errors(f"scoring > constraints > {name}: "):
                costs[f"cost_{name}"] = constraint.cost(amounts)
        return costs


def _pay(name: str, reward: Callable[[RewardContext], Array], context: RewardContext) -> Array:
    """Return the reward of an additional term; error messages include the term's path."""
    with locate_errors(f"scoring > terms > {name}: "):
        return reward(context)


def _weighted(weights: Mapping[str, float], totals: Mapping[str, Array]) -> Array:
    return sum((w * totals[n] for n, w in weights.items() if n in totals), jnp.float32(0.0))


def compile_score(
    spec: ScoreSpec, actions: ActionTable, variables: Sequence[Variable], terms: dict[str, Term]
) -> Score:
    """Return a farm's score from its description in canonical names and its additional `terms`."""
    columns = {(*v.where, v.key): i for i, v in enumerate(variables)}
    weights = np.asarray([spec.bio, spec.resource, spec.soil, spec.harvest, spec.plant], np.float32)
    if taken := [name for name in terms if name in ("stage", *SCORE_TERMS)]:
        raise mismatch(f"scoring > terms > {taken[0]}", "a new name", "a built-in term", "another")
    numbers: dict[str, Any] = {
        "intervention_costs": _fill(spec.intervention_cost, spec.intervention_costs, actions.row_numbers, "action"),
        "observation_costs": _fill(spec.observation_cost, spec.observation_costs, columns, "variable"),
        "stage": np.float32(spec.stage), "weights": weights,
    }  # fmt: skip
    constraints = {
        name: Constraint(tally=each.tally, limit=np.float32(each.limit))  # pyright: ignore[reportArgumentType]
        for name, each in spec.constraints.items()
    }
    return Score(terms=terms, constraints=constraints, **numbers)


def _fill(default: float, costs: Mapping[str, Any], columns: Mapping[Any, int], what: str) -> np.ndarray:
    """Return the cost of each column: the value given for its field, entity and name, or the default."""
    out = np.full(len(columns), default, np.float32)
    for field, entity, name, cost in walk_tree(costs):
        if (field, entity, name) not in columns:
            known = [column for *where, column in columns if where == [field, entity]]
            raise unknown(what, name, known, f"scoring > {field} > {entity}")
        out[columns[field, entity, name]] = cost
    return out
