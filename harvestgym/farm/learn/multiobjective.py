"""A farm whose `step` returns a vector of rewards, in the convention of MO-Gymnasium.

The convention is a Gymnasium environment with a `reward_space`. The library itself is not needed; its wrappers
(`LinearReward` ...) accept this environment.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError
from harvestgym.core.tree import replace
from harvestgym.core.wrappers import unwrapped, unwrapped_state
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.scoring import SCORE_TERMS
from harvestgym.gym.base import Info
from harvestgym.gym.env import GymEnv

GAIN = "reward/"
"""Prefix of the terms of the gain in the info."""

ONES = np.float32(1.0), np.ones(len(SCORE_TERMS), np.float32)
"""The weights of the stages and of the other terms that leave each term as it is."""


class MultiObjectiveEnv(GymEnv):
    """A farm whose reward is a vector: each term of its score, and each cost, negative.

    The terms of `BasicScore` are not weighted (kg of yield, index of the soil ...): a term of weight zero is an
    objective too. `weights @ reward` is the reward of the same farm behind `GymEnv`.

    Attributes:
        objectives: the names of the entries, as in the info without `reward/`: terms, then costs.
        reward_space: the space of the vectors.
    """

    changes = (*GymEnv.changes, "_weights")

    def __init__(self, env: Env[Any, Any], params: Any = None, render_mode: str | None = None) -> None:
        model = unwrapped(env)
        if not isinstance(model, FarmModel):
            raise ConfigError(f"expected a farm, whose score has terms, got {type(model).__name__}")
        weighted = env.params if params is None else params
        if not isinstance(weighted, type(env.params)):
            raise ConfigError(f"params: expected an object of the class {type(env.params).__name__}, got {params!r}")
        self._weights = _get_weights(weighted)
        super().__init__(env, _replace_weights(weighted, *ONES), render_mode)
        state, first = jax.eval_shape(env.reset, jax.random.key(0), weighted)
        self._terms = tuple(name for name in first.info if name.startswith(GAIN))
        self._costs = tuple(jax.eval_shape(model.costs, unwrapped_state(env, state), weighted))
        self.objectives = (*(name.removeprefix(GAIN) for name in self._terms), *self._costs)
        self.reward_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(self.objectives),), np.float32)

    @property
    def params(self) -> Any:
        """The parameters in force, with the weights of the score; others of the same shapes may be assigned."""
        return _replace_weights(self._compiled.params, *self._weights)

    @params.setter
    def params(self, params: Any) -> None:
        self._compiled.params, self._weights = _replace_weights(params, *ONES), _get_weights(params)

    @property
    def weights(self) -> np.ndarray:
        """The weight of each objective in the score, float32; 1 for costs and further terms, weighted already."""
        score = self.params.score
        known = {"stage": score.stage, **dict(zip(SCORE_TERMS, np.asarray(score.weights), strict=True))}
        own = {name: value for name, value in known.items() if name not in score.terms}
        return np.asarray([own.get(name, 1.0) for name in self.objectives], np.float32)

    def step(self, action: Any) -> tuple[Any, np.ndarray, bool, bool, Info]:  # type: ignore[override]
        """Do `action`; the reward is a float32 vector of `reward_space`."""
        obs, _, terminated, truncated, info = super().step(action)
        reward = [info[name] for name in self._terms] + [-info[name] for name in self._costs]
        return obs, np.asarray(reward, np.float32), terminated, truncated, info


def _get_weights(params: Any) -> tuple[Any, Any]:
    """Return the weights of the stages and of the other terms of a `BasicScore`."""
    return params.score.stage, params.score.weights


def _replace_weights(params: Any, stage: Any, weights: Any) -> Any:
    """Return the parameters of the same farm with other weights in its `BasicScore`."""
    return replace(params, score=replace(params.score, stage=stage, weights=weights))
