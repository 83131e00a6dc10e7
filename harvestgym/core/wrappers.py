"""Functional wrappers: each wraps an environment and is itself an environment, with a typed state.

A wrapper is hashable and works under `vmap` and `scan`. It defines `reset` and `step` itself; the functions from which
`core.env` composes them belong to the wrapped environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field

from .checks import check_fields
from .env import Env, Params, Timestep, check_core


@dataclass(frozen=True)
class Wrapper(Env[Any, Params], Generic[Params]):
    """An environment that wraps `env`; subclasses override some methods, and the rest are passed through."""

    env: Env[Any, Params]

    def __post_init__(self) -> None:
        check_core(self.env, type(self).__name__)
        check_fields(self)

    @property
    def summary(self) -> str:
        return self.env.summary

    @property
    def params(self) -> Params:
        return self.env.params

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return self.env.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return self.env.action_space

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        return self.env.count(info, None if action is None else self.read(action))

    def inner(self, state: Any) -> Any:
        """Return the state of the wrapped environment."""
        return state.inner

    def read(self, action: Any) -> Any:
        """Translate an action to an action of the wrapped environment."""
        return action

    def reset(self, key: Array, params: Params | None = None) -> tuple[Any, Timestep]:
        return self.opened(*self.env.reset(key, params))

    def again(self, key: Array, last: Any, renew: Array, params: Params) -> tuple[Any, Timestep]:
        return self.opened(*self.env.again(key, self.inner(last), renew, params))

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        """Return the wrapper's state and Timestep when an episode starts, from the state and Timestep of the wrapped
        environment."""
        raise NotImplementedError


@dataclass(frozen=True)
class StatelessWrapper(Wrapper[Params]):
    """A wrapper that has the state of the wrapped environment; subclasses change spaces, actions or Timesteps.

    `opened` receives the Timestep of a start and, unless `step` is overridden, of every step.
    """

    def inner(self, state: Any) -> Any:
        return state

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return state, first

    def step(self, key: Array, state: Any, action: Any, params: Params | None = None) -> tuple[Any, Timestep]:
        return self.opened(*self.env.step(key, state, self.read(action), params))


def unwrapped(env: Env[Any, Any]) -> Env[Any, Any]:
    """Return the environment inside all wrappers."""
    return unwrapped(env.env) if isinstance(env, Wrapper) else env


def rewrap(env: Env[Any, Any], inside: Env[Any, Any]) -> Env[Any, Any]:
    """Return the wrappers of an environment around another environment."""
    return dataclasses.replace(env, env=rewrap(env.env, inside)) if isinstance(env, Wrapper) else inside


def find_layer(env: Env[Any, Any], name: str) -> Env[Any, Any] | None:
    """Return the outermost layer of an environment with the attribute `name`; None if there is none."""
    if getattr(env, name, None) is not None:
        return env
    return find_layer(env.env, name) if isinstance(env, Wrapper) else None


def find_mask_layer(env: Env[Any, Any]) -> Env[Any, Any] | None:
    """Return the outermost layer with an `action_mask`; None if there is none, or if a wrapper changes the actions."""
    if getattr(env, "action_mask", None) is not None:
        return env
    if not isinstance(env, Wrapper) or type(env).read is not Wrapper.read:
        return None
    return find_mask_layer(env.env) if env.action_space == env.env.action_space else None


def layer_state(env: Env[Any, Any], state: Any, layer: Env[Any, Any]) -> Any:
    """Return the state of `layer`, an environment inside `env`."""
    return state if env is layer or not isinstance(env, Wrapper) else layer_state(env.env, env.inner(state), layer)


def unwrapped_state(env: Env[Any, Any], state: Any) -> Any:
    """Return the state of the environment inside all wrappers."""
    return unwrapped_state(env.env, env.inner(state)) if isinstance(env, Wrapper) else state


def unwrapped_action(env: Env[Any, Any], action: Any) -> Any:
    """Translate an action to an action of the environment inside all wrappers."""
    return unwrapped_action(env.env, env.read(action)) if isinstance(env, Wrapper) else action


class TimeLimitState(NamedTuple):
    """The inner state and the number of steps since the reset."""

    inner: Any
    steps: Array


@dataclass(frozen=True)
class TimeLimit(Wrapper[Params]):
    """A wrapper that truncates an episode after `steps` steps."""

    steps: Annotated[int, Field(ge=1)]

    def opened(self, state: Any, first: Timestep) -> tuple[TimeLimitState, Timestep]:
        return TimeLimitState(state, jnp.int32(0)), first

    def step(
        self, key: Array, state: TimeLimitState, action: Any, params: Params | None = None
    ) -> tuple[TimeLimitState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        steps = state.steps + 1
        late = (steps >= self.steps) & ~timestep.terminated
        return TimeLimitState(inner, steps), timestep._replace(truncated=timestep.truncated | late)


class LogState(NamedTuple):
    """The inner state, with the sum of rewards and the number of steps since the reset."""

    inner: Any
    total: Array
    length: Array


@dataclass(frozen=True)
class Log(Wrapper[Params]):
    """A wrapper that adds `episode_return` and `episode_length` to the info; both include the current step."""

    def opened(self, state: Any, first: Timestep) -> tuple[LogState, Timestep]:
        return self._with_info(LogState(state, jnp.float32(0.0), jnp.int32(0)), first)

    def step(self, key: Array, state: LogState, action: Any, params: Params | None = None) -> tuple[LogState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        return self._with_info(LogState(inner, state.total + timestep.reward, state.length + 1), timestep)

    def _with_info(self, state: LogState, timestep: Timestep) -> tuple[LogState, Timestep]:
        added = {"episode_return": state.total, "episode_length": state.length}
        return state, timestep._replace(info=timestep.info | added)


@dataclass(frozen=True)
class Flatten(StatelessWrapper[Params]):
    """A wrapper that flattens observations to a float32 vector in a `Box`, ordered as in `gymnasium.spaces.flatten`."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        box: Any = gymnasium.spaces.flatten_space(self.env.observation_space)
        low, high = (bound.astype(np.float32) for bound in (box.low, box.high))
        return gymnasium.spaces.Box(low, high, dtype=np.float32)

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return state, first._replace(obs=flatten(self.env.observation_space, first.obs))


def flatten(space: gymnasium.Space[Any], value: Any) -> Array:
    """Flatten a value of `space` to a float32 vector; choices become one-hot, as in `gymnasium.spaces.flatten`."""
    match space:
        case gymnasium.spaces.Dict():
            parts = [flatten(inside, value[name]) for name, inside in space.spaces.items()]
        case gymnasium.spaces.Tuple():
            parts = [flatten(inside, item) for inside, item in zip(space.spaces, value, strict=True)]
        case gymnasium.spaces.Discrete():
            parts = [jax.nn.one_hot(value - int(space.start), int(space.n), dtype=jnp.float32)]
        case gymnasium.spaces.MultiDiscrete():
            pairs = zip((value - space.start.astype(np.int32)).ravel(), space.nvec.ravel(), strict=True)
            parts = [jax.nn.one_hot(item, int(n), dtype=jnp.float32) for item, n in pairs]
        case gymnasium.spaces.Box() | gymnasium.spaces.MultiBinary():
            parts = [jnp.ravel(value)]
        case _:
            raise TypeError(f"flatten: expected Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple, got {space}")
    return jnp.concatenate([part.astype(jnp.float32) for part in parts])
