"""The Gymnasium face of the host engine: one long life.

`gymnasium.make("forager/…")` gives a `ForagerGym` where numba is installed: the same life as on the JAX engine,
tens of times faster from Python.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from ..core.errors import ConfigError, unknown
from .drift import Constant
from .env import ForagerEnv, host_twin
from .lane import LaneSeeds
from .life import EVENTS, REFUSED, USED
from .meeting import RATE
from .model import Forager

Info = dict[str, Any]


class ForagerGym(gymnasium.Env[Any, int]):
    """A `ForagerEnv` as a `gymnasium.Env`: never terminated, truncated after `horizon` steps if there is one."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, env: ForagerEnv, horizon: int = 0, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise unknown("render_mode", render_mode, self.metadata["render_modes"])
        self.env, self.horizon, self.render_mode = env, horizon, render_mode
        self.observation_space = env.observation_space
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(4)
        self._rate, self._steps, self._over = 0.0, 0, True
        self._seeds = LaneSeeds()
        self._steady = all(isinstance(kind.reward, Constant) for kind in env.world.kinds)

    @classmethod
    def of(cls, model: Forager, render_mode: str | None = None) -> ForagerGym:
        """The face, on the host engine, of a functional forager."""
        return cls(host_twin(model), model.horizon, render_mode)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin a life; without a seed the next of this face: the same lives as `GymEnv` of the functional env."""
        if options:
            raise ConfigError(f"reset options: wanted none, found {sorted(options)}; parameters can be changed with "
                              "harvestgym.adapters.gymnasium.GymEnv(harvestgym.make(id))")  # fmt: skip
        super().reset(seed=seed)
        if seed is None and not self._seeds.begun:
            seed = int(self.np_random.integers(2**32))
        words = self._seeds.again(self._steps) if seed is None else self._seeds.begin(seed)
        obs = self.env.start(seed=words)
        self._rate, self._steps, self._over = 0.0, 0, False
        self._values = self.env.biome_values
        return obs, self._info()

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        """Go one step; ResetNeeded after the end."""
        if self._over:
            raise ResetNeeded("step: there is no life going on; call reset() first")
        obs, reward = self.env.step(action)
        self._rate += RATE * (reward - self._rate)
        self._steps += 1
        self._over = self._steps == self.horizon
        return obs, reward, False, self._over, self._info()

    def _info(self) -> Info:
        """The names and numbers of the functional environment."""
        env = self.env
        values = self._values if self._steady else env.biome_values
        biome = env.biome if len(values) > 1 else 0
        head = env.head
        return {
            "reward_rate": self._rate,
            "collided": env.met,
            "collected": head.item(EVENTS),
            "biome": biome,
            "biome_value": values[biome],
            "biome_regret": max(values) - values[biome],
            "changed": head.item(USED),
            "refused": head.item(REFUSED),
        }

    def render(self) -> np.ndarray | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The view in colours, uint8 (rows * 16, columns * 16, 3), the agent dark in the centre."""
        return None if self.render_mode is None else self.env.picture(16)
