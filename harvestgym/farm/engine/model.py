"""The farm as a functional environment: act, publish, share, update, score, observe.

A day is: the actions of the farmers, in list order; every entity publishes from its state after them, by
rank; the allocator shares water and nutrients; every entity updates itself. Nobody reads a half-updated
neighbour, so the order of entities in a file cannot matter.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.loading import load_object
from harvestgym.farm.entities.base import Entity, Ledger, Place
from harvestgym.farm.schema import FarmSpec

from .actions import ActionTable, Orders
from .alike import map_fields
from .conditions import Compiled, holds
from .farmers import WorkRequest, WorkResult, delegate
from .field_day import draw_day, simulate_day
from .initial_values import InitialValue, draw_initial_states
from .name_table import NameTable
from .observations import ObservationPlan, ObservedItem
from .reward_terms import RewardContext
from .state import DayReport, FarmParams, FarmState
from .variables import FieldSlots, Variable


@dataclass(frozen=True, eq=False, repr=False)
class FarmModel(Env[FarmState, FarmParams]):
    """A farm of a given structure. Equal structures share one compiled program.

    Attributes:
        fields: names, kinds and shapes.
        actions: the action table.
        variables: every variable of every entity.
        plan: what is observed each day.
        starts: which variables get an initial value.
        stops: the condition that ends the game; None for none.
        schedule: how many actions a day an agent may ask for; 1 makes the action one integer.
        tallies: names that the score can count.
        defaults: the default parameters (not part of the structure).
        spec: what the farm file says (not part of the structure).
    """

    step_unit: ClassVar[str] = "days"
    family: ClassVar[str | None] = "harvestgym.farm.family"
    fields: tuple[FieldSlots, ...]
    actions: ActionTable
    variables: tuple[Variable, ...]
    plan: ObservationPlan
    starts: tuple[InitialValue, ...]
    stops: Compiled
    schedule: int
    tallies: tuple[str, ...]
    defaults: FarmParams
    spec: FarmSpec

    def __post_init__(self) -> None:
        parts = (getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("defaults", "spec"))
        object.__setattr__(self, "_structure", tuple(parts))
        object.__setattr__(self, "_hash", hash(self._structure))  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: hashes of strings differ from process to process."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @property
    def summary(self) -> str:
        """The fields, the kinds of entities and the mode."""
        plots = ", ".join(" x ".join(map(str, field.shape)) for field in self.fields)
        kinds = dict.fromkeys(slot.kind.__name__ for field in self.fields for slot in field.slots)
        return f"{plots} plots, mode {self.spec.mode}, {textwrap.shorten(', '.join(kinds), 100, placeholder=' …')}"

    def recipe(self) -> dict[str, str]:
        """Return the text of its farm file, for `core.saving`; ConfigError if a part lives in Python only."""
        return {"text": load_object("harvestgym.farm.build.farm_writer:write_farm")(self.spec)}

    @classmethod
    def from_recipe(cls, text: str) -> FarmModel:
        """Return the farm of the text of a file."""
        return load_object("harvestgym.farm.build.compile:build_text")(text)

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        same = other is self
        return same or (isinstance(other, FarmModel) and self._structure == other._structure)  # type: ignore[attr-defined]

    @property
    def params(self) -> FarmParams:
        return self.defaults

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return self.plan.space

    @property
    def full_plan(self) -> ObservationPlan:
        """The plan of all that an observation can show."""
        return self.plan

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        n = len(self.actions.choices)
        if self.schedule == 1:
            return gymnasium.spaces.Discrete(n)
        return gymnasium.spaces.MultiDiscrete(np.full(self.schedule, n))

    def initial(self, key: jax.Array, params: FarmParams) -> FarmState:
        places, entities = _parts(params)
        fields = draw_initial_states(key, self.fields, self.starts, places, entities, params.starts)
        zero = {name: jnp.float32(0.0) for name in self.tallies}
        none = jnp.zeros(self.schedule, bool)
        return FarmState(
            fields=fields,
            farmers=tuple(farmer.init() for farmer in params.farmers),
            totals=zero,
            today=zero,
            day=jnp.int32(0),
            cost=jnp.float32(0.0),
            wages=jnp.float32(0.0),
            accepted=none,
            effective=none,
            over=jnp.asarray(False),
        )

    def transition(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> FarmState:
        return self.day(key, state, self.actions.orders(action), params)[0]

    def day(self, key: jax.Array, state: FarmState, orders: Orders, params: FarmParams) -> tuple[FarmState, DayReport]:
        """Return one day with a schedule of orders: the next state and what crossed the boundary.

        Days after the end go on, but earn and cost nothing.
        """
        prices = params.score.prices(orders)
        accepted, farmers, wages = self._work(state, orders, prices, params)
        kinds = [jnp.asarray([row.number + 1 for row in rows], jnp.int32) for rows in self.actions.rows_of_fields]
        parts = (kinds, draw_day(key, self.fields), *_parts(params), state.fields)
        days = map_fields(partial(simulate_day, orders, accepted), self._field_structures, *parts)
        report = self._report([ledgers for _, ledgers, _ in days])
        new = FarmState(
            fields=tuple(after for after, _, _ in days),
            farmers=farmers,
            totals={n: state.totals[n] + report.tally[n] for n in self.tallies},
            today=report.tally,
            day=state.day + 1,
            cost=jnp.sum(jnp.where(accepted, prices, 0.0)),
            wages=wages,
            accepted=accepted,
            effective=jnp.any(jnp.stack([effective for _, _, effective in days]), axis=0),
            over=self.ended(state, params),
        )
        return new, report

    @cached_property
    def _field_structures(self) -> list[Any]:
        """Return the structure of each field and of the actions on it, for `map_fields`."""
        rows = self.actions.rows_of_fields
        does = [tuple((row.entity, row.action.method, len(row.allowed)) for row in of_field) for of_field in rows]
        return [(field.structure, rows) for field, rows in zip(self.fields, does, strict=True)]

    def accepts(self, state: FarmState, orders: Orders, params: FarmParams) -> jax.Array:
        """Return which of the orders of a day that begins in `state` would be carried out, bool (m,)."""
        return self._work(state, orders, params.score.prices(orders), params).done

    def permits(
        self, state: FarmState, numbers: jax.Array, params: FarmParams, chosen: jax.Array, count: Any
    ) -> jax.Array:
        """Return which actions of the integer form would be carried out after the first `count` of those chosen.

        `numbers` (n,) and `chosen` (m,) are of the integer form; bool (n,), False for number 0.
        """
        here = jnp.arange(self.schedule, dtype=jnp.int32) == count

        def permits(number: jax.Array) -> jax.Array:
            orders = self.actions.orders(jnp.where(here, number, chosen))
            return (self.accepts(state, orders, params) & here).any()

        return jax.vmap(permits)(numbers)

    def permits_first(self, state: FarmState, params: FarmParams) -> jax.Array:
        """Return which actions of the integer form are possible as the first order of a day; bool, 0 is.

        Farmers do not know the plot of an order, so that without rules the first plot stands for all.
        """
        numbers = np.arange(len(self.actions.choices))
        tried, place = np.unique(numbers if params.rules else self.actions.on_first_plot, return_inverse=True)
        none, place = jnp.zeros(self.schedule, jnp.int32), place.astype(np.int32)
        return self.permits(state, jnp.asarray(tried, jnp.int32), params, none, 0)[place] | (numbers == 0)

    def action_mask(self, state: FarmState, params: FarmParams) -> jax.Array:
        """Return which integer actions are possible: what the rules permit and a farmer takes; bool, as the space.

        With several orders a day each has the mask of the first one: a later order may be refused after those before it
        (the map interface has a mask for each). An order without effect is possible.
        """
        first = self.permits_first(state, params)
        return first if self.schedule == 1 else jnp.broadcast_to(first, (self.schedule, len(first)))

    def _work(self, state: FarmState, orders: Orders, prices: jax.Array, params: FarmParams) -> WorkResult:
        """Let the farmers do the orders that the further rules permit."""
        asked = orders.kind > 0
        for rule in params.rules.values():
            asked = asked & rule.permits(orders, jnp.where(asked, prices, 0.0), self.reward_context(state, params))
        minutes, none = self.actions.minutes(orders), jnp.zeros(orders.kind.shape, jnp.float32)
        request = WorkRequest(asked, minutes, prices, none, state.day)
        return delegate(params.farmers, state.farmers, orders.farmer, request, lambda each, *given: each.work(*given))

    def _report(self, ledgers: Sequence[Sequence[Ledger]]) -> DayReport:
        flows = tuple(_add_up((ledger.flows for ledger in of_field), {}) for of_field in ledgers)
        zero = {name: jnp.float32(0.0) for name in self.tallies}
        return DayReport(flows, _add_up((ledger.tally for of_field in ledgers for ledger in of_field), zero))

    def reward_context(self, state: FarmState, params: FarmParams) -> RewardContext:
        """Return the values that scores and rules may read."""
        return RewardContext(
            state.today, state.totals, self._indices(state, params), self._reader(state, params), state.day
        )

    def _reader(self, state: FarmState, params: FarmParams) -> Any:
        def read(field: str, entity: str, key: str) -> jax.Array:
            return self.value(self.names.variable(field, entity, key), state, params)

        return read

    @cached_property
    def names(self) -> NameTable:
        """Every name of the farm, looked up in any spelling."""
        return NameTable(self.actions.farmers, self.fields, self.variables)

    def ended(self, state: FarmState, params: FarmParams) -> jax.Array:
        """Return whether the game is over in `state`, by a condition, by the clock, or since before."""
        return state.over | self.terminal(state, params) | self.truncation(state, params)

    def value(self, variable: Variable, state: FarmState, params: FarmParams) -> jax.Array:
        """Return the array of a variable in a state."""
        entity = params.fields[variable.field].entities[variable.entity]
        return variable.value(entity, state.fields[variable.field][variable.entity])

    def observation(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> Any:
        return self.plan.see(lambda variable: self.value(variable, state, params))

    def terminal(self, state: FarmState, params: FarmParams) -> jax.Array:
        def read(item: ObservedItem, plot: Any) -> tuple[jax.Array, bool]:
            return item.take(self.value(item.variable, state, params)), True

        end = jnp.asarray(False) if self.stops is None else holds(self.stops, params.stops, read)
        for rule in params.rules.values():
            end = end | rule.ends(self.reward_context(state, params))
        return end

    def truncation(self, state: FarmState, params: FarmParams) -> jax.Array:
        return state.day >= params.horizon

    def gains(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        """Return the named terms of the gain of the day that led to `state`: stages, and at the end, once, the rest."""
        ended, context = self.ended(state, params), self.reward_context(state, params)
        terms = params.score.daily(context)
        for name, value in params.score.final(context).items():
            terms[name] = terms.get(name, 0.0) + jnp.where(ended, value, 0.0)
        return {name: jnp.where(state.over, 0.0, value) for name, value in terms.items()}

    def _indices(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        """Return the mean of each index over the entities that give it."""
        found: dict[str, list[jax.Array]] = {}
        for field, states in zip(params.fields, state.fields, strict=True):
            for entity, mine in zip(field.entities, states, strict=True):
                for name, index in entity.indices(mine).items():
                    found.setdefault(name, []).append(index)
        return {name: jnp.mean(jnp.stack(values)) for name, values in found.items()}

    def reward(self, key: jax.Array, state: FarmState, action: Any, after: FarmState, params: FarmParams) -> jax.Array:
        """Return the terms of the score, less wages and the costs of interventions and observations."""
        return _net(self.gains(after, params), self.costs(after, params))

    def costs(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        """Return the costs of the step that led to `state`, by name; free observations cost nothing."""
        named = {"intervention cost": state.cost, "wages": state.wages}
        costs = {name: jnp.where(state.over, 0.0, cost) for name, cost in named.items()}
        return costs | {"observation cost": jnp.float32(0.0)}

    def info(self, state: FarmState, params: FarmParams) -> dict[str, Any]:
        gains, costs = self.gains(state, params), self.costs(state, params)
        out = {"day": state.day, "gain": _sum(gains), "net": _net(gains, costs)} | costs
        out |= {f"reward/{name}": value for name, value in gains.items()}
        out |= {f"total/{name}": value for name, value in state.totals.items()}
        out |= {"accepted": state.accepted, "effective": state.effective}
        return out | self._explanations(state)

    def _explanations(self, state: FarmState) -> dict[str, jax.Array]:
        out: dict[str, jax.Array] = {}
        for field, states in zip(self.fields, state.fields, strict=True):
            for slot, mine in zip(field.slots, states, strict=True):
                for attr in slot.kind.explains:
                    out[f"{field.name}/{slot.name}/{attr}"] = getattr(mine, attr)
        return out


def _parts(params: FarmParams) -> tuple[list[Place], list[tuple[Entity, ...]]]:
    """Return the place and the entities of every field."""
    return [field.place for field in params.fields], [field.entities for field in params.fields]


def _sum(terms: Mapping[str, jax.Array]) -> jax.Array:
    return sum(terms.values(), jnp.float32(0.0))


def _net(gains: Mapping[str, jax.Array], costs: Mapping[str, jax.Array]) -> jax.Array:
    return _sum(gains) - _sum(costs)


def _add_up(amounts: Iterable[Mapping[str, jax.Array]], start: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """Return the sum of all amounts by name."""
    total = dict(start)
    for named in amounts:
        for name, amount in named.items():
            total[name] = total[name] + amount if name in total else amount
    return total
