"""Farms that share a quota of water, as a PettingZoo parallel environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.learn.shared_water import SharedWater
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.gym.parallel_env import JointEnv, JointStep


class FarmsEnv(JointEnv):
    """Agents `farm_0`, ...: each works its own farm, is paid its own harvest, and sees how much water is left for all.

    Args:
        models: farms of one structure, one order a day.
        quota: litres of water for all farms and the season.
        shared_reward: whether each agent is paid the mean of all farms.
    """

    metadata = {"name": "farm_shared_water_v0", "render_modes": []}

    @check_arguments
    def __init__(self, models: Sequence[FarmModel], quota: float, shared_reward: bool = False) -> None:
        if len(set(models)) != 1:
            raise ConfigError(f"farms: expected one or more of one structure, got {len(set(models))} structures")
        self._models, self._quota, self._shared = list(models), quota, shared_reward
        sets = jax.tree.map(lambda *leaves: np.stack(leaves), *(model.params for model in models))
        self.core = SharedWater(models[0], len(models), quota, sets)
        self._join(self.core)
        names = [f"farm_{i}" for i in range(len(models))]
        self._set_agents(names, self.core.own_space, spaces.Discrete(models[0].actions.size))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.possible_agents)} farms, {self._quota:g} L, {self.core.env!r}>"

    @property
    def day(self) -> int:
        """The days since the start of the season."""
        return int(self._joint.run_state.state.inner.day[0])

    def experts(self) -> dict[str, Callable[[np.ndarray], int]]:
        """Return for each agent the expert of its farm, a function of its observations from the reset on."""
        return {agent: ExpertAgent(model) for agent, model in zip(self.possible_agents, self._models, strict=True)}

    def _begin(self, seed: int | None) -> tuple[Sequence[Any], Sequence[dict[str, Any]]]:
        obs, _ = self._joint.reset(seed=seed)
        return list(obs), [{} for _ in obs]

    def _advance(self, actions: list[Any]) -> JointStep:
        obs, _, _, _, info = self._joint.step(np.asarray([0 if action is None else int(action) for action in actions]))
        own = info["own reward"].tolist()
        rewards = [float(np.mean(own))] * len(own) if self._shared else own
        terminated, ended = info["own terminated"], info["ended"]
        infos = [{"water left#L": float(info["water left#L"]), "own reward": reward} for reward in own]
        return JointStep(list(obs), rewards, terminated.tolist(), (ended & ~terminated).tolist(), infos)

    def recipe(self) -> dict[str, Any]:
        """Describe how it is made, for `core.saving.checkpoint`."""
        return {"models": self._models, "quota": self._quota, "shared_reward": self._shared}


class ExpertAgent:
    """The expert rules of a farm as a function of the observations of one season of an agent."""

    def __init__(self, model: FarmModel) -> None:
        self._policy = rule_policy(model).traced()
        self._act = jax.jit(self._policy.act)
        self._memory = self._policy.init

    def __call__(self, obs: np.ndarray) -> int:
        """Return the action of the next day."""
        self._memory, action = self._act(self._memory, obs[:-1], jax.random.key(0))
        return int(action)
