"""A wrapper that sums observation costs over an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from harvestgym.core.env import Timestep
from harvestgym.core.wrappers import Wrapper

OBSERVATION_COST = "observation cost"
"""The info entry with the costs of a step, and the leaderboard column with the costs of an episode."""

TOTAL_COST = f"total/{OBSERVATION_COST}"
"""The info entry with the costs of the episode so far."""


class CostLogState(NamedTuple):
    """The state of the wrapped environment, and the observation costs since the reset."""

    inner: Any
    paid: jax.Array


@dataclass(frozen=True)
class CostLog(Wrapper[Any]):
    """Adds the observation costs of the episode so far to the info, as `TOTAL_COST`."""

    def opened(self, state: Any, first: Timestep) -> tuple[CostLogState, Timestep]:
        return self._with_total(CostLogState(state, jnp.float32(0.0)), first)

    def step(
        self, key: jax.Array, state: CostLogState, action: Any, params: Any = None
    ) -> tuple[CostLogState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        return self._with_total(CostLogState(inner, state.paid + timestep.info[OBSERVATION_COST]), timestep)

    def _with_total(self, state: CostLogState, timestep: Timestep) -> tuple[CostLogState, Timestep]:
        return state, timestep._replace(info=timestep.info | {TOTAL_COST: state.paid})
