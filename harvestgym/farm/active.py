"""The farm with active observation (AO-MDP, section 2): a day is two half-steps, look and then act.

In the first half-step the farmer chooses what to observe and pays for each entry seen; in the second an
intervention is chosen with that knowledge and the day passes. What was not observed is masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from ..core.tree import pytree, replace, var
from .model import FarmModel, FarmParams, FarmState
from .observe import Plan


@pytree
class ActiveState(FarmState):
    """The farm's state, and what the farmer has asked to see this morning."""

    acting: jax.Array = var("acting", "whether the next half-step is the intervention", dtype="bool", axes=())
    asked: jax.Array = var("asked", "which observations were made", dtype="bool", axes=("look",))
    paid: jax.Array = var("observation_cost", "what they cost", axes=())


@dataclass(frozen=True, eq=False)
class ActiveFarm(FarmModel):
    """A farm on which observations are asked for and paid.

    An action is `{"request": which looks of `offered` to make, "order": the intervention}`; the half-step
    that is due reads its own part. An observation is `{"values", "mask"}` over the free looks and then the
    offered ones; values that were not observed are 0 and their mask is 0.

    Attributes:
        offered: what can be asked for, look by look.
    """

    steps_per_day: ClassVar[int] = 2
    step_unit: ClassVar[str] = "half days"
    offered: Plan

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        free, paid = self.plan.space, self.offered.space
        low = np.minimum(np.concatenate([free.low, paid.low]), 0)
        high = np.maximum(np.concatenate([free.high, paid.high]), 0)
        values = gymnasium.spaces.Box(low, high, dtype=np.float32)
        mask = gymnasium.spaces.Box(0, 1, (len(low),), np.float32)
        return gymnasium.spaces.Dict({"values": values, "mask": mask})

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        request = gymnasium.spaces.MultiBinary(len(self.offered.looks))
        return gymnasium.spaces.Dict({"request": request, "order": super().action_space})

    @property
    def labels(self) -> list[str]:
        """The name of each entry of the observation."""
        return self.plan.labels + self.offered.labels

    def initial(self, key: jax.Array, params: FarmParams) -> ActiveState:
        return self._morning(super().initial(key, params))

    def _morning(self, state: FarmState) -> ActiveState:
        nothing = jnp.zeros(len(self.offered.looks), bool)
        base = {name: getattr(state, name) for name in FarmState.__dataclass_fields__}
        return ActiveState(**base, acting=jnp.asarray(False), asked=nothing, paid=jnp.float32(0.0))

    def transition(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> FarmState:
        assert isinstance(state, ActiveState)
        asked = self._allowed(jnp.asarray(action["request"]).astype(bool), params)
        looked = replace(
            state,
            acting=jnp.asarray(True),
            asked=asked,
            paid=self._price(asked, params),
            accepted=jnp.zeros_like(state.accepted),
            effective=jnp.zeros_like(state.effective),
            over=self.ended(state, params),
        )
        passed = self._morning(super().transition(key, state, action["order"], params))
        return jax.tree.map(lambda a, b: jnp.where(state.acting, a, b), passed, looked)

    def _allowed(self, request: jax.Array, params: FarmParams) -> jax.Array:
        """The requests that the first farmer has time for, in the order of the offer."""
        return request & (jnp.cumsum(request) <= params.farmers[0].max_daily_observations)

    def _price(self, asked: jax.Array, params: FarmParams) -> jax.Array:
        return jnp.sum(jnp.where(asked, params.score.look_costs(self.offered, self.variables), 0.0))

    def observation(self, key: jax.Array, state: FarmState, action: Any, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        sizes = np.asarray([look.size for look in self.offered.looks], int)
        seen = jnp.repeat(state.asked, sizes, total_repeat_length=self.offered.size)
        mask = jnp.concatenate([jnp.ones(self.plan.size, bool), seen])
        read = lambda variable: self.value(variable, state, params)  # noqa: E731
        values = jnp.concatenate([self.plan.see(read), self.offered.see(read)])
        return {"values": jnp.where(mask, values, 0.0), "mask": mask.astype(jnp.float32)}

    def gains(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        return {name: jnp.where(state.acting, 0.0, value) for name, value in super().gains(state, params).items()}

    def costs(self, state: FarmState, params: FarmParams) -> dict[str, jax.Array]:
        assert isinstance(state, ActiveState)
        intervention = jnp.where(state.acting, 0.0, super().costs(state, params)["intervention cost"])
        return {"intervention cost": intervention, "observation cost": jnp.where(state.over, 0.0, state.paid)}
