"""Steps per second of an id: one environment through Gymnasium, a vector of them, and a compiled rollout.

    python benchmarks/throughput.py [ID ...] > throughput.json

Compile time stands apart. Everything of an id is measured in one run, so ratios hold on a busy machine.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnasium
import jax
import numpy as np

import harvestgym
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.spaces import noop_action

SECONDS = 3.0
BATCH, STEPS = 4096, 64


def single(id: str) -> dict[str, float]:
    """Days per second through `gymnasium.make(id).step`, with its passive checker as users have it."""
    env = gymnasium.make(id)
    env.reset(seed=0)
    idle = noop_action(env.action_space)
    env.step(idle)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        done = env.step(idle)
        steps += 1
        if done[2] or done[3]:
            env.reset()
    return {"steps/s": steps / (time.perf_counter() - start)}


def vector(id: str, num_envs: int = 256) -> dict[str, float]:
    """Days per second through `make_vec`, crossing the host at each step."""
    envs = harvestgym.make_vec(id, num_envs)
    envs.reset(seed=0)
    actions = np.stack([noop_action(envs.single_action_space)] * num_envs)
    envs.step(actions)
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        envs.step(actions)
        steps += num_envs
    return {"num_envs": num_envs, "steps/s": steps / (time.perf_counter() - start)}


def batched(id: str) -> dict[str, float]:
    """Days per second of a compiled rollout of the random policy; only rewards leave the device."""
    env = harvestgym.make(id)
    rewards = jax.jit(lambda key: rollout(env, random_policy(env), key, BATCH, STEPS).reward.sum())
    start = time.perf_counter()
    rewards(jax.random.key(0)).block_until_ready()
    compiling = time.perf_counter() - start
    runs = []
    for i in range(5):
        start = time.perf_counter()
        rewards(jax.random.key(i)).block_until_ready()
        runs.append(time.perf_counter() - start)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return {"steps/s": BATCH * STEPS / float(np.median(runs)), "compile s": compiling, "bytes/env": size}


def main() -> None:
    """Print the figures as JSON."""
    ids = sys.argv[1:] or ["farm/bean-clay-1x1-v1"]
    figures: dict[str, Any] = {"jax": jax.__version__, "device": str(jax.devices()[0])}
    for id in ids:
        figures[id] = {"gymnasium": single(id), "vector": vector(id), "rollout": batched(id)}
    json.dump(figures, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
