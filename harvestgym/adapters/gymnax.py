"""The shapes that gymnax and the libraries after it expect, without inheriting from it or needing it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from harvestgym.core.autoreset import is_done, step_and_restart
from harvestgym.core.env import Env
from harvestgym.core.random import keys_for


@dataclass(frozen=True)
class GymnaxView:
    """An environment with gymnax's signatures, hashable.

    `step` begins a new episode in the step that ends one; its info is that of the step itself, with the
    observation before the restart as `final_observation`. It returns `(obs, state, reward, terminated,
    truncated, info)`, or with `legacy()` `(obs, state, reward, done, info)`, as gymnax up to 0.0.9.
    """

    env: Env[Any, Any]
    five: bool = False

    def legacy(self) -> GymnaxView:
        """The view with five values, `terminated` and `truncated` being in the info."""
        return replace(self, five=True)

    @property
    def default_params(self) -> Any:
        """The environment's own parameters."""
        return self.env.params

    @property
    def name(self) -> str:
        """The class of the environment."""
        return type(self.env).__name__

    @property
    def num_actions(self) -> int:
        """The number of choices of a `Discrete` action space, else the number of action components."""
        space = self.env.action_space
        return int(space.n) if isinstance(space, spaces.Discrete) else spaces.flatdim(space)

    def observation_space(self, params: Any = None) -> Any:
        """The observation space, gymnax's where gymnax can be imported, else Gymnasium's."""
        return to_gymnax(self.env.observation_space)

    def action_space(self, params: Any = None) -> Any:
        """The action space, gymnax's where gymnax can be imported, else Gymnasium's."""
        return to_gymnax(self.env.action_space)

    def reset(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        """First observation and state."""
        state, first = self.env.reset(key, self._params(params))
        return first.obs, state

    def step(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, ...]:
        """One step, with a new episode if one has ended."""
        return self._step(AutoresetMode.SAME_STEP, key, state, action, params)

    def step_env(self, key: jax.Array, state: Any, action: Any, params: Any = None) -> tuple[Any, ...]:
        """One step that never resets."""
        return self._step(AutoresetMode.DISABLED, key, state, action, params)

    def reset_env(self, key: jax.Array, params: Any = None) -> tuple[Any, Any]:
        """First observation and state."""
        return self.reset(key, params)

    def _params(self, params: Any) -> Any:
        return self.env.params if params is None else params

    def _step(self, mode: AutoresetMode, key: jax.Array, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        now, again = keys_for(key, ("step", "restart"))
        going = jnp.asarray(False)
        state, shown, last = step_and_restart(self.env, mode, (now, again), state, going, action, self._params(params))
        info = last.info | {"final_observation": last.obs}
        if not self.five:
            return shown.obs, state, last.reward, last.terminated, last.truncated, info
        info |= {"terminated": last.terminated, "truncated": last.truncated}
        return shown.obs, state, last.reward, is_done(last), info


def to_gymnax(space: gymnasium.Space[Any]) -> Any:
    """gymnax's space for one of Gymnasium's, or the same space if gymnax cannot be imported or has none."""
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
