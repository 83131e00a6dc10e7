"""Four neighbours who share a water quota for the season, each with the expert of its own farm.

    python neighbours.py      # the return of all four, without a quota and with two quotas

`make_experts` returns the experts as functions of each agent's observations, for comparison with your own agents.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

import harvestgym
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.shared_water import SharedWater

QUOTAS = (1e6, 300.0, 80.0)
"""Litres of water for the season."""


def make_experts(core: SharedWater) -> dict[str, Callable[[np.ndarray], int]]:
    """Return, for each agent, the expert of its farm as a function of the observations since the reset."""
    return {agent: ExpertAgent(model) for agent, model in zip(core.agents, core.models, strict=True)}


class ExpertAgent:
    """A farm's expert rules as a callable that maps one agent's observations to actions, for one season."""

    def __init__(self, model: FarmModel) -> None:
        policy = rule_policy(model).traced()
        self._act, self._memory = jax.jit(policy.act), policy.init

    def __call__(self, obs: np.ndarray) -> int:
        """Return the action for the next day; the last number of an observation is the share of the quota left."""
        self._memory, action = self._act(self._memory, obs[:-1], jax.random.key(0))
        return int(action)


def play(quota: float, seed: int = 0) -> float:
    """Return the sum of the rewards of all farms in a season."""
    env = harvestgym.make_parallel("farm/shared-water-v0", quota=quota)
    obs, _ = env.reset(seed=seed)
    experts, total = make_experts(env.core), 0.0
    while env.agents:
        obs, rewards, *_ = env.step({agent: experts[agent](obs[agent]) for agent in env.agents})
        total += sum(rewards.values())
    return total


def main() -> None:
    """Print the return for each quota."""
    for quota in QUOTAS:
        print(f"{quota:g} L: {play(quota):.3f}")


if __name__ == "__main__":
    main()
