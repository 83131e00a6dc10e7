"""Gymnasium faces of the host engine: one long life, or many at once on all cores.

`gymnasium.make("forager/…")` gives a `ForagerGym` where numba is installed: the same life as on the JAX engine,
tens of times faster from Python.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from ..core.errors import ConfigError, unknown
from . import host
from .drift import Constant
from .env import ForagerEnv, host_twin
from .hashing import seed_words
from .lane import LaneSeeds
from .life import CLOCK, EVENTS, REFUSED, USED, Life, new_life
from .meeting import RATE
from .model import Forager
from .observe import PICTURES, codes

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


def _batch(model: Forager, number: int) -> Life:
    """The arrays of `number` lives, those that never change once."""
    room = 16
    while room < model.capacity:
        room *= 2
    one = new_life(model.world, codes(model.world, model.mode), model.aperture, room=room)
    own = {name: np.repeat(getattr(one, name)[None], number, 0) for name in _OWN}
    return one._replace(**own)


_OWN = ("head", "regions", "agents", "slots", "lookup", "heap", "views")


class ForagerVec(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many lives of one world, each with its own seed, on the host engine.

    Rewards are constants here: what changes over time is for the functional env.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, model: Forager, num_envs: int, threads: int | None = None) -> None:
        _check_constant(model)
        self.model, self.num_envs = model, num_envs
        self.single_observation_space, self.single_action_space = model.observation_space, model.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(model.observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(model.action_space, num_envs)
        self._lives = _batch(model, num_envs)
        self._worth = np.array([*(k.constant or 0.0 for k in model.world.kinds), 0.0])
        self._hits = np.full(num_envs, -1)
        cores = threads or os.cpu_count() or 1
        self._bounds = np.linspace(0, num_envs, min(cores, num_envs) + 1).astype(int).tolist()
        self._pool = ThreadPoolExecutor(len(self._bounds) - 1)
        self._over = np.zeros(num_envs, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, Info]:
        """Begin all lives."""
        super().reset(seed=seed)
        for i in range(self.num_envs):
            self._begin(i)
        self._over[:] = False
        return self._type(self._lives.views[:, 0, 0].copy()), {}

    def _begin(self, i: int) -> None:
        one = self._lives._replace(**{name: getattr(self._lives, name)[i] for name in _OWN})
        words = seed_words(int(self.np_random.integers(0, 2**63)))
        host.begin(one, *words, *self.model.world.start)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One step of each life; a life that was truncated begins anew instead."""
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (self.num_envs,) or actions.min() < 0 or actions.max() > 3:
            raise ConfigError(f"actions: wanted {self.num_envs} whole numbers from 0 to 3, found {actions!r}")
        out = np.empty((self.num_envs, self._lives.views.shape[-1]), np.uint8)
        parts = list(zip(self._bounds, self._bounds[1:], strict=False))
        run = lambda part: host.step_many(self._lives, actions, out, self._hits, *part)  # noqa: E731
        list(self._pool.map(run, parts)) if len(parts) > 1 else run(parts[0])
        rewards = self._worth[self._hits]
        if self._over.any():
            self._restart(out, rewards)
        horizon = self.model.horizon
        self._over = self._lives.head[:, CLOCK] == horizon if horizon else np.zeros(self.num_envs, bool)
        never, info = np.zeros(self.num_envs, bool), {"collided": self._hits.copy()}
        return self._type(out), rewards, never, self._over.copy(), info

    def _restart(self, out: np.ndarray, rewards: np.ndarray) -> None:
        for i in np.flatnonzero(self._over):
            self._begin(int(i))
            out[i] = self._lives.views[i, 0, 0]
            rewards[i], self._hits[i] = 0.0, -1

    def _type(self, out: np.ndarray) -> np.ndarray:
        shaped = out.reshape(self.observation_space.shape)  # pyright: ignore
        return shaped if self.model.mode == "colors" else shaped.view(np.bool_)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._pool.shutdown()


def _check_constant(model: Forager) -> None:
    drifting = [k.name for k in model.world.kinds if k.constant is None]
    if drifting:
        raise ConfigError(f"{drifting[0]!r} changes over time; use harvestgym.make_vec, which runs the JAX engine")
    if model.mode not in PICTURES or model.hint[0]:
        raise ConfigError("many lives are shown as 'objects' or 'colors', without a hint; use harvestgym.make_vec")
