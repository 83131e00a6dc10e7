"""`GymEnv`, the Gymnasium environment for functional environments.

It is a thin layer: the functional `Env` defines an episode, and `core.autoreset` defines when a new one starts. In
addition to the contract, an environment may have `action_mask(state, params)` (bool per action) and `check_choice(mask,
action, waiting)` (ConfigError for a masked action). If its family draws scenes, it has the modes in
`render.RENDER_MODES`; steps are recorded only with a mode.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import HumanRendering

from harvestgym import registry
from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env
from harvestgym.core.errors import check_count, check_extras, check_seed
from harvestgym.core.wrappers import find_layer
from harvestgym.render import DEFAULT_WIDTH

from .base import GymBase, Info, Options
from .monitoring import Monitor


class GymEnv(GymBase, gymnasium.Env[Any, Any]):
    """A single Gymnasium environment.

    `reset(seed=s)` starts with `jax.random.key(s)`; later resets without a seed continue with this key.
    `reset(options={"params": p})` changes the parameters for this and all later episodes; other options, such as the
    `start` of a fishery, apply to one episode only.
    """

    made_of = ("render_mode",)
    changes = ("_over",)
    _spec: EnvSpec | None = None

    def __init__(self, env: Env[Any, Any], params: Any = None, render_mode: str | None = None) -> None:
        self._wrap(env, params, (), render_mode)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._over = True

    @property
    def spec(self) -> EnvSpec | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The spec of the id, with the environment's horizon, if any, as `max_episode_steps`."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._spec = spec
        if spec is not None and spec.max_episode_steps is None:
            steps_per_day = getattr(find_layer(self.core, "steps_per_day"), "steps_per_day", 1)
            spec.max_episode_steps = int(getattr(self.params, "horizon", 0)) * steps_per_day or None

    @property
    def reward_space(self) -> Any:
        """Raise AttributeError: rewards are numbers, and learners for MO-Gymnasium look for reward vectors here."""
        expected = "an id whose rewards are vectors, such as objectives/bean-1x1-v0 of examples/objectives.py"
        raise AttributeError(f"reward_space: expected {expected}, got {self!r}")

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Start an episode."""
        own = self._set_params(options, ("params",))
        super().reset(seed=seed)
        if seed is None and not self._begun:
            seed = int(self.np_random.integers(2**32))
        word = np.asarray(check_seed(seed or 0), np.uint32)
        first = self._start(word, np.asarray(seed is not None), np.asarray(True), own)
        self._over = False
        self._log(None, first)
        self._notify(Monitor.begin)
        return self._write(first.obs), first.info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Take `action`; ConfigError if it is outside the action space, ResetNeeded after the end of the episode."""
        if self._over:
            raise ResetNeeded("step: expected a running episode, got none; try reset() first")
        read = self._read(action)
        self._check_choices(read)
        shown = self._step(read)
        self._over = shown.terminated or shown.truncated
        self._log(read, shown)
        self._notify(Monitor.step)
        return self._write(shown.obs), shown.reward, shown.terminated, shown.truncated, shown.info

    def _accept_run_state(self, run: RunState) -> None:
        super()._accept_run_state(run)
        self._over = bool(run.over)


def make_env(
    harvest_id: str, render_mode: str | None = None, render_width: int = DEFAULT_WIDTH, **overrides: Any
) -> gymnasium.Env[Any, Any]:
    """Make the environment that `gymnasium.make` returns for an id: the family's faster implementation if it has one.

    `render_mode="human"` draws every step in a window with Gymnasium's `HumanRendering` and needs the extra `window`.
    `render_width` is the width of "rgb_array", px; below 320, pictures are squares without text, for agents that learn
    from pixels.
    """
    if render_mode == "human":
        check_extras("render_mode 'human'", window="pygame")
        return HumanRendering(make_env(harvest_id, "rgb_array", render_width, **overrides))
    env = registry.make(harvest_id, **overrides)
    faster = registry.family_function(harvest_id, "make_gymnasium", lambda env, render_mode: None)(env, render_mode)
    made: Any = GymEnv(env, render_mode=render_mode) if faster is None else faster
    made.render_width = check_count("render_width", render_width)
    return made
