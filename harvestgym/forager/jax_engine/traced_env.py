"""The stateful forager on the JAX engine: what `ForagerEnv` is where numba is not installed.

The same lives as the host engine's, some tens of times slower from Python, and without objects of Python.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.checkpoint import from_arrays, to_arrays
from harvestgym.core.errors import ConfigError
from harvestgym.forager.config import ForagerConfig, world_of
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.numba_engine.checks import whole_action
from harvestgym.forager.observations import check_aperture
from harvestgym.forager.world import World, count_of

from .model import Forager, ForagerState

MOST_SLOTS = 4096


class TracedForagerEnv:
    """`start()`, then `step(action)` without end, as in the seed."""

    def __init__(self, config: ForagerConfig) -> None:
        self.config = config
        capacity = min(config.capacity, MOST_SLOTS)
        self.world: World = dataclasses.replace(world_of(config), capacity=capacity)
        if any(kind.python for kind in self.world.kinds):
            raise ConfigError("objects with methods of their own need the host engine; install harvestgym[fast]")
        self._words = seed_words(config.seed)
        self._state: ForagerState | None = None
        self._build()

    def generate_objects(self, freq: float, name: str) -> None:
        """Put floor(freq * cells) objects of a kind on free cells, never under the agent; before `start`."""
        if self._state is not None:
            raise ConfigError("generate_objects after start needs the host engine; install harvestgym[fast]")
        ground = self.world.regions[0]
        layer = self.world.index(name), count_of(freq, self.world.room(ground), ground.cells)
        layered = dataclasses.replace(ground, layers=(*ground.layers, layer))
        self.world = dataclasses.replace(self.world, regions=(layered, *self.world.regions[1:]))
        self._build()

    def _build(self) -> None:
        aperture = (1, 1) if self.config.observation_mode == "world" else self.config.aperture
        mode, hint = self.config.observation_mode, self.config.hint
        model = Forager(self.world, check_aperture(aperture, self.world), mode, hint=hint)
        params, key = model.params, jax.random.key(0)

        def begin(words: Any) -> Any:
            state = model.begin(words)
            return state, model.observation(key, state, None, params)

        def step(state: ForagerState, action: Any) -> Any:
            state, now = model.step(key, state, action, params)
            return state, now.obs, now.reward

        self._begin, self._step = jax.jit(begin), jax.jit(step)

    def start(self, seed: int | tuple[int, int] | None = None) -> np.ndarray:
        """Begin again in the same world, or with `seed` in another; what the agent sees first."""
        if seed is not None:
            self._words = seed_words(seed)
        self._state, obs = self._begin(np.array(self._words, np.uint32))
        return jax.tree.map(np.asarray, obs)

    def step(self, action: int) -> tuple[np.ndarray, float]:
        """Go north (0), east (1), south (2) or west (3): what is seen then, and the reward."""
        if self._state is None:
            raise RuntimeError("step before start: call obs = env.start() first")
        self._state, obs, reward = self._step(self._state, whole_action(action))
        return jax.tree.map(np.asarray, obs), float(reward)

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in vars(self).items() if k not in ("_begin", "_step")}
        return kept | {"_state": jax.tree.map(np.asarray, self._state)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._build()

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        return {"config": self.config, "world": self.world}

    @classmethod
    def from_recipe(cls, config: ForagerConfig, world: World) -> TracedForagerEnv:
        """The life, not begun, of what `recipe` told."""
        env = cls(config)
        env.world = world
        env._build()
        return env

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        return {"words": self._words, "state": None if self._state is None else to_arrays(self._state)}

    def restore(self, kept: dict[str, Any]) -> TracedForagerEnv:
        """This life, where the one that was kept stood."""
        if kept["state"] is not None:
            like = jax.eval_shape(self._begin, np.array(self._words, np.uint32))[0]
            self._state = from_arrays(kept["state"], like, "state")
        self._words = kept["words"]
        return self

    def copy(self) -> TracedForagerEnv:
        """A twin in mid-life, sharing nothing that changes."""
        return copy.deepcopy(self)

    def save(self, path: str | Path) -> None:
        """Write this life to a file."""
        Path(path).write_bytes(pickle.dumps(self, protocol=5))

    @classmethod
    def load(cls, path: str | Path) -> TracedForagerEnv:
        """A life from a file that `save` wrote. It is a pickle: open only files that you trust."""
        env = pickle.loads(Path(path).read_bytes())
        if not isinstance(env, cls):
            raise ConfigError(f"{path}: wanted a saved {cls.__name__}, found {type(env).__name__}")
        return env
