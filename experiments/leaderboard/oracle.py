"""The oracle of a foraging world: a navigator that observes the current reward of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.forager.family import make_rule_families, policies
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.rewards import reward_context
from harvestgym.forager.jax_engine.state import ForagerParams, ForagerState
from harvestgym.forager.policies.navigator import navigator
from harvestgym.forager.reward_laws import MAX_REWARD


@dataclass(frozen=True, repr=False)
class InformedForager(Forager):
    """A world whose observation is a dict of `view` (the original) and `worth` (the current reward of each kind)."""

    @classmethod
    def inform(cls, env: Forager) -> InformedForager:
        """Return the world of `env` with current rewards in its observations."""
        return cls(env.world, env.aperture, env.mode, env.horizon, env.hint)

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        worth = gymnasium.spaces.Box(-MAX_REWARD, MAX_REWARD, (len(self.world.kinds),), np.float32)
        return gymnasium.spaces.Dict({"view": super().observation_space, "worth": worth})

    def observation(self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams) -> Any:
        """Return the view, and the expected reward of each kind in its region."""
        return {"view": super().observation(key, state, action, params), "worth": self._find_worth(state, params)}

    def _find_worth(self, state: ForagerState, params: ForagerParams) -> jax.Array:
        now = []
        for i, kind in enumerate(self.world.kinds):
            homes = [r for r, region in enumerate(self.world.regions) if any(k == i for k, _ in region.layers)]
            generation = state.generation[homes[0] if homes else 0]
            now.append(jnp.float32(kind.reward(reward_context(state, i, generation))) * params.worth[i])
        return jnp.stack(now)


def make_oracle(env: Any) -> tuple[Forager, Policy] | None:
    """Return a forager with current rewards in its observations, and its navigator, with the expert's numbers.

    Return None for other environments, and for a world that no navigator can read or that has no random series, because
    the expert then knows the current rewards too.
    """
    rules = make_rule_families(env) if isinstance(env, Forager) and policies(env) else {}
    if not any("unknown" in rule.numbers for rule in rules.values()):
        return None
    informed = InformedForager.inform(env)
    numbers = dict[str, Any](env.expert.numbers if env.expert is not None else {})
    return informed, navigator(informed, **numbers)
