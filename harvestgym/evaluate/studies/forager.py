"""Continual learning in a world that turns over: a fixed agent and a learner through one long life each.

The world is `relearning-v1` seen as objects, its foods changing sign every 10,000 steps. The fixed agent plans on
what each food was worth at first; the learner is linear Q-learning on the view, never stopped and never reset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Timestep
from harvestgym.core.episode import Loop, Step, scan_steps, step_with_key
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.tables import Table
from harvestgym.forager.family import make
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.policies.baselines import greedy

PERIOD, WINDOW = 20_000, 2_500
STEP_SIZE, DISCOUNT, EXPLORE = 1e-2, 0.9, 0.1


class Curve(NamedTuple):
    """Reward per step of an agent: float (replicates, windows)."""

    agent: str
    rate: np.ndarray


def run(
    replicates: int = 8,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    steps: int = 100_000,
) -> Table:
    """Reward per step by half period, mean and standard error over `replicates` seeds.

    Args:
        replicates: lives per agent, each in a world of its own.
        out: a folder for `forager.parquet` (a row per life and window; needs the extra `data`) and `forager.png`.
        progress: told 1 for each agent that is done.
        steps: length of a life, a multiple of 2,500.
    """
    env = world()
    curves = []
    for name, live in _agents(env).items():
        curves.append(Curve(name, _rates(live, replicates, steps)))
        progress(1)
    if out is not None:
        _write(curves, out)
    halves = [f"{i * PERIOD // 2}-{(i + 1) * PERIOD // 2}" for i in range(-(-steps // (PERIOD // 2)))]
    cells = [_cells(curve, len(halves)) for curve in curves]
    rows = list(zip(halves, *cells, strict=True))
    title = f"reward per step, mean ± standard error over {replicates} lives"
    return Table(title, ("steps", *(curve.agent for curve in curves)), rows)


def world() -> Forager:
    """`relearning-v1` as objects, with a period of 20,000 steps."""
    foods = {
        name: {
            "collectable": True,
            "reward": {"square": {"first": a, "second": b, "period": PERIOD}},
            "delay": {"normal": (10, 1)},
            "place": "region",
        }
        for name, a, b in (("oyster", 1, -1), ("chanterelle", -1, 1))
    }
    return make("relearning-v1", observation_mode="objects", kinds=foods | {"wall": {"blocking": True}})


Live = Callable[[jax.Array, int], jax.Array]


def _agents(env: Forager) -> dict[str, Live]:
    fixed = {"random": random_policy(env), "fixed: greedy on first worths": greedy(env)}
    lives: dict[str, Live] = {name: partial(_follow, env, policy) for name, policy in fixed.items()}
    return lives | {"learning: linear Q": partial(_learn, env)}


def _rates(live: Live, replicates: int, steps: int) -> np.ndarray:
    keys = jax.random.split(jax.random.key(0), replicates)
    rewards = jax.jit(jax.vmap(lambda key: live(key, steps)))(keys)
    return np.asarray(rewards).reshape(replicates, -1, WINDOW).mean(-1)


def _follow(env: Forager, policy: Policy, key: jax.Array, steps: int) -> jax.Array:
    """Return the rewards of a life under a fixed policy without memory."""

    def act(carry: Any, obs: Any, now: jax.Array) -> tuple[Any, jax.Array]:
        return policy.act(carry, obs, jax.random.fold_in(key, now))

    state, first = env.reset(key, env.params)
    return scan_steps(act, _step_with(env, key), Loop(state, first.obs, ()), jnp.arange(steps), _reward)


def _learn(env: Forager, key: jax.Array, steps: int) -> jax.Array:
    """Return the rewards of a life of Q-learning, linear in the channels of the view (Watkins 1989, semi-gradient)."""
    state, first = env.reset(key, env.params)
    inner = _step_with(env, key)

    def act(carry: Any, obs: Any, now: jax.Array) -> tuple[Any, jax.Array]:
        explores, drawn = jax.random.split(jax.random.fold_in(key, now))
        _, features, weights = obs
        best = jnp.argmax(weights @ features)
        action = jnp.where(jax.random.uniform(explores) < EXPLORE, jax.random.randint(drawn, (), 0, 4), best)
        return carry, action

    def step(world: Any, action: Any, now: jax.Array) -> tuple[Any, Any, Any]:
        state, features, weights = world
        state, obs, last = inner(state, action, now)
        after = _features(obs)
        error = last.reward + DISCOUNT * jnp.max(weights @ after) - (weights @ features)[action]
        world = state, after, weights.at[action].add(STEP_SIZE * error * features)
        return world, world, last

    features = _features(first.obs)
    start = state, features, jnp.zeros((4, len(features)), jnp.float32)
    return scan_steps(act, step, Loop(start, start, ()), jnp.arange(steps), _reward)


def _step_with(env: Forager, key: jax.Array) -> Step:
    """Return the step of a world that draws everything from one key."""
    step = step_with_key(env, env.params)
    return lambda state, action, now: step(state, action, key)


def _reward(loop: Loop, action: Any, last: Timestep) -> jax.Array:
    return last.reward


def _features(obs: jax.Array) -> jax.Array:
    return jnp.append(obs.ravel().astype(jnp.float32), 1.0)


def _cells(curve: Curve, halves: int) -> list[str]:
    per_half = PERIOD // 2 // WINDOW
    parts = [curve.rate[:, i * per_half : (i + 1) * per_half] for i in range(halves)]
    spread = np.sqrt(max(1, len(curve.rate)))
    return [f"{p.mean():.4f} ± {p.mean(1).std() / spread:.4f}" for p in parts]


def _write_lives(curves: list[Curve], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rates = np.stack([curve.rate for curve in curves])
    agent, life, window = np.indices(rates.shape).reshape(3, -1)
    names = np.asarray([curve.agent for curve in curves])
    columns = {"agent": names[agent], "life": life, "step": (window + 1) * WINDOW, "reward_per_step": rates.ravel()}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def _write(curves: list[Curve], out: Path) -> None:
    from matplotlib.figure import Figure

    out.mkdir(parents=True, exist_ok=True)
    _write_lives(curves, out / "forager.parquet")
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for curve in curves:
        axes.plot((np.arange(curve.rate.shape[1]) + 1) * WINDOW, curve.rate.mean(0), label=curve.agent)
    axes.set(xlabel="step", ylabel="reward per step", title="Foods change sign every 10,000 steps")
    figure.legend(loc="outside lower center", ncols=len(curves), frameon=False)
    figure.savefig(out / "forager.png", dpi=110)
