"""Many lives at once on the host engine and all cores, as a Gymnasium vector environment."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from harvestgym.core.errors import ConfigError
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.jax_engine.collisions import RATE
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import codes
from harvestgym.forager.reward_context import HostMoment
from harvestgym.forager.senses import hinted, sensed
from harvestgym.forager.world import EMPTY

from . import step
from .arrays import AGENT_X, AGENT_Y, CLOCK, EVENTS, GENERATION, HIT_CELL, KEY_0, KEY_1, REFUSED, USED, Life, new_life
from .biome_values import Biomes
from .rewards import Purses

Info = dict[str, Any]


def _batch(model: Forager, number: int) -> Life:
    """The arrays of `number` lives, those that never change once."""
    room = 16
    while room < model.capacity:
        room *= 2
    one = new_life(model.world, codes(model.world, model.mode), model.aperture, room=room)
    own = {name: np.repeat(getattr(one, name)[None], number, 0) for name in _OWN}
    return one._replace(**own)


_OWN = ("head", "regions", "agents", "slots", "lookup", "taken", "heap", "views")


class ForagerVec(VectorEnv[Any, np.ndarray, np.ndarray]):
    """Many lives of one world, each with its own seed, on the host engine.

    Rewards that are constants cost nothing; every other is a call of its law in Python at each collision.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, model: Forager, num_envs: int, threads: int | None = None) -> None:
        if model.mode == "world":
            raise ConfigError("many lives are shown as 'objects', 'colors', 'compass' or 'scalar'; for 'world' use "
                              "harvestgym.make_vec")  # fmt: skip
        self.model, self.num_envs = model, num_envs
        self.single_observation_space, self.single_action_space = model.observation_space, model.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(model.observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(model.action_space, num_envs)
        self._purses = Purses(model.world, num_envs)
        self._worths = Biomes(model.world)
        self._lives = _batch(model, num_envs)
        self._hits = np.full(num_envs, EMPTY)
        self._rate = np.zeros(num_envs)
        cores = threads or os.cpu_count() or 1
        self._bounds = np.linspace(0, num_envs, min(cores, num_envs) + 1).astype(int).tolist()
        self._pool = ThreadPoolExecutor(len(self._bounds) - 1)
        self._over = np.zeros(num_envs, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin all lives."""
        super().reset(seed=seed)
        self._begin(np.arange(self.num_envs))
        self._over[:] = False
        return self._shown(self._lives.views[:, 0, 0].copy()), self._info()

    def _begin(self, lanes: np.ndarray) -> None:
        for i in lanes.tolist():
            one = self._lives._replace(**{name: getattr(self._lives, name)[i] for name in _OWN})
            words = seed_words(int(self.np_random.integers(0, 2**63)))
            step.begin(one, *words, *self.model.world.start)
        self._purses.empty(lanes)
        self._hits[lanes], self._rate[lanes] = EMPTY, 0.0

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """One step of each life; a life that was truncated begins anew instead."""
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (self.num_envs,) or actions.min() < 0 or actions.max() > 3:
            raise ConfigError(f"actions: wanted {self.num_envs} whole numbers from 0 to 3, found {actions!r}")
        out = np.empty((self.num_envs, self._lives.views.shape[-1]), np.uint8)
        parts = list(zip(self._bounds, self._bounds[1:], strict=False))
        run = lambda part: step.step_many(self._lives, actions, out, self._hits, *part)  # noqa: E731
        list(self._pool.map(run, parts)) if len(parts) > 1 else run(parts[0])
        self._hits[self._over] = EMPTY
        rewards = self._purses.pay(self._hits, self._clocks - 1, self._moment)
        self._rate += RATE * (rewards - self._rate)
        if self._over.any():
            self._restart(out, rewards)
        horizon = self.model.horizon
        self._over = self._clocks == horizon if horizon else np.zeros(self.num_envs, bool)
        return self._shown(out), rewards, np.zeros(self.num_envs, bool), self._over.copy(), self._info()

    def _restart(self, out: np.ndarray, rewards: np.ndarray) -> None:
        lanes = np.flatnonzero(self._over)
        self._begin(lanes)
        out[lanes] = self._lives.views[lanes, 0, 0]
        rewards[lanes] = 0.0

    def _moment(self, i: int, kind: int) -> HostMoment:
        """The moment of the last collision of a life."""
        head = self._lives.head[i]
        cell, width = int(head[HIT_CELL]), self.model.world.width
        region = self.model.world.region_at(np.array(cell % width), np.array(cell // width))
        generation = int(self._lives.regions[i, region, GENERATION])
        return HostMoment(int(head[CLOCK]) - 1, (int(head[KEY_0]), int(head[KEY_1])), kind, generation)

    @property
    def _biomes(self) -> np.ndarray:
        x, y = self._lives.agents[:, 0, AGENT_X], self._lives.agents[:, 0, AGENT_Y]
        return self.model.world.region_at(x, y)

    def _shown(self, out: np.ndarray) -> Any:
        """The observations that the kept views stand for."""
        model = self.model
        seen = out.reshape(self.num_envs, *model.aperture, -1)
        if model.mode != "colors":
            seen = sensed(model.mode, seen.view(np.bool_), np)
        return hinted(model.world, model.hint, seen, self._clocks, self._biomes) if model.hint[0] else seen

    @property
    def _clocks(self) -> np.ndarray:
        return self._lives.head[:, CLOCK]

    def _info(self) -> Info:
        """The names and numbers of the functional environment, an array of each."""
        head, biome = self._lives.head, self._biomes
        return {
            "reward_rate": self._rate.copy(),
            "collided": self._hits.copy(),
            "collected": head[:, EVENTS].copy(),
            "biome": biome,
            **self._worths.told(self._lives, biome),
            "changed": head[:, USED].copy(),
            "refused": head[:, REFUSED].copy(),
        }

    def recipe(self) -> Info:
        """How it is made, for `core.checkpoint`."""
        return {"model": self.model, "num_envs": self.num_envs}

    def kept(self) -> Info:
        """What changes, for `core.checkpoint`."""
        return {name: array.copy() for name, array in self._arrays.items()}

    def restore(self, kept: Info) -> ForagerVec:
        """These lives, where those that were kept stood; ConfigError, and nothing is changed, if they are others."""
        for name, mine in self._arrays.items():
            if kept[name].shape != mine.shape:
                raise ConfigError(f"{name}: wanted shape {mine.shape}, found {kept[name].shape}")
        for name, mine in self._arrays.items():
            mine[:] = kept[name]
        return self

    @property
    def _arrays(self) -> dict[str, np.ndarray]:
        """All that changes, by name."""
        own = {name: getattr(self._lives, name) for name in _OWN}
        return own | {"hits": self._hits, "rate": self._rate, "over": self._over, "owed": self._purses.owed}

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._pool.shutdown()
