"""Records of the current episode for the render modes: one frame of named arrays per step."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, cast

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector.utils import create_empty_array

from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env, Timestep
from harvestgym.core.episode import make_frame
from harvestgym.core.wrappers import unwrapped, unwrapped_action, unwrapped_state
from harvestgym.render import DEFAULT_WIDTH, render_scene

FIRST_ROWS = 64


class FrameBuffer:
    """Growing buffers for named arrays, one row per frame; only the `keep_last` latest frames are kept."""

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
    """Find the module with `record` and `scene` for an environment class; None if there is none.

    The class attribute `family` names the module; by default, it is the module of the class.
    """
    for cls in kind.__mro__:
        name = vars(cls).get("family")
        module = importlib.import_module(name) if name else sys.modules[cls.__module__]
        if hasattr(module, "scene") and hasattr(module, "record"):
            return module
    return None


class EpisodeLog:
    """The frames of an episode so far, one for each reset and step, and the picture of the last frame.

    With `number`, it logs a batch of that many environments; `which`, bool (number,), then selects some of them.
    """

    def __init__(self, env: Env[Any, Any], number: int | None = None) -> None:
        self._env, self._in_batch = env, number is not None
        self._frames = [FrameBuffer() for _ in range(number or 1)]
        self._params: Any = None

    @property
    def record(self) -> dict[str, np.ndarray]:
        """Named arrays with a leading time axis, as `evaluate.record.record_episode` returns them."""
        return self._frames[0].record

    def add(self, state: Any, action: Any, timestep: Any, params: Any, which: np.ndarray | None = None) -> None:
        """Add a step of the environments in `which`, or the start of their episodes if there is no action."""
        made = jax.device_get(_make_frames(self._env, self._in_batch, state, action, timestep, params))
        for i in range(len(self._frames)) if which is None else np.flatnonzero(which):
            if action is None:
                self._frames[i].clear()
            self._frames[i].append({name: value[i] for name, value in made.items()} if self._in_batch else made)
        self._params = params

    def start_at(self, run: Any, params: Any) -> None:
        """Begin with an assigned `RunState` that no step has reached."""
        look = partial(_look, self._env, params)
        self.add(run.state, None, jax.vmap(look)(run) if self._in_batch else look(run), params)

    def render(self, mode: str, width: int = DEFAULT_WIDTH) -> Any:
        """Draw the last step in one of the `RENDER_MODES`; return a tuple for a batch."""
        env = unwrapped(self._env)
        shown, draw = _with_params(env, self._params), cast(Any, family_of(type(env))).scene
        drawn = tuple(render_scene(draw(shown, kept.record, len(kept) - 1), mode, width) for kept in self._frames)
        return drawn if self._in_batch else drawn[0]


def _look(env: Env[Any, Any], params: Any, run: RunState) -> Timestep:
    """Return the Timestep of a state that no step has reached."""
    inside, state = unwrapped(env), unwrapped_state(env, run.state)
    ends = inside.terminal(state, params), inside.truncation(state, params)
    obs = inside.observation(run.key, state, None, params)
    return Timestep(obs, jnp.float32(0.0), *ends, inside.info(state, params))


def _with_params(env: Any, params: Any) -> Any:
    """Return the environment with the current parameters as its defaults, because pictures may read them."""
    return dataclasses.replace(env, defaults=params) if hasattr(env, "defaults") and params is not env.params else env


def _make_start_action(space: gymnasium.Space[Any]) -> Any:
    """Return the action for a start frame: zero in every part, with the same types as in steps."""
    zeros = create_empty_array(space, n=1)
    return jax.tree.map(lambda leaf: leaf[0].astype(np.float32 if leaf.dtype.kind == "f" else np.int32), zeros)


@partial(jax.jit, static_argnums=(0, 1))
def _make_frames(env: Any, in_batch: bool, state: Any, action: Any, timestep: Any, params: Any) -> dict[str, Any]:
    inside: Any = unwrapped(env)
    keep = cast(Any, family_of(type(inside))).record

    def one(state: Any, action: Any, timestep: Any) -> dict[str, Any]:
        done = _make_start_action(inside.action_space) if action is None else unwrapped_action(env, action)
        return make_frame(keep, env, state, done, timestep, params)

    return (jax.vmap(one) if in_batch else one)(state, action, timestep)
