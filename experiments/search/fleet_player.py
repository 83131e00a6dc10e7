"""The inputs and targets of fisheries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .player import Memory, Player


@dataclass(frozen=True, eq=False)
class FleetPlayer(Player):
    """A fleet that sees the observation, its slow average and its own last action, and knows the year."""

    @property
    def labels(self) -> int:
        return 1

    @property
    def targets(self) -> int:
        space: Any = self.env.action_space
        return int(np.prod(space.shape))

    def begin(self) -> tuple[Any, Any]:
        size = int(np.prod(self.env.observation_space.shape or ()))
        return jnp.zeros(size), (jnp.zeros(size), jnp.zeros(self.targets))

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        level = jnp.ravel(obs) + 1
        average, last = memory.own
        average = jnp.where(memory.now == 0, level, 0.8 * average + 0.2 * level)
        return level, (average, last), jnp.concatenate([level, average, last])[None]

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        space: Any = self.env.action_space
        value = jnp.clip(output, 0.0, 2.0)
        after = self.note(memory._replace(own=(memory.own[0], value)), jnp.zeros((1, 1), bool))
        return after, (value - 1).astype(jnp.float32).reshape(space.shape)

    def mark(self, action: Any) -> jax.Array:
        return jnp.ravel(action) + 1.0
