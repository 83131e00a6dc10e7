"""A forager world that also reports the current rewards: the observation of an informed oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.rewards import reward_context
from harvestgym.forager.jax_engine.state import ForagerParams, ForagerState
from harvestgym.forager.reward_laws import MAX_REWARD


@dataclass(frozen=True, repr=False)
class InformedForager(Forager):
    """The same world; an observation is a dict of `view`, as before, and `worth`, the current reward of each kind."""

    @classmethod
    def inform(cls, env: Forager) -> InformedForager:
        """Return the world of `env` with current rewards in its observations."""
        return cls(env.world, env.aperture, env.mode, env.horizon, env.hint)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        worth = gymnasium.spaces.Box(-MAX_REWARD, MAX_REWARD, (len(self.world.kinds),), np.float32)
        return gymnasium.spaces.Dict({"view": super().observation_space, "worth": worth})

    def observation(self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams) -> Any:
        """Return the view, and the expected reward of each kind where it grows."""
        return {"view": super().observation(key, state, action, params), "worth": self._find_worth(state, params)}

    def _find_worth(self, state: ForagerState, params: ForagerParams) -> jax.Array:
        now = []
        for i, kind in enumerate(self.world.kinds):
            homes = [r for r, region in enumerate(self.world.regions) if any(k == i for k, _ in region.layers)]
            generation = state.generation[homes[0] if homes else 0]
            now.append(jnp.float32(kind.reward(reward_context(state, i, generation))) * params.worth[i])
        return jnp.stack(now)
