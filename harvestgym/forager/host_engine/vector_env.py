"""Many episodes at once on the host engine and all cores, as a Gymnasium vector environment."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Annotated, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import step
from harvestgym.forager.host_engine.arrays import CHANGING, EpisodeArrays, new_arrays
from harvestgym.forager.host_engine.rewards import BatchRegionValues, CollisionRewards
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES, add_hint, check_view_mode
from harvestgym.forager.reward_context import HostContext
from harvestgym.forager.reward_payment import RATE
from harvestgym.forager.world import EMPTY
from harvestgym.gym.base import Info


def _new_batch(model: Forager, number: int) -> EpisodeArrays:
    """Return the arrays of `number` episodes; those that never change are shared."""
    room = 16
    while room < model.capacity:
        room *= 2
    one = new_arrays(model.world, MODES[model.mode].table(model.world), model.aperture, room=room)
    return one._replace(**{name: np.repeat(getattr(one, name)[None], number, 0) for name in CHANGING})


_Count = Annotated[int, Field(ge=1, le=2**20)]


class ForagerVec(VectorEnv[Any, np.ndarray, np.ndarray]):
    """Many episodes of one world, each with its own seed, on the host engine.

    Rewards that are constants cost nothing; every other is a call of its law in Python at each collision.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    _pool: ThreadPoolExecutor | None = None

    @check_arguments
    def __init__(self, model: Forager, num_envs: _Count, threads: _Count | None = None) -> None:
        check_view_mode(model.mode, "ForagerVec")
        self.model, self.num_envs = model, num_envs
        self.single_observation_space, self.single_action_space = model.observation_space, model.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(model.observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(model.action_space, num_envs)
        self._rewards = CollisionRewards(model.world, num_envs)
        self._values = BatchRegionValues(model.world)
        self._batch = _new_batch(model, num_envs)
        self._mode = MODES[model.mode]
        self._dtype = self._mode.table(model.world).dtype
        self._hits = np.full(num_envs, EMPTY)
        self._rate = np.zeros(num_envs)
        cores = threads or os.cpu_count() or 1
        self._bounds = np.linspace(0, num_envs, min(cores, num_envs) + 1).astype(int).tolist()
        self._pool = ThreadPoolExecutor(len(self._bounds) - 1)
        self._over = np.zeros(num_envs, bool)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: num_envs={self.num_envs}, {self.model!r}>"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin all episodes."""
        super().reset(seed=seed)
        self._begin(np.arange(self.num_envs))
        self._over[:] = False
        return self._observe(self._batch.views[:, 0, 0].copy()), self._info()

    def _begin(self, envs: np.ndarray) -> None:
        for i in envs.tolist():
            one = self._batch._replace(**{name: getattr(self._batch, name)[i] for name in CHANGING})
            words = seed_words(int(self.np_random.integers(0, 2**63)))
            step.begin(one, *words, *self.model.world.start)
        self._rewards.delayed.clear(envs)
        self._hits[envs], self._rate[envs] = EMPTY, 0.0

    def step(self, actions: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Return one step of each episode; an episode that was truncated begins again instead."""
        actions = np.ascontiguousarray(actions, np.int64)
        if actions.shape != (self.num_envs,) or actions.min() < 0 or actions.max() > 3:
            raise ConfigError(f"actions: expected {self.num_envs} whole numbers from 0 to 3, got {actions!r}")
        out = np.empty((self.num_envs, self._batch.views.shape[-1]), np.uint8)
        parts = list(zip(self._bounds, self._bounds[1:], strict=False))
        run = lambda part: step.step_many(self._batch, actions, out, self._hits, *part)  # noqa: E731
        each = self._pool.map if self._pool is not None and len(parts) > 1 else map
        list(each(run, parts))
        self._hits[self._over] = EMPTY
        rewards = self._rewards.pay(self._hits, self._clocks - 1, self._context)
        self._rate += RATE * (rewards - self._rate)
        if self._over.any():
            self._restart(out, rewards)
        horizon = self.model.horizon
        self._over = self._clocks == horizon if horizon else np.zeros(self.num_envs, bool)
        return self._observe(out), rewards, np.zeros(self.num_envs, bool), self._over.copy(), self._info()

    def _restart(self, out: np.ndarray, rewards: np.ndarray) -> None:
        envs = np.flatnonzero(self._over)
        self._begin(envs)
        out[envs] = self._batch.views[envs, 0, 0]
        rewards[envs] = 0.0

    def _context(self, i: int, kind: int) -> HostContext:
        """Return the context of the last collision of an episode."""
        head, world = self._batch.head[i], self.model.world
        cell = int(head[col.HIT_CELL])
        region = world.region_at(np.array(cell % world.width), np.array(cell // world.width))
        generation = int(self._batch.regions[i, region, col.GENERATION])
        return HostContext(int(head[col.CLOCK]) - 1, (int(head[col.KEY_0]), int(head[col.KEY_1])), kind, generation)

    @property
    def _biomes(self) -> np.ndarray:
        agents = self._batch.agents[:, 0]
        return self.model.world.region_at(agents[:, col.AGENT_X], agents[:, col.AGENT_Y])

    def _observe(self, encoded: np.ndarray) -> Any:
        """Return the observations of encoded views."""
        model, hint = self.model, self.model.hint
        cells = encoded.reshape(self.num_envs, *model.aperture, -1).view(self._dtype)
        seen = self._mode.observe(cells, np)
        return add_hint(model.world, hint, seen, self._clocks % hint[1], self._biomes) if hint[0] else seen

    @property
    def _clocks(self) -> np.ndarray:
        return self._batch.head[:, col.CLOCK]

    def _info(self) -> Info:
        """Return the names of the functional environment, an array for each."""
        head, biome = self._batch.head, self._biomes
        return {
            "reward_rate": self._rate.copy(),
            "collided": self._hits.copy(),
            "collected": head[:, col.EVENTS].copy(),
            "biome": biome,
            **self._values.report(self._batch, biome),
            "changed": head[:, col.USED].copy(),
            "refused": head[:, col.REFUSED].copy(),
        }

    def recipe(self) -> Info:
        """Return how it is made, for `core.saving.checkpoint`."""
        return {"model": self.model, "num_envs": self.num_envs}

    def kept(self) -> Info:
        """Return the mutable state for `core.saving.checkpoint`."""
        return {name: array.copy() for name, array in self._arrays.items()}

    def restore(self, kept: Info) -> ForagerVec:
        """Continue the saved episodes; ConfigError, and nothing is changed, if they are of another batch."""
        for name, mine in self._arrays.items():
            if kept[name].shape != mine.shape:
                raise ConfigError(f"{name}: expected shape {mine.shape}, got {kept[name].shape}")
        for name, mine in self._arrays.items():
            mine[:] = kept[name]
        return self

    @property
    def _arrays(self) -> dict[str, np.ndarray]:
        """All that changes, by name."""
        own = {name: getattr(self._batch, name) for name in CHANGING}
        return own | {"hits": self._hits, "rate": self._rate, "over": self._over, "owed": self._rewards.delayed.owed}

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy and a pickle keep: everything but the threads."""
        return {name: value for name, value in self.__dict__.items() if name != "_pool"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._pool = ThreadPoolExecutor(len(self._bounds) - 1)

    def __copy__(self) -> ForagerVec:
        return deepcopy(self)
