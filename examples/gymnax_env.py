"""The gymnax interface for any environment, without a dependency on gymnax, for learners that expect it.

    from gymnax_env import GymnaxEnv

    env = GymnaxEnv(harvestgym.make("farm/bean-1x1-v1"))    # or GymnaxEnv(...).legacy(), for gymnax up to 0.0.9

`rejax_ppo.py` trains with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from harvestgym.core.autoreset import is_done
from harvestgym.core.env import Env, check_core
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import AutoReset, AutoResetState


@dataclass(frozen=True)
class GymnaxEnv:
    """A hashable environment with the gymnax interface.

    The step that ends an episode also starts the next one; its info contains the last observation of the old episode as
    `final_observation`. `step` returns `(obs, state, reward, terminated, truncated, info)`. After `legacy()`, it
    returns `(obs, state, reward, done, info)`, as in gymnax up to 0.0.9.
    """

    env: Env[Any, Any]
    returns_done: bool = False

    def __post_init__(self) -> None:
        check_core(self.env, "GymnaxEnv")
        if not isinstance(self.returns_done, bool):
            raise ConfigError(f"GymnaxEnv > returns_done: expected True or False, got {self.returns_done!r}")

    def legacy(self) -> GymnaxEnv:
        """Return an environment whose `step` returns five values, with `terminated` and `truncated` in the info."""
        return replace(self, returns_done=True)

    @property
    def default_params(self) -> Any:
        """The parameters of the environment."""
        return self.env.params

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
        """Call `reset`."""
        return self.reset(key, params)

    def _params(self, params: Any) -> Any:
        return self.env.params if params is None else params

    def _step(self, mode: AutoresetMode, key: jax.Array, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        going = AutoResetState(state, jnp.asarray(False))
        after, shown = AutoReset(self.env, mode).step(key, going, action, self._params(params))
        final = shown.info if mode is AutoresetMode.SAME_STEP else {"final_obs": shown.obs, "final_info": shown.info}
        info = final["final_info"] | {"final_observation": final["final_obs"]}
        if not self.returns_done:
            return shown.obs, after.inner, shown.reward, shown.terminated, shown.truncated, info
        info |= {"terminated": shown.terminated, "truncated": shown.truncated}
        return shown.obs, after.inner, shown.reward, is_done(shown), info


def to_gymnax(space: gymnasium.Space[Any]) -> Any:
    """Convert a Gymnasium space to a gymnax space; return it unchanged if gymnax is missing or has no such space."""
    try:
        from gymnax.environments import spaces as theirs  # pyright: ignore[reportMissingImports]
    except ImportError:
        return space
    match space:
        case spaces.Discrete() if space.start == 0:
            return theirs.Discrete(int(space.n))
        case spaces.Box():
            return theirs.Box(jnp.asarray(space.low), jnp.asarray(space.high), space.shape, jnp.dtype(space.dtype))
        case spaces.Dict():
            return theirs.Dict({name: to_gymnax(inside) for name, inside in space.items()})
        case spaces.Tuple():
            return theirs.Tuple([to_gymnax(inside) for inside in space])
    return space
