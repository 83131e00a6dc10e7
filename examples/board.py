"""The learned agents of the leaderboard, each trained with five seeds.

    pip install '.[train]'
    python -m experiments.leaderboard --ids farm/bean-1x1-v0 --policy ppo=examples/board.py:ppo --planned 0 --out docs

The leaderboard is made from a clone, by `experiments/`. Write a function of the same form for your own agent: it takes
an id and the environment of its reported split, trains on the training split, and returns a `Trained`, or None if the
agent cannot handle the id.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import dqn as q_learning
import jax
import map_evolution
import map_residual
import numpy as np
import offline
import ppo as flat_ppo
import recurrent_ppo
from gymnasium import spaces
from map_results import Task

from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon

if TYPE_CHECKING:
    from experiments.leaderboard.run import Trained

SEEDS = 5
"""Training runs per agent, the minimum for the leaderboard."""

FEW_ORDERS = 0.4
"""Number of orders per day that PPO initially gives if several are possible."""

LEARNED = spaces.Discrete | spaces.MultiDiscrete | spaces.Dict | spaces.Box
"""Action spaces of PPO."""

EPISODES = 500
"""Number of recorded episodes for agents of the "offline" track."""


def ppo(id: str, env: Env[Any, Any]) -> Trained | None:
    """Train PPO on the flat interface for a million days; with several orders per day, it initially gives few."""
    if not isinstance(env.action_space, LEARNED):
        return None
    settings, side = flat_ppo.Settings(num_envs=128, updates=122, idle=find_idle(env)), splits.split(id, "train")
    own, school = flat_ppo.task(env), flat_ppo.task(side.make())

    def train(seed: int) -> Policy:
        agent, _ = flat_ppo.train(school, settings, school.params, side.key(seed))
        return flat_ppo.policy_of(own, settings, jax.block_until_ready(agent))

    return _train_all(own, train, "steps", settings.num_envs * settings.num_steps * settings.updates)


def recurrent(id: str, env: Env[Any, Any]) -> Trained | None:
    """Train PPO with memory on the flat interface for a million days; with several orders a day, it first gives few."""
    if not isinstance(env.action_space, LEARNED):
        return None
    settings = recurrent_ppo.Settings(updates=122, idle=find_idle(env))
    steps = settings.num_envs * settings.num_steps * settings.updates
    return _train_task(recurrent_ppo.make_task(id, settings), "agent", "steps", steps)


def find_idle(env: Env[Any, Any]) -> float:
    """Return the initial log odds of giving no order."""
    if not isinstance(env.action_space, spaces.MultiDiscrete):
        return flat_ppo.Settings().idle
    choices = env.action_space.nvec
    return float(np.log((len(choices) / FEW_ORDERS - 1) * (choices[0] - 1)))


def dqn(id: str, env: Env[Any, Any]) -> Trained | None:
    """Train Q-learning with masks for a million days, on farms with one order per day."""
    if not (_is_farm(id) and isinstance(env.action_space, spaces.Discrete)):
        return None
    settings = q_learning.Settings(updates=122)
    steps = settings.num_envs * settings.num_steps * settings.updates
    return _train_task(q_learning.make_task(id, settings), "agent", "steps", steps)


def residual(id: str, env: Env[Any, Any]) -> Trained | None:
    """Train PPO that starts from the expert, on maps, for a million orders."""
    if not _is_farm(id):
        return None
    options = map_residual.read_options(["--updates", "122"])
    steps = options.num_envs * options.num_steps * options.updates
    return _train_task(map_residual.make_residual_task(id, options), "drawing agent", "steps", steps)


def evolution(id: str, env: Env[Any, Any]) -> Trained | None:
    """Train linear scores of orders, starting from the expert, with evolution strategies."""
    if not _is_farm(id):
        return None
    settings = map_evolution.Settings()
    seasons = settings.updates * settings.train_seasons * (2 * settings.pairs + 1)
    return _train_task(map_evolution.make_task(id, id, settings), "agent", "free", seasons * horizon(env))


@cache
def _learn_from(dataset: str, id: str) -> tuple[Task, list[dict[str, Policy]], int, float]:
    """Return the task, the agents of each seed, and the steps and seconds per training run, for both methods."""
    data = offline.get_data(id, dataset, EPISODES)
    task, start = offline.make_task(id, {dataset: data}, offline.Settings()), time.perf_counter()
    agents = [jax.block_until_ready(task.train(seed))[1] for seed in range(SEEDS)]
    return task, agents, data.steps, (time.perf_counter() - start) / SEEDS


def _enter_offline(dataset: str, way: str, id: str, env: Env[Any, Any]) -> Trained | None:
    if not isinstance(env.action_space, spaces.Discrete):
        return None
    task, agents, steps, seconds = _learn_from(dataset, id)
    return _describe(task.test, [of_seed[f"{dataset}, {way}"] for of_seed in agents], "offline", steps, seconds)


clone_expert, clone_mixed, clone_random = (partial(_enter_offline, name, "cloned") for name in offline.DATASETS)
iql_expert, iql_mixed, iql_random = (partial(_enter_offline, name, "IQL") for name in offline.DATASETS)


def _is_farm(id: str) -> bool:
    return id.startswith("farm/")


def _train_task(task: Task, agent: str, track: str, steps: int) -> Trained:
    """Train an agent with each seed for a task of one of the learners in this folder."""
    return _train_all(
        task.own or task.test, lambda seed: jax.block_until_ready(task.train(seed))[1][agent], track, steps
    )


def _train_all(env: Env[Any, Any], train: Callable[[int], Policy], track: str, steps: int) -> Trained:
    """Train an agent with each seed."""
    start = time.perf_counter()
    agents = [train(seed) for seed in range(SEEDS)]
    return _describe(env, agents, track, steps, (time.perf_counter() - start) / SEEDS)


def _describe(env: Env[Any, Any], agents: list[Policy], track: str, steps: int, seconds: float) -> Trained:
    """Return the agents as a `Trained`; all numbers in their arrays count as learned parameters."""
    from experiments.leaderboard.run import Trained

    return Trained(env, agents, track, steps, seconds, sum(leaf.size for leaf in jax.tree.leaves(agents[0].act)))
