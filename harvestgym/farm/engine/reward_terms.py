"""BasicScore (section 3.1.2), the reward terms that can be added to it, and limits on tallies.

BasicScore has the costs of actions and observations, stage rewards and a weighted final reward. A term reads a
`RewardContext` and returns a reward for each day and, once at the end, a reward for the season. The total reward is the
sum of all terms. Custom terms derive from `Term`. Limits are not part of the reward.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.errors import check_each_name, check_name, locate_errors, mismatch, require, unknown
from harvestgym.core.pytree import WIDE, Pytree, open_par, par, static
from harvestgym.farm.schema import ScoreSpec

from .actions import ActionTable, Orders
from .name_table import walk_tree
from .variables import Variable

RESOURCES = {"water#L": 1.0, "fertilizer#kg": 1.0, "cide#g": 0.001}
"""Weights of the resources used, in the tally's units (from the reference implementation)."""

LIFE = {"birds#nb": 1.0, "pollinators#nb": 0.5, "weeds#nb": 0.1, "pests#nb": 0.01}
"""Weights of the living things on the farm, counted every day (from the reference implementation)."""

SCORE_TERMS = ("bio", "resource", "soil", "yield", "plant")


class RewardContext(NamedTuple):
    """Values that a score may read.

    Attributes:
        today, totals: the tallies for the day and for the season so far, scalars by name (`"harvest#kg"`, `"water#L"`).
        indices: the indices that entities report, 0 to 1 (`"soil"`, `"plant"`).
        read: function that returns a variable's array by field, entity and key.
        day: days since the start.
        entities: the field and name of every entity.
    """

    today: Mapping[str, Array]
    totals: Mapping[str, Array]
    indices: Mapping[str, Array]
    read: Callable[[str, str, str], Array]
    day: Array
    entities: Sequence[tuple[str, str]] = ()

    def read_every(self, kind: str, key: str) -> list[Array]:
        """Read a variable, such as `read_every("Soil", "available_Water#L")`, from every entity of a kind, by field."""
        found = [(field, name) for field, name in self.entities if name.rpartition("-")[0] == kind]
        if not found:
            raise unknown("kind", kind, {name.rpartition("-")[0] for _, name in self.entities}, "read_every")
        return [self.read(field, name, key) for field, name in found]


class Term(Checked, Pytree):
    """Base class for reward terms; by default, its rewards are 0."""

    def daily(self, context: RewardContext) -> Array:
        """Return the reward for the day."""
        return jnp.float32(0.0)

    def final(self, context: RewardContext) -> Array:
        """Return the reward for the season, paid once at its end."""
        return jnp.float32(0.0)


class Tally(Term):
    """Daily reward per unit of some tallies (`harvest#kg: 3`, `water#L: -0.002`).

    Together with order costs and wages, which are always paid, it gives the farm's financial balance. It can price any
    tally that an entity keeps, including leaching from the soil: `leached_N#g`, and `leached_cide#g`, which is summed
    over the targets on which the cide acts.
    """

    prices: dict[str, Array] = open_par("prices", "reward per unit of a tally", low=-1e6, high=1e6)

    def daily(self, context: RewardContext) -> Array:
        check_each_name("tally", self.prices, context.today)
        return _weighted(self.prices, context.today)


class Constraint(Checked, Pytree):
    """Limit on the sum of a tally over an episode, in the form of a daily cost.

    The cost is the day's amount divided by the limit, so that an episode is within the limit if its costs sum to at
    most 1.
    """

    tally: str = static("tally", "name of the tally")
    limit: Array = par("limit", "maximum sum over an episode", low=1e-6, high=WIDE)

    def cost(self, amounts: Mapping[str, Array]) -> Array:
        """Return the cost of the tallies of a day or of an episode."""
        check_name("tally", self.tally, amounts)
        return amounts[self.tally] / self.limit


class Market(Term):
    """Reward for each plant's harvest at its market price at the end of the episode (`Field-0/Plant-1: 2.5`).

    A plant without a price earns nothing here. Set the score's `yield` to 0; otherwise, the harvest is rewarded twice.
    """

    prices: dict[str, Array] = open_par("prices", "price per kilogram of a plant's harvest", low=-1e6, high=1e6)

    def final(self, context: RewardContext) -> Array:
        kilograms = {name: context.read(*_plant(name), "harvest_weight#kg").sum() for name in self.prices}
        return _weighted(self.prices, kilograms)


def _plant(name: str) -> tuple[str, str]:
    field, _, plant = name.partition("/")
    require(field and plant, "prices", "a field and a plant", repr(name), "Field-0/Plant-0")
    return field, plant


class Biodiversity(Term):
    """Shannon index of the organisms counted in the season: H = -sum p ln p divided by ln(number of groups), 0 to 1."""

    GROUPS: ClassVar[tuple[str, ...]] = ("birds#nb", "pollinators#nb", "weeds#nb", "pests#nb")
    weight: Array = par("weight", "reward for maximum diversity", low=-1e6, high=1e6, default=1.0)

    def final(self, context: RewardContext) -> Array:
        counts = jnp.stack([context.totals.get(name, jnp.float32(0.0)) for name in self.GROUPS])
        shares = counts / jnp.maximum(counts.sum(), 1e-9)
        logs = jnp.where(shares > 0, jnp.log(jnp.where(shares > 0, shares, 1.0)), 0.0)
        return -self.weight * jnp.sum(shares * logs) / jnp.log(jnp.float32(len(self.GROUPS)))


class SoilHealth(Term):
    """Mean microlife of the soils at the end, minus a reference (0 to 1)."""

    weight: Array = par("weight", "reward per unit of microlife", low=-1e6, high=1e6, default=1.0)
    wanted: Array = par("wanted", "microlife at which the reward is 0", low=0, high=1, default=0.0)

    def final(self, context: RewardContext) -> Array:
        return self.weight * (context.indices["soil"] - self.wanted)


class Score(Pytree):
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
        return {"stage": stage} | {n: _compute(f"terms > {n}", term.daily, context) for n, term in self.terms.items()}

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
        return weighted | {n: _compute(f"terms > {n}", term.final, context) for n, term in self.terms.items()}

    def constrain(self, amounts: Mapping[str, Array]) -> dict[str, Array]:
        """Return the cost of each constraint for the given tallies, under the key `cost_` plus its name."""
        limits = self.constraints.items()
        return {f"cost_{n}": _compute(f"constraints > {n}", limit.cost, amounts) for n, limit in limits}


def _compute(part: str, function: Callable[[Any], Array], given: Any) -> Array:
    """Return the reward or the cost of a named part of the score; error messages include its path."""
    with locate_errors(f"scoring > {part}: "):
        return function(given)


def _weighted(weights: Mapping[str, float] | Mapping[str, Array], amounts: Mapping[str, Array]) -> Array:
    """Return the weighted sum of the amounts that exist."""
    return sum((weight * amounts[n] for n, weight in weights.items() if n in amounts), jnp.float32(0.0))


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
