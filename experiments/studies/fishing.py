"""The two results of the fisheries paper, with our numbers next to the published ones.

Quotas: gym_fishing's `fishing-v1` with sigma 0.1, 99 harvests from 0.75. Tipping point: `conservation-v6`, 500 years.
Published figures are means and standard deviations over replicates, from the paper's own result files (Lapeyrolerie et
al. 2022); figures marked "replica" were measured on a replica of the published code with the published agent's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from harvestgym.core.episode import seed_key
from harvestgym.core.errors import check_extras
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.fishing import control
from harvestgym.fishing.analysis import tipping
from harvestgym.fishing.analysis.dynamic_programming import Solution, solve
from harvestgym.fishing.conservation import ConservationParams, DriverModel
from harvestgym.fishing.family import make
from harvestgym.fishing.model import FishingModel

from .common.report import open_figure, write_columns

HARVESTS, YEARS = 99, 500

TITLES = {"quota": "quota problem, 99 harvests", "tipping": "tipping point, 500 years"}

TRAINING_SEED, TEST_SEED = 0, 70_001
"""Seeds for training an agent and for the reported episodes, which were not used to choose its settings."""


Rules = Mapping[tuple[str, str], Policy | None]
"""Policies by name and published return; None for an agent that has only a published return."""


class PolicyReturn(NamedTuple):
    """A policy on a problem: the published return, if any, and ours."""

    problem: str
    policy: str
    published: str
    mean: float
    sd: float


def run(
    replicates: int = 1000,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    train_steps: int = 0,
    seed: int = TEST_SEED,
) -> Table:
    """Tabulate the published returns and ours.

    Args:
        replicates, out, progress: as in every study; progress counts policies.
        train_steps: years of training of a PPO agent on the quota problem (needs the extra `sb3`); 0 for none. The
            return after 200 000 years is close to the optimum; the published TD3 agent was trained for 300 000.
        seed: seed of the reported episodes, which are the same for all policies; agents are trained on other episodes.
    """
    rows = []
    for row in (*_run_quotas(replicates, train_steps, seed), *_run_tipping(replicates, seed)):
        rows.append(row)
        progress(1)
    if out is not None:
        _write_table(rows, out / "fishing.parquet")
        _draw(rows, out / "fishing.png")
    texts = [(r.problem, r.policy, r.published, _format_return(r)) for r in rows]
    return Table(f"return, mean ± sd over {replicates} episodes", ("problem", "policy", "published", "here"), texts)


def _format_return(row: PolicyReturn) -> str:
    """Format our figure; empty for an agent that has only a published figure."""
    return "" if np.isnan(row.mean) else f"{row.mean:.3f} ± {row.sd:.3f}"


def tune_rule(
    env: FishingModel,
    build: Callable[..., Policy],
    low: tuple[float, ...],
    high: tuple[float, ...],
    *,
    key: jax.Array,
    rounds: int = 6,
    candidates: int = 32,
    episodes: int = 64,
) -> tuple[tuple[float, ...], float]:
    """Tune a rule's numbers for the best mean return, by the cross-entropy method; return both.

    `build(env, *numbers)` makes the policy. All candidates run on the same episodes, so differences in return are due
    to the rule alone. Returns the mean of the final elite, within [low, high].
    """
    ends = np.asarray([low, high], np.float64)
    rng = np.random.default_rng(int(jax.random.bits(key)))
    centre, spread = ends.mean(0), (ends[1] - ends[0]) / 2
    years = int(env.params.horizon)
    for round_ in range(rounds):
        given = np.clip(rng.normal(centre, spread, (candidates, len(low))), *ends)
        trial = jax.random.fold_in(key, round_)
        worth = [float(np.mean(evaluate(env, build(env, *row), trial, episodes, years).returns)) for row in given]
        elite = given[np.argsort(worth)[-candidates // 4 :]]
        centre, spread = elite.mean(0), elite.std(0) + 1e-4 * (ends[1] - ends[0])
    final = evaluate(env, build(env, *centre), jax.random.fold_in(key, rounds), episodes, years).returns
    return tuple(float(v) for v in centre), float(np.mean(final))


def make_quota_problem(harvests: int = HARVESTS) -> FishingModel:
    """Make the published quota problem: logistic growth, with additive noise proportional to the escapement.

    As published, the stock that remains at the end has no price.
    """
    return make("logistic-v0", noise={"kind": "proportional", "sigma": 0.1}, Tmax=harvests, final_price=0.0)


def make_tipping_problem() -> DriverModel:
    """Make the published tipping problem, with a saturating benefit, noise with median one, and a hidden driver."""
    env = make("driver-v0", satiation=1.0, noise={"kind": "median-lognormal", "sigma": 0.2}, Tmax=YEARS)
    assert isinstance(env, DriverModel)
    return env


def _run_quotas(replicates: int, train_steps: int, seed: int) -> Iterator[PolicyReturn]:
    env = make_quota_problem()
    (best,), _ = tune_rule(env, control.escapement, (0.2,), (0.8,), key=jax.random.key(1))
    rules = {
        ("escapement 0.5", "7.532 ± 0.454"): control.escapement(env, 0.5),
        ("TD3 tuned, published agent", "7.522 ± 0.504"): None,
        ("TD3 untuned, published agent", "6.662 ± 0.288"): None,
        ("MSY quota", ""): control.quota(env, 0.075),
        (f"escapement tuned to {best:.3f}", ""): control.escapement(env, best),
        ("dynamic programming, horizon known", ""): control.follow_solution(env, _solve_undiscounted(env)),
    }
    yield from run_rules("quota", env, rules, seed, replicates)
    if train_steps:
        found = _train_and_run(env, train_steps, replicates, seed)
        yield _make_row("quota", f"PPO trained here, {train_steps} years", "", found)


def _solve_undiscounted(env: FishingModel) -> Solution:
    """Solve for the optimal undiscounted sum of rewards over the horizon, since this is the reported return."""
    return solve(env, years=int(env.params.horizon), discount=1.0)


def _run_tipping(replicates: int, seed: int) -> Iterator[PolicyReturn]:
    env = make_tipping_problem()
    params = env.params
    assert isinstance(params, ConservationParams)
    (best,), _ = tune_rule(env, tipping.steady_push, (0.0,), (1.0,), key=jax.random.key(3), rounds=4, candidates=16)
    rules = {
        ("no action", "44.84 ± 4.9 (replica)"): tipping.steady_push(env, 0.0),
        ("steady 0.3, the paper's baseline", "70.6 ± 29.3 (replica)"): tipping.steady_push(env, 0.3),
        ("TD3, published agent", "143.2 ± 7.5 (replica)"): None,
        (f"steady, tuned to {best:.3f}", ""): tipping.steady_push(env, best),
        ("dynamic programming in stock and driver", ""): tipping.follow_plan(
            env, tipping.plan_actions(env, params, YEARS)
        ),
    }
    yield from run_rules("tipping", env, rules, seed, replicates)


def run_rules(problem: str, env: FishingModel, rules: Rules, seed: int, replicates: int) -> Iterator[PolicyReturn]:
    """Run each policy in the same episodes, starting with the episode of `reset(seed=seed)`."""
    for (name, published), rule in rules.items():
        found = evaluate(env, rule, seed_key(seed), replicates, int(env.params.horizon)).returns if rule else [np.nan]
        yield _make_row(problem, name, published, np.asarray(found))


def _make_row(problem: str, name: str, published: str, returns: np.ndarray) -> PolicyReturn:
    return PolicyReturn(problem, name, published, float(returns.mean()), float(returns.std()))


def _train_and_run(env: FishingModel, steps: int, replicates: int, seed: int) -> np.ndarray:
    """Train a PPO agent in 32 environments; compute the return of one episode per replicate, with its mean actions."""
    check_extras("train_steps", sb3="stable_baselines3")
    from stable_baselines3 import PPO

    from harvestgym.adapters.sb3 import SB3VecEnv
    from harvestgym.gym.vector_env import VecEnv

    agent = PPO(
        "MlpPolicy", SB3VecEnv(env, 32), gamma=0.995, n_steps=64, batch_size=512, n_epochs=8, learning_rate=1e-3,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -2.0}, device="cpu", seed=TRAINING_SEED,
    )  # fmt: skip
    agent.learn(steps)
    envs = VecEnv(env, replicates)
    obs, _ = envs.reset(seed=seed)
    total, live = np.zeros(replicates), np.ones(replicates, bool)
    for _ in range(int(env.params.horizon)):
        action, _ = agent.predict(obs, deterministic=True)
        obs, reward, terminated, truncated, _ = envs.step(action)
        total += reward * live
        live &= ~(terminated | truncated)
    return total


def _write_table(rows: list[PolicyReturn], path: Path) -> None:
    """Write a row per policy; mean and sd are missing if only the published figure is known."""
    columns = zip(PolicyReturn._fields, zip(*rows, strict=True), strict=True)
    write_columns(path, {name: [None if value != value else value for value in values] for name, values in columns})


def _draw(rows: list[PolicyReturn], path: Path) -> None:
    with open_figure(path, 11, 3.8) as figure:
        for axes, problem in zip(figure.subplots(1, 2), TITLES, strict=True):
            some = [row for row in rows if row.problem == problem][::-1]
            for height, row in enumerate(some):
                if row.published:
                    mean, sd = (float(v) for v in row.published.split(" (")[0].split(" ± "))
                    axes.errorbar(mean, height - 0.12, xerr=sd, fmt="o", color="#8a8a8a", label="published")
                axes.errorbar(row.mean, height + 0.12, xerr=row.sd, fmt="o", color="#1b4965", label="here")
            names = [row.policy for row in some]
            axes.set(yticks=range(len(some)), yticklabels=names, ylim=(-0.5, len(some) - 0.5))
            axes.set(title=TITLES[problem], xlabel="return, mean and sd")
            named = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
            axes.legend(named.values(), named.keys(), frameon=False, fontsize=8)
