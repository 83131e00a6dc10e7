"""Continual learning in a changing world: a fixed agent and a learner, each over one long episode.

The world is `relearning-v0` observed as objects, with foods whose rewards change sign every 10,000 steps. The fixed
agent plans with the first reward of each food. The learner uses linear Q-learning on the view, without interruption or
reset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Timestep
from harvestgym.core.episode import Loop, play_in_batch, scan_steps, start_batch, step_with_advance
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.forager.family import make
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.policies.navigator import find_first_worth
from harvestgym.forager.policies.planning import choose_best, find_free, is_closed, neighbours, read_channels
from harvestgym.forager.world import MOVES, view_offsets

from .common.report import open_figure, write_columns

PERIOD, WINDOW = 20_000, 2_500
STEP_SIZE, DISCOUNT, EXPLORE = 1e-2, 0.9, 0.1

STRAY = 0.1
"""Fraction of steps that the greedy agent takes at random, so that it is not stuck behind a wall forever."""


def run(
    replicates: int = 8,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    steps: int = 100_000,
    seed: int = 0,
) -> Table:
    """Tabulate the reward per step by half period, with mean and standard error over `replicates` seeds.

    Args:
        replicates, out, progress: as in every study; progress counts agents.
        steps: length of an episode, a multiple of 2,500.
        seed: seed of the episodes.
    """
    env = make_changing_world()
    rates: dict[str, np.ndarray] = {}
    for name, agent in make_agents(env).items():
        rewards = run_lives(env, agent, replicates, steps, seed)
        rates[name] = rewards.reshape(replicates, -1, WINDOW).mean(-1)
        progress(1)
    if out is not None:
        _write_lives(rates, out / "forager.parquet")
        _draw(rates, out / "forager.png")
    halves = [f"{i * PERIOD // 2}-{(i + 1) * PERIOD // 2}" for i in range(-(-steps // (PERIOD // 2)))]
    cells = [_format_halves(rate, len(halves)) for rate in rates.values()]
    rows = list(zip(halves, *cells, strict=True))
    title = f"reward per step, mean ± standard error over {replicates} lives"
    return Table(title, ("steps", *rates), rows)


def make_changing_world() -> Forager:
    """Make `relearning-v0` observed as objects, with a period of 20,000 steps."""
    foods = {
        name: {
            "collectable": True,
            "reward": {"square": {"first": a, "second": b, "period": PERIOD}},
            "delay": {"normal": (10, 1)},
            "place": "region",
        }
        for name, a, b in (("oyster", 1, -1), ("chanterelle", -1, 1))
    }
    return make("relearning-v0", observation_mode="objects", kinds=foods | {"wall": {"blocking": True}})


def make_agents(env: Forager) -> dict[str, Policy]:
    """Return the agents of the study by name."""
    fixed = {"random": random_policy(env), "fixed: greedy on first worths": greedy(env)}
    return fixed | {"learning: linear Q": make_learner(env)}


def run_lives(env: Forager, policy: Policy, replicates: int, steps: int, seed: int) -> np.ndarray:
    """Return the rewards of each episode, (replicates, steps); the first is the episode of `reset(seed=seed)`."""
    return np.asarray(_live(env, steps, policy.traced(), evaluation_keys(seed, range(replicates)))).T


@partial(jax.jit, static_argnums=(0, 1))
def _live(env: Forager, steps: int, policy: Policy, keys: jax.Array) -> jax.Array:
    """Return the rewards, (steps, episodes)."""
    run, first, act_keys = start_batch(env, keys, env.params)
    player, step = play_in_batch(policy, act_keys), step_with_advance(env, env.params)
    return scan_steps(player, step, Loop(run, first.obs, player.init), jnp.arange(steps, dtype=jnp.int32), _reward)


@dataclass(frozen=True)
class _Greedy:
    """Goes towards the nearest rewarding object in view, around harmful ones if another way is equally short."""

    env: Forager
    worth: tuple[float, ...]

    def __call__(self, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
        seen, worth = read_channels(obs), jnp.array([0.0, *self.worth, 0.0], jnp.float32)
        rows, cols = seen.shape
        y, x = view_offsets(rows, cols)
        far = jnp.asarray(np.abs(x) + np.abs(y))
        good = (worth[seen] > 0) & (far > 0)
        target = jax.lax.argmin(jnp.where(good, far, rows + cols).ravel(), 0, jnp.int32)
        tx, ty = jnp.asarray(x).ravel()[target], jnp.asarray(y).ravel()[target]
        nearer = jnp.stack([(abs(tx - dx) + abs(ty - dy)) < abs(tx) + abs(ty) for dx, dy in MOVES])
        strays = jax.random.bernoulli(jax.random.fold_in(key, 1), STRAY)
        ahead = neighbours(seen)
        score = (nearer & jnp.any(good) & ~strays) - jnp.float32(0.5) * (worth[ahead] < 0)
        return carry, choose_best(score - jnp.float32(1e6) * ~find_free(self.env.world, is_closed)[ahead], key)


def greedy(env: Forager) -> Policy:
    """Return the policy that goes towards the nearest rewarding object in view, or at random if there is none."""
    return Policy((), _Greedy(env, find_first_worth(env)))


class Learned(NamedTuple):
    """The weights for each action, float32 (4, features), and the last features and action."""

    weights: jax.Array
    features: jax.Array
    action: jax.Array


def make_learner(env: Forager) -> Policy:
    """Return a Q-learner that learns as it acts, linear in the view's channels (Watkins 1989, semi-gradient)."""
    features = 1 + gymnasium.spaces.flatdim(env.observation_space)
    weights = jnp.zeros((4, features), jnp.float32)
    return Policy(Learned(weights, weights[0], jnp.int32(0)), _choose, _learn)


