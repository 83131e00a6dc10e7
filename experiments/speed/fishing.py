"""Speed of the fisheries: rollouts, single steps, dynamic programming, and a NumPy reference in the same run.

    python -m experiments.speed.fishing > fishing.json

On a busy machine, wall-clock speeds are lower, so `cpu ns/step` counts CPU time. `steps/s on two free cores` is
computed from it, since two free cores provide two CPU seconds per second. The reference is the same fishery as a NumPy
batch of 4096, without noise.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode

from examples import hash_keys
from harvestgym.core.autoreset import advance, start_episode
from harvestgym.fishing import control
from harvestgym.fishing.analysis.dynamic_programming import solve
from harvestgym.fishing.family import make
from harvestgym.fishing.model import FishingModel

BATCH, YEARS, REPEATS = 4096, 1000, 7


def timed(function: Callable[[], Any], steps: int) -> dict[str, float]:
    """Return the steps per second of the best of several runs after compilation, by wall-clock and by CPU time."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    first = time.perf_counter() - start
    wall, cpu = [], []
    for _ in range(REPEATS):
        clocks = time.perf_counter(), time.process_time()
        jax.block_until_ready(function())
        wall.append(time.perf_counter() - clocks[0])
        cpu.append(time.process_time() - clocks[1])
    return {
        "steps/s": steps / min(wall),
        "cpu ns/step": 1e9 * min(cpu) / steps,
        "first call s": first,
    }


@partial(jax.jit, static_argnums=0)
def scan(env: FishingModel, runs: jax.Array, params: Any, rule: Any) -> jax.Array:
    """Return the sum of rewards of `BATCH` fisheries over `YEARS` years; episodes restart when they end."""
    run, first = start_episode(env, runs, params)

    def year(loop: Any, _: None) -> tuple[Any, None]:
        run, obs, total = loop
        action = jax.vmap(lambda o: rule.act((), o, None)[1])(obs)
        run, shown, last = advance(env, run, action, params, AutoresetMode.SAME_STEP)
        return (run, shown.obs, total + last.reward), None

    start = (run, first.obs, jnp.zeros(BATCH))
    return jax.lax.scan(year, start, None, length=YEARS)[0][2].sum()


def rollout(env: FishingModel, key: jax.Array) -> dict[str, float]:
    """Time `scan` with the escapement rule; the result is as in `timed`."""
    rule, runs = control.escapement(env, 0.5).traced(), jax.random.split(key, BATCH)
    return timed(lambda: scan(env, runs, env.params, rule), BATCH * YEARS)


def numpy_batch() -> dict[str, float]:
    """Time the NumPy reference: `BATCH` fisheries over `YEARS` years; the result is as in `timed`."""
    stock = np.full(BATCH, 0.75)

    def run() -> float:
        x = stock
        for _ in range(YEARS):
            left = x - np.maximum(x - 0.5, 0.0)
            x = left + 0.3 * left * (1 - left)
        return float(x.sum())

    return timed(run, BATCH * YEARS)


def single(steps: int = 5000) -> dict[str, float]:
    """Time `gymnasium.make(...).step` with its wrappers, and with a reset at the end of each episode."""
    env = gymnasium.make("fishing/logistic-v0")
    env.reset(seed=0)
    action = np.array([-0.9], np.float32)

    def run() -> float:
        for _ in range(steps):
            done = env.step(action)
            if done[2] or done[3]:
                env.reset()
        return 0.0

    return timed(run, steps)


def main() -> None:
    """Print all results as JSON."""
    noisy, calm = make("logistic-v0"), make("logistic-v0", noise={"kind": "none"})
    out: dict[str, Any] = {
        "numpy batch, no noise": numpy_batch(),
        "scan, noise, hash keys": rollout(noisy, hash_keys.key(0)),
        "scan, noise, threefry keys": rollout(noisy, jax.random.key(0)),
        "scan, no noise": rollout(calm, jax.random.key(0)),
        "gymnasium.make step": single(),
        "dynamic programming, 401 states (seconds are 1 / steps/s)": timed(lambda: solve(noisy, discount=0.99), 1),
    }
    reference = out["numpy batch, no noise"]["cpu ns/step"]
    for name, row in out.items():
        if name.startswith("scan"):
            row["steps/s on two free cores"] = 2e9 / row["cpu ns/step"]
            row["cpu time of a NumPy batch step"] = row["cpu ns/step"] / reference
    sys.stdout.write(json.dumps(out, indent=2) + "\n")


if __name__ == "__main__":
    main()
