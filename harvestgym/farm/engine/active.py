"""The farm with active observation (AO-MDP, section 2): a day is two half-steps, observe and then act.

In the first half-step the farmer chooses what to observe and pays for each entry seen; in the second an
intervention is chosen with that knowledge and the day passes. What was not observed is masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import pytree, replace, var

from .farmers import WorkRequest, delegate
from .model import FarmModel
from .observations import ObservationPlan, Requests, RequestTable
from .state import FarmParams, FarmState

Inspection = tuple[tuple[Any, ...], jax.Array, jax.Array, jax.Array]
"""The memories of the farmers, their wages, which entries were seen, and the price."""


@pytree
class ActiveState(FarmState):
    """The farm's state, and the requests of this morning."""

    acting: jax.Array = var("acting", "whether the next half-step is the intervention", dtype="bool", axes=())
    asked: jax.Array = var("asked", "which entries of the offer were seen", dtype="bool", axes=("entry",))
    paid: jax.Array = var("observation_cost", "what they cost", axes=())


@dataclass(frozen=True, eq=False, repr=False)
class ActiveFarm(FarmModel):
    """A farm on which observations are asked for and paid.

    An action is `{"request": which items of `offered` to observe, "order": the intervention}`; the half-step
    that is due reads its own part. A request may also be `Requests`, a list in the paper's terms, as an order may be
    `Orders`; there is none where nothing is offered. An observation is `{"values", "mask"}` over the free items
    and then the offered ones; values that were not observed are 0 and their mask is 0.

    Attributes:
        offered: the items that can be requested.
    """

    steps_per_day: ClassVar[int] = 2
    step_unit: ClassVar[str] = "half days"
    action_mask: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]
    """None: an action has two parts; the interfaces "discrete", "multidiscrete" and "map" have masks."""
    offered: ObservationPlan

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        values = self.full_plan.space
        mask = gymnasium.spaces.Box(0, 1, values.shape, np.float32)
        return gymnasium.spaces.Dict({"values": values, "mask": mask})

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        parts: dict[str, gymnasium.Space[Any]] = {"order": super().action_space}
        if self.offered.items:
            parts["request"] = gymnasium.spaces.MultiBinary(len(self.offered.items))
        return gymnasium.spaces.Dict(parts)

    @cached_property
    def full_plan(self) -> ObservationPlan:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The free items and then the offered ones."""
        return ObservationPlan((*self.plan.items, *self.offered.items))

    @property
    def labels(self) -> list[str]:
        """The name of each entry of the observation."""
        return self.full_plan.labels

    def initial(self, key: jax.Array, params: FarmParams) -> ActiveState:
        return self._morning(super().initial(key, params))

    @cached_property
    def request_table(self) -> RequestTable:
        """Everything that can be requested, as observations of the Farm-Gym paper."""
        return RequestTable(self.variables, self.offered)

    def _morning(self, state: FarmState) -> ActiveState:
        nothing = jnp.zeros(self.offered.size, bool)
        base = {name: getattr(state, name) for name in FarmState.__dataclass_fields__}
        return ActiveState(**base, acting=jnp.asarray(False), asked=nothing, paid=jnp.float32(0.0))

    def transition(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> FarmState:
        assert isinstance(state, ActiveState)
        farmers, wages, asked, paid = self._observe(state, action.get("request", np.zeros(0)), params)
        looked = replace(
            state,
            farmers=farmers,
            acting=jnp.asarray(True),
            asked=state.asked | asked,
            paid=paid,
            wages=wages,
            accepted=jnp.zeros_like(state.accepted),
            effective=jnp.zeros_like(state.effective),
            over=self.ended(state, params),
        )
        passed = self._morning(super().transition(key, state, action["order"], params))
        return jax.tree.map(lambda a, b: jnp.where(state.acting, a, b), passed, looked)

    def answers(self, state: ActiveState, request: Any, params: FarmParams) -> jax.Array:
        """Return which entries of the offer a request in `state` would show, bool (entries,)."""
        return self._observe(state, request, params)[2]

    def can_answer(self, state: ActiveState, params: FarmParams) -> jax.Array:
        """Return which single items of the offer would show something new if requested in `state`, bool (items,)."""
        number = len(self.offered.items)
        owner = np.repeat(np.arange(number), np.asarray([item.size for item in self.offered.items], int))
        known = ~((owner == np.arange(number)[:, None]) & ~state.asked).any(1)
        shown = jax.vmap(lambda wanted: self.answers(state, wanted, params).any())(np.eye(number, dtype=bool))
        return shown & ~known

    def _observe(self, state: ActiveState, request: Any, params: FarmParams) -> Inspection:
        """Make the observations that the farmers have time for, in the order of the list or else of the offer."""
        if isinstance(request, Requests):
            return self._answer_requests(state, request, params)
        wanted = jnp.asarray(request).astype(bool)
        sizes = np.asarray([item.size for item in self.offered.items], np.int32)
        prices = params.score.observation_prices(self.offered, self.variables)
        minutes = jnp.zeros(len(sizes), jnp.float32)
        work = WorkRequest(wanted, minutes, prices, jnp.asarray(sizes, jnp.float32), state.day)
        result = params.farmers[0].look(state.farmers[0], work)
        done = result.done & wanted
        seen = done[np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)]
        paid = jnp.sum(jnp.where(done, prices, 0.0))
        return (result.memory, *state.farmers[1:]), result.wages, seen, paid

    def _answer_requests(self, state: ActiveState, requests: Requests, params: FarmParams) -> Inspection:
        covered, weight = self.request_table.covered(requests), jnp.asarray(self.request_table.weight)
        unit = jnp.asarray(params.score.observation_costs)[self.request_table.owner]
        prices, numbers = (jnp.sum(jnp.where(covered, each, 0.0), axis=1) for each in (unit * weight, weight))
        wanted = jnp.asarray(requests.group) > 0
        work = WorkRequest(wanted, jnp.zeros(wanted.shape, jnp.float32), prices, numbers, state.day)
        taken, memories, wages = delegate(
            params.farmers, state.farmers, requests.farmer, work, lambda each, *given: each.look(*given)
        )
        seen = jnp.any(covered & taken[:, None], axis=0)
        return memories, wages, seen, jnp.sum(jnp.where(taken, prices, 0.0))

    def observation(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        mask = jnp.concatenate([jnp.ones(self.plan.size, bool), state.asked])
        values = self.full_plan.see(lambda variable: self.value(variable, state, params))
        return {"values": jnp.where(mask, values, 0.0), "mask": mask.astype(jnp.float32)}

    def gains(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        return {name: jnp.where(state.acting, 0.0, value) for name, value in super().gains(state, params).items()}

    def costs(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        named = super().costs(state, params)
        intervention = jnp.where(state.acting, 0.0, named["intervention cost"])
        looked = jnp.where(state.over, 0.0, state.paid)
        return named | {"intervention cost": intervention, "observation cost": looked}
