"""The farm as a functional environment: act, publish, share, update, score, observe.

On each day, the farmers' actions are applied in list order; every entity publishes from the resulting state, by rank;
the allocator shares water and nutrients; and every entity updates itself. No entity reads the state of another during
the update, so the order of entities in a file does not matter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.env import Timestep
from harvestgym.core.loading import group_pairs
from harvestgym.core.pytree import replace
from harvestgym.core.random import keys_for

from .actions import DURATION, Orders
from .farm_structure import FarmStructure
from .farmers import Work, WorkResult, delegate
from .field_day import draw_day, map_fields, simulate_day
from .formula_compiler import Compiled, ReferenceValues, holds
from .initial_values import draw_initial_states
from .reward_terms import RewardContext
from .state import DayReport, FarmParams, FarmState
from .variables import Variable


@dataclass(frozen=True, eq=False, repr=False)
class FarmModel(FarmStructure):
    """A farm of any structure, as five functions."""

    def in_force(self, state: FarmState, params: FarmParams) -> FarmParams:
        """Return the parameters that apply in a state, with the changes from its context."""
        return self.contexts.apply(params, state.context and state.context.numbers)

    def initial(self, key: Array, params: FarmParams) -> FarmState:
        return self._started(key, self.contexts.first(key, params), params)

    def again(self, key: Array, last: FarmState, renew: Array, params: FarmParams) -> tuple[FarmState, Timestep]:
        """Start the episode after the one that ended in `last`, in the same context if it has episodes left."""
        params = self.given(params)
        start, look = keys_for(key, ("initial", "observation"))
        context = self.contexts.next_episode(start, last.context, renew, params)
        return self._opened(look, self._started(start, context, params), params)

    def _started(self, key: Array, context: Any, params: FarmParams) -> FarmState:
        params = self.contexts.apply(params, context and context.numbers)
        return FarmState(
            fields=draw_initial_states(key, self.fields, self.starts, params),
            farmers=tuple(farmer.init() for farmer in params.farmers),
            totals=self._no_tally,
            today=self._no_tally,
            context=context,
            day=jnp.int32(0),
            wages=jnp.float32(0.0),
            over=jnp.asarray(False),
            **self._no_orders,
            **self._morning,
        )

    @property
    def _no_orders(self) -> dict[str, Array]:
        """Return the state entries that describe a step's orders, for a step without orders."""
        none = jnp.zeros(self.schedule, bool)
        return {"cost": jnp.float32(0.0), "accepted": none, "effective": none, "refusal": none.astype(jnp.int32)}

    @property
    def _morning(self) -> dict[str, Array]:
        """Return the state entries that are reset before the day's requests."""
        return {"acting": jnp.asarray(False), "asked": jnp.zeros(self.offered.size, bool), "paid": jnp.float32(0.0)}

    def transition(self, key: Array, state: FarmState, action: Any, params: FarmParams) -> FarmState:
        if not self.asks:
            return self.day(key, state, self.orders(action), params)[0]
        looked = self._look(state, action.get("request", np.zeros(0)), params)
        passed = self.day(key, state, self.orders(action), params)[0]
        return jax.tree.map(lambda a, b: jnp.where(state.acting, a, b), passed, looked)

    def _look(self, state: FarmState, request: Any, params: FarmParams) -> FarmState:
        """Return the state after the observing half-step."""
        answer, price = self.requests.answer(state, request, params)
        return replace(
            state,
            farmers=answer.memory,
            acting=jnp.asarray(True),
            asked=state.asked | answer.done,
            paid=price,
            wages=answer.wages,
            over=self.ended(state, params),
            **self._no_orders,
        )

    def day(self, key: Array, state: FarmState, orders: Orders, params: FarmParams) -> tuple[FarmState, DayReport]:
        """Simulate one day with a schedule of orders; return the next state and the flows across the boundary.

        Days after the end are still simulated, but have no gains and no costs. The context at the start of a day
        applies to the whole day.
        """
        now = self.in_force(state, params)
        prices = now.score.prices(orders)
        accepted, farmers, wages, refusal = self._work(state, orders, prices, now)
        kinds = [jnp.asarray([row.number + 1 for row in rows], jnp.int32) for rows in self.actions.rows_of_fields]
        parts = (kinds, draw_day(key, self.fields), now.fields, state.fields)
        days = map_fields(partial(simulate_day, orders, accepted), self._field_structures, *parts)
        flows = tuple(_add_up(ledger.flows for ledger in ledgers) for _, ledgers, _, _ in days)
        tally = _add_up([self._no_tally, *(ledger.tally for _, ledgers, _, _ in days for ledger in ledgers)])
        new = FarmState(
            fields=tuple(after for after, _, _, _ in days),
            farmers=farmers,
            totals={n: state.totals[n] + tally[n] for n in self.tallies},
            today=tally,
            context=self.contexts.next_day(key, state.context, state.day + 1, params),
            day=state.day + 1,
            cost=jnp.sum(jnp.where(accepted, prices, 0.0)),
            wages=wages,
            accepted=accepted,
            refusal=refusal,
            effective=jnp.any(jnp.stack([effective for _, _, effective, _ in days]), axis=0),
            over=self.ended(state, now),
            **self._morning,
        )
        return new, DayReport(flows, tally, {message: None for *_, unread in days for message in unread})

    @cached_property
    def _field_structures(self) -> list[Any]:
        """Return the structure of each field and of its actions, for `map_fields`."""
        rows = self.actions.rows_of_fields
        does = [tuple((row.entity, row.action.method, len(row.allowed)) for row in of_field) for of_field in rows]
        return [(field.structure, rows) for field, rows in zip(self.fields, does, strict=True)]

    def permits(self, state: FarmState, numbers: np.ndarray, params: FarmParams, chosen: Array, count: Any) -> Array:
        """Return which integer actions would be carried out if ordered after the first `count` chosen actions.

        The result is bool in the shape of `numbers`, False for action 0. Farmers do not see the plot of an order, so
        without rules only the first plot is tried, and the result applies to all.
        """
        here = jnp.arange(self.schedule, dtype=jnp.int32) == count
        alike = numbers if params.rules else self.actions.on_first_plot[numbers]
        tried, place = np.unique(alike, return_inverse=True)

        def permits(number: Array) -> Array:
            orders = self.actions.orders(jnp.where(here, number, chosen))
            return (self._work(state, orders, params.score.prices(orders), params).done & here).any()

        return jax.vmap(permits)(jnp.asarray(tried, jnp.int32))[place.reshape(numbers.shape).astype(np.int32)]

    def permits_first(self, state: FarmState, params: FarmParams) -> Array:
        """Return which integer actions are possible as the first order of a day, as bool; action 0 always is."""
        numbers = np.arange(self.actions.size)
        return self.permits(state, numbers, params, jnp.zeros(self.schedule, jnp.int32), 0) | (numbers == 0)

    @property
    def action_mask(self) -> Callable[[FarmState, FarmParams], Array] | None:
        """A function that returns which actions are possible; None in mode "ao", where actions have two parts.

        The interfaces "discrete", "multidiscrete" and "map" have masks in every mode.
        """
        return None if self.asks else self._mask_actions

    def _mask_actions(self, state: FarmState, params: FarmParams) -> Array:
        """Return which integer actions the rules permit and a farmer accepts, bool in the shape of the action space.

        With several orders a day, every order has the mask of the first, so later orders may still be refused because
        of earlier ones (the map interface has a mask for each order). An order that would have no effect counts as
        possible.
        """
        first = self.permits_first(state, params)
        return first if self.schedule == 1 else jnp.broadcast_to(first, (self.schedule, len(first)))

    def _work(self, state: FarmState, orders: Orders, prices: Array, params: FarmParams) -> WorkResult:
        """Let the farmers carry out the orders that the additional rules permit.

        A `reason` is a position in `reasons`, counted from 1, rules first and then farmers; 0 means none.
        """
        asked, reason = orders.kind > 0, jnp.zeros(orders.kind.shape, jnp.int32)
        for number, rule in enumerate(params.rules.values(), start=1):
            allowed = rule.permits(orders, jnp.where(asked, prices, 0.0), self.reward_context(state, params))
            asked, reason = asked & allowed, jnp.where(asked & ~allowed, number, reason)
        minutes, none = self.actions.parameter(DURATION, orders), jnp.zeros(orders.kind.shape, jnp.float32)
        request = Work(asked, minutes, prices, none, state.day)
        result = delegate("work", params.farmers, state.farmers, orders.farmer, request)
        refused = asked & ~result.done
        return result._replace(reason=jnp.where(refused, len(params.rules) + result.reason, reason))

    @cached_property
    def reasons(self) -> list[tuple[str, str]]:
        """The reasons for refusing an order: the name of the rule or farmer, and the reason in words."""
        sources = (*self.params.rules.items(), *zip(self.actions.farmers, self.params.farmers, strict=True))
        named = [(name, one, {key: f"{float(value):g}" for key, value in vars(one).items()}) for name, one in sources]
        return [(name, reason.format_map(numbers)) for name, one, numbers in named for reason in one.reasons]

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        """Count a step's orders by outcome, and the plots of each crop by the factor that limits growth.

        The outcomes are: no order, carried out with an effect, carried out without an effect, and refused, by reason.
        """
        done = jnp.where(info["effective"], 1, jnp.where(info["accepted"], 2, 0))
        outcome = jnp.where(info["refusal"] > 0, 2 + info["refusal"], done)
        counts = {"orders": _count_codes(outcome, 3 + len(self.reasons))}
        for variable in self.variables:
            name = f"{'/'.join(variable.where)}/{variable.attr}"
            if variable.attr == "limiting_factor" and name in info:
                counts[name] = _count_codes(info[name], len(variable.meta.labels))
        return counts

    @property
    def _no_tally(self) -> dict[str, Array]:
        return {name: jnp.float32(0.0) for name in self.tallies}

    def reward_context(self, state: FarmState, params: FarmParams) -> RewardContext:
        """Return the values that scores and rules may read."""
        params = self.in_force(state, params)

        def read(field: str, entity: str, key: str) -> Array:
            return self.value(self.names.variable(field, entity, key), state, params)

        indices, entities = self._indices(state, params), list(self.names.slots)
        return RewardContext(state.today, state.totals, indices, read, state.day, entities)

    def ended(self, state: FarmState, params: FarmParams) -> Array:
        """Return whether the episode is over: a condition is true, the horizon is reached, or it had already ended."""
        return state.over | self.terminal(state, params) | self.truncation(state, params)

    def value(self, variable: Variable, state: FarmState, params: FarmParams) -> Array:
        """Return a variable's array in a state, with the context of that state."""
        params = self.in_force(state, params) if variable.derived else params
        entity = params.fields[variable.field].entities[variable.entity]
        return variable.value(entity, state.fields[variable.field][variable.entity])

    def observation(self, key: Array, state: FarmState, action: Any, params: FarmParams) -> Any:
        params = self.in_force(state, params)
        values = self.full_plan.see(lambda variable: self.value(variable, state, params))
        context = self.contexts.seen(state.context)
        if not self.asks:
            return jnp.concatenate([values, *context])
        mask = self.observed_entries(state)
        shown = jnp.concatenate([jnp.where(mask, values, 0.0), *context])
        mask = jnp.concatenate([mask.astype(jnp.float32), *map(jnp.ones_like, context)])
        return {"values": shown, "mask": mask}

    def observed_entries(self, state: FarmState) -> Array:
        """Return which entries of `full_plan` are observed in a state: the free entries, and those requested today."""
        return jnp.concatenate([jnp.ones(self.plan.size, bool), state.asked])

    def hold(self, condition: Compiled, values: ReferenceValues, state: FarmState, params: FarmParams) -> Array:
        """Return whether a compiled condition holds in a state."""
        return holds(condition, values, lambda item, _: (item.take(self.value(item.variable, state, params)), True))

    def terminal(self, state: FarmState, params: FarmParams) -> Array:
        end = jnp.asarray(False) if self.stops is None else self.hold(self.stops, params.stops, state, params)
        for rule in params.rules.values():
            end = end | rule.ends(self.reward_context(state, params))
        return end

    def truncation(self, state: FarmState, params: FarmParams) -> Array:
        return state.day >= params.horizon

    def gains(self, state: FarmState, params: FarmParams) -> dict[str, Array]:
        """Return the gains, by name, of the step that led to `state`; the final terms are included once, at the end.

        They are 0 in the observing half-step, in which no time passes.
        """
        ended, context = self.ended(state, params), self.reward_context(state, params)
        terms = params.score.daily(context)
        for name, value in params.score.final(context).items():
            terms[name] = terms.get(name, 0.0) + jnp.where(ended, value, 0.0)
        return {name: jnp.where(state.over | state.acting, 0.0, value) for name, value in terms.items()}

    def _indices(self, state: FarmState, params: FarmParams) -> dict[str, Array]:
        """Return the mean of each index (0 to 1) over the entities that report it."""
        fields = zip(params.fields, state.fields, strict=True)
        pairs = chain(*(zip(field.entities, states, strict=True) for field, states in fields))
        found = group_pairs(item for entity, mine in pairs for item in entity.indices(mine).items())
        return {name: jnp.mean(jnp.stack(values)) for name, values in found.items()}

    def reward(self, key: Array, state: FarmState, action: Any, after: FarmState, params: FarmParams) -> Array:
        """Return the sum of the score terms, minus wages and the costs of interventions and observations."""
        return _net(self.gains(after, params), self.costs(after, params))

    def costs(self, state: FarmState, params: FarmParams) -> dict[str, Array]:
        """Return the costs, by name, of the step that led to `state`; free observations cost nothing."""
        named = {"intervention cost": state.cost, "wages": state.wages, "observation cost": state.paid}
        return {name: jnp.where(state.over, 0.0, cost) for name, cost in named.items()}

    def constraint_costs(self, state: FarmState, params: FarmParams) -> dict[str, Array]:
        """Return, for the step that led to `state`, the cost of each constraint and their sum, named as in `info`."""
        today = params.score.constrain(state.today)
        costs = {name: jnp.where(state.over | state.acting, 0.0, cost) for name, cost in today.items()}
        return {"cost": _sum(costs)} | costs if costs else {}

    def info(self, state: FarmState, params: FarmParams) -> dict[str, Any]:
        gains, costs = self.gains(state, params), self.costs(state, params)
        out = {"day": state.day, "gain": _sum(gains), "net": _net(gains, costs)} | costs
        out |= self.constraint_costs(state, params)
        out |= {f"reward/{name}": value for name, value in gains.items()}
        out |= {f"total/{name}": value for name, value in state.totals.items()}
        out |= {"accepted": state.accepted, "effective": state.effective, "refusal": state.refusal}
        out |= self._explanations(state)
        return out | ({"context": state.context.numbers} if self.contexts.draws else {})

    def _explanations(self, state: FarmState) -> dict[str, Array]:
        out: dict[str, Array] = {}
        for field, states in zip(self.fields, state.fields, strict=True):
            for slot, mine in zip(field.slots, states, strict=True):
                for attr in slot.kind.explains:
                    out[f"{field.name}/{slot.name}/{attr}"] = getattr(mine, attr)
        return out


def _count_codes(codes: Array, size: int) -> Array:
    """Count each of the codes 0 to `size` - 1 in an array."""
    return jnp.sum(codes.reshape(-1, 1) == jnp.arange(size, dtype=jnp.int32), axis=0, dtype=jnp.int32)


def _sum(terms: Mapping[str, Array]) -> Array:
    return sum(terms.values(), jnp.float32(0.0))


def _net(gains: Mapping[str, Array], costs: Mapping[str, Array]) -> Array:
    return _sum(gains) - _sum(costs)


def _add_up(amounts: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """Return the sum of all amounts by name."""
    found = group_pairs(pair for named in amounts for pair in named.items())
    return {name: reduce(operator.add, values) for name, values in found.items()}
