"""The record of the episode going on, and the picture of its last step, for environments that are looked at."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import jax
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import make_frame
from harvestgym.core.spaces import noop_action
from harvestgym.core.wrappers import unwrapped, unwrapped_action, unwrapped_state

MODES = ("rgb_array", "ansi", "svg")
"""The render modes of whatever offers a scene: pixels, text, SVG."""


@lru_cache
def family_of(kind: type) -> ModuleType | None:
    """The module with `record` and `scene` for environments of a class: `cls.family`, or the module of the class.

    None if neither has them.
    """
    for cls in kind.__mro__:
        own = sys.modules[cls.__module__]
        named = vars(cls).get("family")
        found = importlib.import_module(named) if named else own
        if hasattr(found, "scene") and hasattr(found, "record"):
            return found
    return None


def modes(env: Env[Any, Any]) -> tuple[str, ...]:
    """The render modes that a record gives for an environment."""
    return MODES if family_of(type(unwrapped(env))) is not None else ()


class EpisodeLog:
    """What was kept of an episode so far, one frame for each reset and step; it grows with the episode."""

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env
        family = family_of(type(unwrapped(env)))
        assert family is not None, "modes() offers nothing for an environment without a family"
        self._family = family
        self._frames: dict[str, np.ndarray] = {}
        self._length = 0
        self._params: Any = None

    @property
    def begun(self) -> bool:
        """Whether anything was kept."""
        return self._length > 0

    def clear(self) -> None:
        """Forget the episode."""
        self._length = 0

    def add(self, state: Any, action: Any, timestep: Any, params: Any) -> None:
        """Keep a step; the first one after `clear` is the start, whose action is of no account."""
        told = _frame(self._family.record, self._env, state, action, timestep, params)
        self.put(jax.device_get(told), params)

    def put(self, told: Mapping[str, Any], params: Any) -> None:
        """Keep what was told of a step, and the parameters in force."""
        for name, value in told.items():
            self._put(name, np.asarray(value))
        self._length += 1
        self._params = params

    def _put(self, name: str, value: np.ndarray) -> None:
        """Write a value into its buffer, which doubles where it is full."""
        rows = self._frames.get(name)
        if rows is None or rows.shape[1:] != value.shape:
            rows = np.zeros((64, *value.shape), value.dtype)
        if self._length == len(rows):
            rows = np.concatenate([rows, np.zeros_like(rows)])
        rows[self._length] = value
        self._frames[name] = rows

    def start(self, lane: Any, params: Any) -> None:
        """Keep the state of a lane as a start, where none was kept: one that was put there by hand."""
        if self.begun:
            return
        inside: Any = unwrapped(self._env)
        state = unwrapped_state(self._env, lane.state)
        obs = inside.observation(lane.key, state, None, params)
        ends = inside.terminal(state, params), inside.truncation(state, params)
        timestep = Timestep(obs, np.float32(0.0), *ends, inside.info(state, params))  # pyright: ignore[reportArgumentType]
        self.add(lane.state, None, timestep, params)

    @property
    def record(self) -> dict[str, np.ndarray]:
        """Named arrays with a leading time axis, as `evaluate.record.record_episode` gives them."""
        return {name: rows[: self._length] for name, rows in self._frames.items()}

    def picture(self, mode: str) -> Any:
        """The last step in one of the `MODES`."""
        scene = self._family.scene(_with(unwrapped(self._env), self._params), self.record, self._length - 1)
        return _renderer(mode)(scene)


class BatchEpisodeLog:
    """A `EpisodeLog` for each environment of a batch: each has the record of its own episode."""

    def __init__(self, env: Env[Any, Any], number: int) -> None:
        self._env = env
        self._lives = [EpisodeLog(env) for _ in range(number)]

    def clear(self, which: np.ndarray) -> None:
        """Forget the episodes of those in `which`, bool (number,)."""
        for i in np.flatnonzero(which):
            self._lives[i].clear()

    def start(self, lanes: Any, params: Any) -> None:
        """Keep the states of lanes as starts, where none was kept: those that were put there by hand."""
        for i, live in enumerate(self._lives):
            if not live.begun:
                live.start(jax.tree.map(lambda leaf: leaf[i], lanes), params)  # noqa: B023

    def begin(self, which: np.ndarray, state: Any, first: Any, params: Any) -> None:
        """Keep a start for those in `which`; all arguments are those of the whole batch."""
        self.clear(which)
        self.add(which, state, None, first, params)

    def add(self, which: np.ndarray, state: Any, action: Any, timestep: Any, params: Any) -> None:
        """Keep a step for those in `which`; all arguments are those of the whole batch."""
        told = jax.device_get(_frames(self._env, state, action, timestep, params))
        for i in np.flatnonzero(which):
            self._lives[i].put({name: value[i] for name, value in told.items()}, params)

    def pictures(self, mode: str) -> tuple[Any, ...]:
        """The last step of each in one of the `MODES`."""
        return tuple(live.picture(mode) for live in self._lives)


def _with(env: Any, params: Any) -> Any:
    """The environment with the parameters in force as its own, where a picture may ask it for them."""
    return dataclasses.replace(env, defaults=params) if hasattr(env, "defaults") and params is not env.params else env


def _renderer(mode: str) -> Callable[[Any], Any]:
    from harvestgym.render import canvas, svg, text

    return {"rgb_array": canvas.to_rgb, "ansi": text.to_text, "svg": svg.to_svg}[mode]


@partial(jax.jit, static_argnums=(0, 1))
def _frame(keep: Any, env: Env[Any, Any], state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    inside: Any = unwrapped(env)
    done = noop_action(inside.action_space) if action is None else unwrapped_action(env, action)
    return make_frame(keep, inside, unwrapped_state(env, state), done, timestep, params)


@partial(jax.jit, static_argnums=0)
def _frames(env: Env[Any, Any], state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    family: Any = family_of(type(unwrapped(env)))

    def one(state: Any, action: Any, timestep: Any) -> dict[str, Any]:
        return _frame(family.record, env, state, action, timestep, params)

    return jax.vmap(one)(state, action, timestep)
