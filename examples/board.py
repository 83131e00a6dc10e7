"""The learned agents of the leaderboard, each trained with five seeds.

    pip install '.[train]'
    harvestgym leaderboard --ids farm/bean-clay-1x1-v1 --policy ppo=examples/board.py:ppo --planned 0 --out docs

A function for an agent of your own looks like these: it takes an id and the environment of its reported split, trains
on the training split, and returns a `Trained`, or None where the agent does not fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dqn as q_learning
import jax
import map_evolution
import map_residual
import numpy as np
import offline
import ppo as flat_ppo
from gymnasium import spaces
from map_results import Task

from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.leaderboard.run import LEAST_TRAININGS, Trained
from harvestgym.evaluate.run import horizon

FEW_ORDERS = 0.4
"""Orders that PPO gives on a day at first, where several are possible."""

EPISODES = 500
"""Recorded episodes that agents of the track "offline" learn from."""


def ppo(id: str, env: Env[Any, Any]) -> Trained | None:
    """PPO on the flat interface, a million days; where several orders a day are possible it begins with few."""
    if not isinstance(env.action_space, spaces.Discrete | spaces.MultiDiscrete):
        return None
    settings, side, own = flat_ppo.Settings(num_envs=128, updates=122), splits.split(id, "train"), flat_ppo.task(env)
    sizes, school = flat_ppo.parts(own), flat_ppo.task(side.make())
    if isinstance(env.action_space, spaces.MultiDiscrete):
        settings = replace(settings, idle=float(np.log((len(sizes) / FEW_ORDERS - 1) * (sizes[0] - 1))))

    def train(seed: int) -> Policy:
        agent, _ = flat_ppo.train(school, settings, school.params, side.key(seed))
        return flat_ppo.policy_of(own, settings, jax.block_until_ready(agent))

    return _train_all(own, train, "steps", settings.num_envs * settings.num_steps * settings.updates)


def dqn(id: str, env: Env[Any, Any]) -> Trained | None:
    """Q-learning with masks on farms with one order a day, a million days."""
    if not (_is_farm(id) and isinstance(env.action_space, spaces.Discrete)):
        return None
    settings = q_learning.Settings(updates=122)
    steps = settings.num_envs * settings.num_steps * settings.updates
    return _train_task(q_learning.make_task(id, settings), "agent", "steps", steps)


def residual(id: str, env: Env[Any, Any]) -> Trained | None:
    """PPO that begins with the expert, on maps, a million orders."""
    if not _is_farm(id):
        return None
    options = map_residual.read_options(["--updates", "122"])
    steps = options.num_envs * options.num_steps * options.updates
    return _train_task(map_residual.make_residual_task(id, options), "drawing agent", "steps", steps)


def evolution(id: str, env: Env[Any, Any]) -> Trained | None:
    """Linear scores of orders that begin with the expert, learned by evolution strategies."""
    if not _is_farm(id):
        return None
    settings = map_evolution.Settings()
    seasons = settings.updates * settings.train_seasons * (2 * settings.pairs + 1)
    return _train_task(map_evolution.make_task(id, id, settings), "agent", "free", seasons * horizon(env))


def clone(id: str, env: Env[Any, Any]) -> Trained | None:
    """Behaviour cloning of the dataset "mixed"."""
    return _train_offline(id, env, "mixed, cloned")


def iql(id: str, env: Env[Any, Any]) -> Trained | None:
    """Implicit Q-learning from the dataset "mixed"."""
    return _train_offline(id, env, "mixed, IQL")


def _train_offline(id: str, env: Env[Any, Any], agent: str) -> Trained | None:
    if not isinstance(env.action_space, spaces.Discrete):
        return None
    data = offline.get_data(id, "mixed", EPISODES)
    return _train_task(offline.make_task(id, {"mixed": data}, offline.Settings()), agent, "offline", data.steps)


def _is_farm(id: str) -> bool:
    return id.startswith("farm/")


def _train_task(task: Task, agent: str, track: str, steps: int) -> Trained:
    """Train the agents of a learner of this folder."""
    return _train_all(
        task.own or task.test, lambda seed: jax.block_until_ready(task.train(seed))[1][agent], track, steps
    )


def _train_all(env: Env[Any, Any], train: Callable[[int], Policy], track: str, steps: int) -> Trained:
    """Train an agent with each seed, and count what it took and the numbers that it learned."""
    start = time.perf_counter()
    agents = [train(seed) for seed in range(LEAST_TRAININGS)]
    seconds = (time.perf_counter() - start) / LEAST_TRAININGS
    return Trained(env, agents, track, steps, seconds, sum(leaf.size for leaf in jax.tree.leaves(agents[0].act)))
