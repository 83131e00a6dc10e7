"""The inputs of foragers, for each direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Timestep

from .player import Memory, Player

REACH = (0.4, 0.8)
"""Weights of an object per step of distance, for near and far sums."""

LEARNING = 0.3
"""Share by which the estimated reward of a kind moves toward its last reward."""


@dataclass(frozen=True, eq=False)
class ForagerPlayer(Player):
    """A forager that sees, for each direction, how much of each kind lies there, and estimates the reward of each kind.

    Directions are the places: the same weights score each of the four steps. The estimate is a moving average of the
    rewards, except 0, after steps onto a kind.
    """

    @cached_property
    def kinds(self) -> int:
        """The number of kinds, including the outside if it is shown."""
        return int(self.env.observation_space.shape[-1])  # pyright: ignore[reportOptionalSubscript]

    @property
    def labels(self) -> int:
        return 1

    @property
    def places(self) -> int:
        return 4

    @property
    def must_choose(self) -> bool:
        return True

    def begin(self) -> tuple[Any, Any]:
        return jnp.zeros(0), (jnp.zeros(self.kinds), jnp.int32(0), jnp.zeros(4, jnp.int32), jnp.int32(-1))

    @cached_property
    def _fields(self) -> np.ndarray:
        """Weights of the cells for each direction and reach, (4, reaches, rows, columns)."""
        rows, columns, _ = self.env.observation_space.shape  # pyright: ignore[reportGeneralTypeIssues]
        y, x = np.mgrid[:rows, :columns]
        across, down = x - columns // 2, rows // 2 - y
        distance = np.abs(across) + np.abs(down)
        fields = []
        for dx, dy in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            toward = across * dx + down * dy
            ahead = (toward > 0) & (toward >= np.maximum(np.abs(across), np.abs(down)))
            one = (across == dx) & (down == dy)
            fields.append([one, *(ahead * reach**distance for reach in REACH)])
        return np.asarray(fields, np.float32)

    def look(self, memory: Memory, obs: Any) -> tuple[Any, Any, jax.Array]:
        worth, _, _, last = memory.own
        shown = jnp.asarray(obs, jnp.float32) / (1.0 if obs.dtype == bool else 255.0)
        amounts = jnp.einsum("drij,ijk->drk", self._fields, shown)
        next_cells = jnp.where(amounts[:, 0].any(-1), amounts[:, 0].argmax(-1) + 1, 0).astype(jnp.int32)
        value = amounts @ worth
        straight = (jnp.arange(4) == last).astype(jnp.float32)
        back = (jnp.arange(4) == (last + 2) % 4).astype(jnp.float32) * (last >= 0)
        rows = jnp.concatenate([amounts.reshape(4, -1), value, straight[:, None], back[:, None]], 1)
        return memory.seen, (worth, jnp.int32(0), next_cells, last), rows

    def decide(self, memory: Memory, output: jax.Array, key: jax.Array) -> tuple[Memory, Any]:
        score = output[:, 0] + 1e-3 * jax.random.uniform(key, (4,))
        action = jnp.argmax(score).astype(jnp.int32)
        worth, _, cells, _ = memory.own
        after = self.note(memory, (jnp.arange(4) == action)[:, None])
        return after._replace(own=(worth, cells[action], cells, action)), action

    def mark(self, action: Any) -> jax.Array:
        return (jnp.arange(4) == action)[:, None].astype(jnp.float32)

    def learn(self, memory: Memory, last: Timestep) -> Memory:
        worth, ahead, cells, action = memory.own
        met = (jnp.arange(self.kinds) == ahead - 1) & (last.reward != 0)
        return memory._replace(
            own=(jnp.where(met, worth + LEARNING * (last.reward - worth), worth), ahead, cells, action)
        )
