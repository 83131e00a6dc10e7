"""The Gymnasium face of the host engine: one long life.

`gymnasium.make("forager/…")` gives a `ForagerGym` where numba is installed: the same life as on the JAX engine,
tens of times faster from Python.
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from harvestgym.core.errors import ConfigError, unknown
from harvestgym.forager.jax_engine.collisions import RATE
from harvestgym.forager.jax_engine.model import Forager

from .arrays import EVENTS, REFUSED, USED
from .biome_values import steady
from .env import ForagerEnv, host_twin
from .lane import LaneSeeds
from .recorder import NO_ACTION, Watching

Info = dict[str, Any]


_KEPT = ("_rate", "_steps", "_over", "_values")


class ForagerGym(gymnasium.Env[Any, int]):
    """A `ForagerEnv` as a `gymnasium.Env`: never terminated, truncated after `horizon` steps if there is one."""

    metadata = {"render_modes": ["rgb_array", "ansi", "svg"], "render_fps": 10}

    def __init__(self, env: ForagerEnv, horizon: int = 0, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise unknown("render_mode", render_mode, self.metadata["render_modes"])
        self.env, self.horizon, self.render_mode = env, horizon, render_mode
        self.observation_space = env.observation_space
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(4)
        self._rate, self._steps, self._over = 0.0, 0, True
        self._values: Any = None
        self._watching: Watching | None = None
        self._seeds = LaneSeeds()
        self._steady = steady(env.world)

    @classmethod
    def of(cls, model: Forager, render_mode: str | None = None) -> ForagerGym:
        """The face, on the host engine, of a functional forager."""
        return cls(host_twin(model), model.horizon, render_mode)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin a life; without a seed the next of this face: the same lives as `GymEnv` of the functional env."""
        if options:
            raise ConfigError(f"reset options: wanted none, found {sorted(options)}; parameters can be changed with "
                              "harvestgym.gym.env.GymEnv(harvestgym.make(id))")  # fmt: skip
        super().reset(seed=seed)
        if seed is None and not self._seeds.begun:
            seed = int(self.np_random.integers(2**32))
        words = self._seeds.again(self._steps) if seed is None else self._seeds.begin(seed)
        obs = self.env.start(seed=words)
        self._rate, self._steps, self._over = 0.0, 0, False
        self._values = self.env.biome_values
        self._watching = Watching(self.env, self.horizon) if self.render_mode else None
        return obs, self._seen(NO_ACTION, 0.0)

    def step(self, action: int) -> tuple[Any, float, bool, bool, Info]:
        """Go one step; ResetNeeded after the end."""
        if self._over:
            raise ResetNeeded("step: there is no life going on; call reset() first")
        obs, reward = self.env.step(action)
        self._rate += RATE * (reward - self._rate)
        self._steps += 1
        self._over = self._steps == self.horizon
        return obs, reward, False, self._over, self._seen(action, reward)

    def _seen(self, action: int, reward: float) -> Info:
        info = self._info()
        if self._watching is not None:
            self._watching.add(self.env, action, reward, info)
        return info

    def recipe(self) -> Info:
        """How it is made, for `core.checkpoint`."""
        return {"env": self.env, "horizon": self.horizon, "render_mode": self.render_mode}

    def kept(self) -> Info:
        """What changes, for `core.checkpoint`."""
        return {name: getattr(self, name) for name in _KEPT} | {"env": self.env.kept(), "key": self._seeds.key}

    def restore(self, kept: Info) -> ForagerGym:
        """This face, where the one that was kept stood."""
        self.env.restore(kept["env"])
        self._seeds.key = kept["key"]
        vars(self).update({name: kept[name] for name in _KEPT})
        if self.render_mode is not None and self._seeds.begun:
            self._watching = Watching(self.env, self.horizon)
            self._watching.add(self.env, NO_ACTION, 0.0, self._info())
        return self

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

    def render(self) -> Any:
        """What the agent sees, where it is and how it fared, in the `render_mode` chosen; None without one."""
        if self.render_mode is None:
            return None
        if self._watching is None:
            raise ResetNeeded("render: there is nothing to see yet; call reset() first")
        return self._watching.picture(self.render_mode)
