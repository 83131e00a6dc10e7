"""`GymEnv`, the Gymnasium environment over a functional environment.

It is thin: the functional `Env` defines an episode, and `core.autoreset` says when a new one begins. An environment
may offer, in addition to the contract, `action_mask(state, params)` (bool per action), and `render_modes` with
`render(state, params, mode)`. The modes of `episode_log.MODES` are added where its family draws scenes; only with
one of these the steps of the episode are recorded.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from harvestgym import registry
from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env

from .base import GymBase, Info, Options, scenes
from .conversion import action_reader, observation_writer
from .episode_log import EpisodeLog


class GymEnv(GymBase, gymnasium.Env[Any, Any]):
    """One environment, for Gymnasium.

    `reset(seed=s)` begins a lane with `jax.random.key(s)` (modulo 2^32); later resets without a seed go on
    with its key. `reset(options={"params": p})` changes the parameters from then on.
    """

    def __init__(self, env: Env[Any, Any], params: Any = None, render_mode: str | None = None) -> None:
        self._wrap(env, params, (), render_mode)
        self._live = EpisodeLog(env) if self.render_mode in scenes(env) else None
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._read, self._write = action_reader(self.action_space), observation_writer(self.observation_space)
        self._over = True

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Begin an episode."""
        self._set_params(options, ("params",))
        super().reset(seed=seed)
        if seed is None and not self._driver.begun:
            seed = int(self.np_random.integers(2**32))
        word = np.asarray((seed or 0) % 2**32, np.uint32)
        first = self._driver.start(word, np.asarray(seed is not None), np.asarray(True))
        self._over = False
        self._forget()
        self._keep(None, first)
        self._notify_reset()
        return self._write(first.obs), first.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Do `action`; ConfigError if it is outside the action space, ResetNeeded after the end."""
        if self._over:
            raise ResetNeeded("step: there is no episode going on; call reset() first")
        read = self._read(action)
        if self._live is not None:
            self._live.start(self._driver.lane, self._driver.params)
        seen = self._driver.step(read)
        self._over = seen.terminated or seen.truncated
        self._keep(read, seen)
        self._notify_step(self._over)
        return self._write(seen.obs), seen.reward, seen.terminated, seen.truncated, seen.info

    def render(self) -> Any:
        """What the environment draws in the `render_mode` chosen; None without one."""
        if self.render_mode is None:
            return None
        if self._live is None:
            return self._draw(self._driver.lane.state)
        if not self._driver.begun:
            raise ResetNeeded("render: there is nothing to see yet; call reset() first")
        self._live.start(self._driver.lane, self._driver.params)
        return self._live.picture(self.render_mode)

    def _placed(self, lane: RunState) -> None:
        self._over = bool(lane.over)
        self._forget()

    def _forget(self) -> None:
        if self._live is not None:
            self._live.clear()

    def _keep(self, action: Any, seen: Any) -> None:
        if self._live is not None:
            self._live.add(self._driver.lane.state, action, seen, self._driver.params)

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        return {"env": self.core, "render_mode": self.render_mode}

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        return {"driver": self._driver.kept(), "over": self._over}

    def restore(self, kept: dict[str, Any]) -> GymEnv:
        """This environment, where the one that was kept stood."""
        self._driver.restore(kept["driver"])
        self._over = kept["over"]
        self._forget()
        return self


def make(harvest_id: str, render_mode: str | None = None, **overrides: Any) -> gymnasium.Env[Any, Any]:
    """Make the environment that `gymnasium.make` returns for an id: that of its family, if it has a faster one."""
    env = registry.make(harvest_id, **overrides)
    faster = registry.family_function(harvest_id, "make_gymnasium", lambda env, render_mode: None)(env, render_mode)
    return GymEnv(env, render_mode=render_mode) if faster is None else faster
