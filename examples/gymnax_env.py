"""The gymnax interface for any environment, without a dependency on gymnax, for learners that expect it.

    from gymnax_env import GymnaxEnv

    env = GymnaxEnv(harvestgym.make("farm/bean-1x1-v0"))    # or GymnaxEnv(...).legacy(), for gymnax up to 0.0.9

`rejax_ppo.py` trains with it.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from harvestgym.core.autoreset import RunState, advance, is_done
from harvestgym.core.env import Env, check_core
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import sample
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate.run import horizon


class GymnaxParams(NamedTuple):
    """The parameters of an environment, and the length of its longest episode, which gymnax's clients read."""

    inner: Any
    max_steps_in_episode: Any


class GymnaxEnv:
    """A hashable environment with the gymnax interface; two with the same environment are equal.

    The step that ends an episode also starts the next one; its info contains the last observation of the old episode as
    `final_observation`. `step` returns `(obs, state, reward, terminated, truncated, info)`. After `legacy()`, it
    returns `(obs, state, reward, done, info)`, as in gymnax up to 0.0.9. An environment without a horizon, such as most
    foragers, is truncated after its number of evaluation steps (5,000), because gymnax's clients wait for an end.
    """

    def __init__(self, env: Env[Any, Any], returns_done: bool = False) -> None:
        check_core(env, "GymnaxEnv")
        if not isinstance(returns_done, bool):
            raise ConfigError(f"GymnaxEnv > returns_done: expected True or False, got {returns_done!r}")
        endless = not int(getattr(env.params, "horizon", 1))
        self.env: Env[Any, Any] = TimeLimit(env, horizon(env)) if endless else env
        self.returns_done = returns_done

    def __hash__(self) -> int:
        return hash((self.env, self.returns_done))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GymnaxEnv) and (other.env, other.returns_done) == (self.env, self.returns_done)

    def legacy(self) -> GymnaxEnv:
        """Return an environment whose `step` returns five values, with `terminated` and `truncated` in the info."""
        twin = copy.copy(self)
        twin.returns_done = True
        return twin

    @property
    def default_params(self) -> GymnaxParams:
        """The parameters of the environment, with `max_steps_in_episode`."""
        return GymnaxParams(self.env.params, np.int32(horizon(self.env)))

    @property
    def name(self) -> str:
        """The name of the environment's class."""
        return type(self.env).__name__

    @property
    def num_actions(self) -> int:
        """The number of choices in a `Discrete` action space, or else the number of action components."""
        space = self.env.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else spaces.flatdim(space)

    def observation_space(self, params: Any = None) -> Any:
        """Return the observation space: a gymnax space if gymnax is installed, otherwise a Gymnasium space."""
        return to_gymnax(self.env.observation_space)

    def action_space(self, params: Any = None) -> Any:
        """Return the action space: a gymnax space if gymnax is installed, otherwise a Gymnasium space."""
        return to_gymnax(self.env.action_space)

    def reset(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        """Begin an episode; return the first observation and the state."""
        state, first = self.env.reset(key, self._params(params))
        return first.obs, state

    def step(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, ...]:
        """Take a step; begin a new episode if one has ended."""
        return self._step(AutoresetMode.SAME_STEP, key, state, action, params)

    def step_env(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, ...]:
        """Take a step without a reset."""
        return self._step(AutoresetMode.DISABLED, key, state, action, params)

    def reset_env(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        """Begin an episode, as `reset` does; some clients of gymnax call this method."""
        return self.reset(key, params)

    def _params(self, params: Any) -> Any:
        """Return the parameters of the environment, which may be given without `max_steps_in_episode`."""
        return self.env.params if params is None else params.inner if isinstance(params, GymnaxParams) else params

    def _step(self, mode: AutoresetMode, key: jax.Array, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        going, space = RunState(key, state, jnp.asarray(False)), self.env.action_space
        action = jnp.reshape(action, space.shape) if isinstance(space, spaces.Box) else action  # rejax drops axes of 1
        after, shown, last = advance(self.env, going, action, self._params(params), mode)
        info = last.info | {"final_observation": last.obs}
        if not self.returns_done:
            return shown.obs, after.state, shown.reward, shown.terminated, shown.truncated, info
        info |= {"terminated": shown.terminated, "truncated": shown.truncated}
        return shown.obs, after.state, shown.reward, is_done(shown), info


def to_gymnax(space: gymnasium.Space[Any]) -> Any:
    """Convert a Gymnasium space to a gymnax space, which samples by key; return it unchanged if gymnax is missing.

    MultiDiscrete, MultiBinary and shifted Discrete spaces become a Box of integers.
    """
    try:
        from gymnax.environments import spaces as theirs  # pyright: ignore[reportMissingImports]
    except ImportError:
        return space

    class Sampled(theirs.Box):
        def sample(self, key: jax.Array) -> jax.Array:
            return sample(space, key)

    match space:
        case spaces.Discrete() if space.start == 0:
            return theirs.Discrete(int(space.n))
        case spaces.Discrete():
            return Sampled(int(space.start), int(space.start + space.n - 1), (), jnp.int32)
        case spaces.MultiDiscrete():
            return Sampled(*_join_bounds(space.start, space.start + space.nvec - 1), space.shape, jnp.int32)
        case spaces.MultiBinary():
            return Sampled(0, 1, space.shape, jnp.int8)
        case spaces.Box():
            return Sampled(*_join_bounds(space.low, space.high), space.shape, jnp.dtype(space.dtype))
        case spaces.Dict():
            return theirs.Dict({name: to_gymnax(inside) for name, inside in space.items()})
        case spaces.Tuple():
            return theirs.Tuple([to_gymnax(inside) for inside in space])
    return space


def _join_bounds(low: Any, high: Any) -> tuple[Any, Any]:
    """Return two numbers if the bounds are the same in all entries, because gymnax converts arrays of one entry."""
    if low.size and (low == low.flat[0]).all() and (high == high.flat[0]).all():
        return low.flat[0].item(), high.flat[0].item()
    return jnp.asarray(low), jnp.asarray(high)
