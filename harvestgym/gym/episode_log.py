"""Records of the running episode for the render modes: one frame of named arrays per step."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import gymnasium
import jax
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import make_frame
from harvestgym.core.spaces import noop_action
from harvestgym.core.wrappers import unwrapped, unwrapped_action, unwrapped_state
from harvestgym.render.modes import RENDER_MODES, render_scene

FIRST_ROWS = 64


class FrameBuffer:
    """Growing buffers of named arrays, one row per frame; `keep_last` limits memory to the last frames."""

    def __init__(self, keep_last: int | None = None) -> None:
        self._keep_last = keep_last
        self._rows: dict[str, np.ndarray] = {}
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def clear(self) -> None:
        """Remove all frames."""
        self._length = 0

    def append(self, frame: Mapping[str, Any]) -> None:
        """Add a frame; each name keeps its shape and dtype."""
        if self._keep_last is not None and self._length == 2 * self._keep_last:
            self._rows = {name: np.roll(rows, self._keep_last, 0) for name, rows in self._rows.items()}
            self._length = self._keep_last
        for name, value in frame.items():
            self._put(name, np.asarray(value))
        self._length += 1

    def _put(self, name: str, value: np.ndarray) -> None:
        """Write a value into its buffer, whose size doubles when it is full."""
        rows = self._rows.get(name)
        if rows is None or rows.shape[1:] != value.shape:
            rows = np.zeros((FIRST_ROWS, *value.shape), value.dtype)
        if self._length == len(rows):
            rows = np.concatenate([rows, np.zeros_like(rows)])[: 2 * self._keep_last if self._keep_last else None]
        rows[self._length] = value
        self._rows[name] = rows

    @property
    def record(self) -> dict[str, np.ndarray]:
        """Named arrays with a leading time axis."""
        start = max(0, self._length - self._keep_last) if self._keep_last else 0
        return {name: rows[start : self._length] for name, rows in self._rows.items()}


@lru_cache
def family_of(kind: type) -> ModuleType | None:
    """Find the module with `record` and `scene` for environments of a class; None if there is none.

    `cls.family` names it; otherwise it is the module of the class.
    """
    for cls in kind.__mro__:
        name = vars(cls).get("family")
        module = importlib.import_module(name) if name else sys.modules[cls.__module__]
        if hasattr(module, "scene") and hasattr(module, "record"):
            return module
    return None


def scene_modes(env: Env[Any, Any]) -> tuple[str, ...]:
    """Return the render modes that draw an episode log of an environment."""
    return RENDER_MODES if family_of(type(unwrapped(env))) is not None else ()


class EpisodeLog:
    """The frames of an episode so far, one for each reset and step, and the picture of the last one."""

    def __init__(self, env: Env[Any, Any]) -> None:
        self._env = env
        self._frames = FrameBuffer()
        self._params: Any = None

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def _family(self) -> Any:
        return family_of(type(unwrapped(self._env)))

    @property
    def record(self) -> dict[str, np.ndarray]:
        """Named arrays with a leading time axis, like the result of `evaluate.record.record_episode`."""
        return self._frames.record

    def clear(self) -> None:
        """Remove the episode."""
        self._frames.clear()

    def add(self, state: Any, action: Any, timestep: Any, params: Any) -> None:
        """Add a step; the first one after `clear` is the start, whose action is ignored."""
        self.append(
            jax.device_get(_make_frame(self._family.record, self._env, state, action, timestep, params)), params
        )

    def append(self, frame: Mapping[str, Any], params: Any) -> None:
        """Add the frame of a step and the current parameters."""
        self._frames.append(frame)
        self._params = params

    def ensure_start(self, run: Any, params: Any) -> None:
        """Add a `RunState` as start if there is no frame, because a user assigned one."""
        if len(self):
            return
        inside: Any = unwrapped(self._env)
        state = unwrapped_state(self._env, run.state)
        obs = inside.observation(run.key, state, None, params)
        ends = inside.terminal(state, params), inside.truncation(state, params)
        timestep = Timestep(obs, np.float32(0.0), *ends, inside.info(state, params))  # pyright: ignore[reportArgumentType]
        self.add(run.state, None, timestep, params)

    def render(self, mode: str) -> Any:
        """Draw the last step in one of the `RENDER_MODES`."""
        env = _with_params(unwrapped(self._env), self._params)
        return render_scene(self._family.scene(env, self.record, len(self) - 1), mode)


class BatchEpisodeLog:
    """An `EpisodeLog` for each environment of a batch."""

    def __init__(self, env: Env[Any, Any], number: int) -> None:
        self._env = env
        self._logs = [EpisodeLog(env) for _ in range(number)]

    def clear(self, which: np.ndarray | None = None) -> None:
        """Remove the episodes of `which`, bool (number,); by default all."""
        for log, chosen in zip(self._logs, [True] * len(self._logs) if which is None else which, strict=True):
            if chosen:
                log.clear()

    def ensure_start(self, runs: Any, params: Any) -> None:
        """Add the rows of a batched `RunState` as starts of environments without a frame."""
        for i, log in enumerate(self._logs):
            if not len(log):
                log.ensure_start(jax.tree.map(lambda leaf: leaf[i], runs), params)  # noqa: B023

    def begin(self, which: np.ndarray, state: Any, first: Any, params: Any) -> None:
        """Begin episodes for `which`; the other arguments are for the whole batch."""
        self.clear(which)
        self.add(which, state, None, first, params)

    def add(self, which: np.ndarray, state: Any, action: Any, timestep: Any, params: Any) -> None:
        """Add a step for `which`; the other arguments are for the whole batch."""
        frames = jax.device_get(_make_frames(self._env, state, action, timestep, params))
        for i in np.flatnonzero(which):
            self._logs[i].append({name: value[i] for name, value in frames.items()}, params)

    def render(self, mode: str) -> tuple[Any, ...]:
        """Draw the last step of each environment in one of the `RENDER_MODES`."""
        return tuple(log.render(mode) for log in self._logs)


def _with_params(env: Any, params: Any) -> Any:
    """Return the environment with the current parameters as defaults, because a picture may read them."""
    return dataclasses.replace(env, defaults=params) if hasattr(env, "defaults") and params is not env.params else env


def _make_start_action(space: gymnasium.Space[Any]) -> Any:
    """Return the action for the frame of a start: the action that does nothing, or zeros."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: _make_start_action(inside) for name, inside in space.items()}
    if isinstance(space, gymnasium.spaces.Box):
        return np.zeros(space.shape, space.dtype)
    return noop_action(space)


@partial(jax.jit, static_argnums=(0, 1))
def _make_frame(keep: Any, env: Env[Any, Any], state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    inside: Any = unwrapped(env)
    done = _make_start_action(inside.action_space) if action is None else unwrapped_action(env, action)
    return make_frame(keep, inside, unwrapped_state(env, state), done, timestep, params)


@partial(jax.jit, static_argnums=0)
def _make_frames(env: Env[Any, Any], state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    family: Any = family_of(type(unwrapped(env)))

    def one(state: Any, action: Any, timestep: Any) -> dict[str, Any]:
        return _make_frame(family.record, env, state, action, timestep, params)

    return jax.vmap(one)(state, action, timestep)