def _choose(carry: Learned, obs: jax.Array, key: jax.Array) -> tuple[Learned, jax.Array]:
    explores, drawn = jax.random.split(key)
    features = _features(obs)
    best = jax.lax.argmax(carry.weights @ features, 0, jnp.int32)
    chance, other = jax.random.uniform(explores, dtype=jnp.float32), jax.random.randint(drawn, (), 0, 4, jnp.int32)
    action = jnp.where(chance < EXPLORE, other, best)
    return Learned(carry.weights, features, action), action


def _learn(carry: Learned, last: Timestep) -> Learned:
    weights, features, action = carry
    ahead = last.reward + DISCOUNT * jnp.max(weights @ _features(last.obs))
    error = ahead - (weights @ features)[action]
    return carry._replace(weights=weights.at[action].add(STEP_SIZE * error * features))


def _reward(loop: Loop, action: Any, last: Timestep) -> jax.Array:
    return last.reward


def _features(obs: jax.Array) -> jax.Array:
    return jnp.append(obs.ravel().astype(jnp.float32), 1.0)


def _format_halves(rate: np.ndarray, halves: int) -> list[str]:
    per_half = PERIOD // 2 // WINDOW
    parts = [rate[:, i * per_half : (i + 1) * per_half] for i in range(halves)]
    spread = np.sqrt(max(1, len(rate)))
    return [f"{p.mean():.4f} ± {p.mean(1).std() / spread:.4f}" for p in parts]


def _write_lives(rates: Mapping[str, np.ndarray], path: Path) -> None:
    whole = np.stack(list(rates.values()))
    _, lives, windows = whole.shape
    columns = {
        "agent": np.asarray(list(rates))[:, None, None],
        "life": np.arange(lives)[:, None],
        "step": (np.arange(windows) + 1) * WINDOW,
        "reward_per_step": whole,
    }
    write_columns(path, columns)


def _draw(rates: Mapping[str, np.ndarray], path: Path) -> None:
    with open_figure(path, 8, 4) as figure:
        axes = figure.subplots()
        for agent, rate in rates.items():
            axes.plot((np.arange(rate.shape[1]) + 1) * WINDOW, rate.mean(0), label=agent)
        axes.set(xlabel="step", ylabel="reward per step", title="Foods change sign every 10,000 steps")
        figure.legend(loc="outside lower center", ncols=len(rates), frameon=False)
