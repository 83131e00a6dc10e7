"""The multi-objective face of a farm: `step` returns a vector of rewards, as MO-Gymnasium has it.

The convention is a Gymnasium environment with a `reward_space`; nothing else of that library is needed, so its
wrappers (`LinearReward` ...) and its learners take this environment as it is.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np

from ..core.env import Env
from ..core.errors import ConfigError
from ..core.tree import replace
from ..core.wrappers import base
from ..farm.model import FarmModel
from ..farm.score import TERMS
from .gymnasium import GymEnv, Info, Options

GAIN = "reward/"
"""How the info names the terms of the gain."""


class MultiObjectiveEnv(GymEnv):
    """A farm whose reward is a vector: each term of its score unweighted, and each cost, negative.

    Terms come as they are before the score weighs them (kg of yield, index of the soil ...), so that a term of no
    weight is an objective too. `weights @ reward` is the reward of the same farm behind `GymEnv`.

    Attributes:
        objectives: the names of the entries: those of `info["reward/…"]`, then the costs.
        reward_space: the vectors.
    """

    def __init__(self, env: Env[Any, Any], params: Any = None, render_mode: str | None = None) -> None:
        model = base(env)
        if not isinstance(model, FarmModel):
            raise ConfigError(f"wanted a farm, whose score has terms, found {type(model).__name__}")
        self._score = (env.params if params is None else params).score
        super().__init__(env, self._unweighted(env.params if params is None else params), render_mode)
        state, first = jax.eval_shape(env.reset, jax.random.key(0), env.params)
        gains = [name.removeprefix(GAIN) for name in first.info if name.startswith(GAIN)]
        self._costs = [name for name in first.info if name in COSTS]
        self._gains = gains
        self.objectives = (*gains, *self._costs)
        self.reward_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.objectives),), np.float32)
