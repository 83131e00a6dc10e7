"""The two results of the fisheries paper, our numbers beside the published ones.

Quotas: gym_fishing's `fishing-v1` with sigma 0.1, 99 harvests from 0.75. Tipping point: `conservation-v6`, 500 years.
Published figures are means and standard deviations over replicates, from the paper's own result files
(Lapeyrolerie et al. 2022); those marked «replica» were measured on a replica of the published code with the
published agent's weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.tables import Table
from harvestgym.fishing import control
from harvestgym.fishing.analysis import tipping
from harvestgym.fishing.analysis.dynamic_programming import Solution, solve
from harvestgym.fishing.conservation import ConservationParams, DriverModel
from harvestgym.fishing.family import make
from harvestgym.fishing.model import FishingModel

HARVESTS, YEARS = 99, 500

TITLES = {"quota": "quota problem, 99 harvests", "tipping": "tipping point, 500 years"}

FRESH = 70_001
"""Seed of the episodes that a trained agent is reported on: none of them was seen while its settings were chosen."""


class Row(NamedTuple):
    """A policy on a problem: the published return, if there is one, and ours."""

    problem: str
    policy: str
    published: str
    mean: float
    sd: float


def run(
    replicates: int = 1000,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    train_steps: int = 0,
) -> Table:
    """The table of the study; with `out`, also as `fishing.parquet` (extra `data`) and a picture there.

    Args:
        replicates: episodes per policy.
        out: a folder for the files.
        progress: told 1 for each policy that is done.
        train_steps: years of training of a PPO agent on the quota problem (needs the extra `sb3`); 0 for none.
            200 000 come close to the optimum; the published TD3 agent had 300 000.
    """
    rows = []
    for row in (*_quotas(replicates, train_steps), *_tipping(replicates)):
        rows.append(row)
        progress(1)
    if out is not None:
        _write(rows, out)
    texts = [(r.problem, r.policy, r.published, _text(r)) for r in rows]
    return Table(f"return, mean ± sd over {replicates} episodes", ("problem", "policy", "published", "here"), texts)


def _text(row: Row) -> str:
    """Our figure, empty for an agent of which only the published figure is known."""
    return "" if np.isnan(row.mean) else f"{row.mean:.3f} ± {row.sd:.3f}"


def quota_problem(harvests: int = HARVESTS) -> FishingModel:
    """The published quota problem: logistic growth, additive noise in proportion to what is left."""
    return make("logistic-v0", noise={"kind": "proportional", "sigma": 0.1}, Tmax=harvests)


def tipping_problem() -> DriverModel:
    """The published tipping problem: noise of median one, the driver hidden."""
    env = make("driver-hidden-v0", noise={"kind": "median-lognormal", "sigma": 0.2}, Tmax=YEARS)
    assert isinstance(env, DriverModel)
    return env


def _quotas(replicates: int, train_steps: int) -> Iterator[Row]:
    env, key = quota_problem(), jax.random.key(0)
    (best,), _ = control.tune(env, control.escapement, (0.2,), (0.8,), key=jax.random.key(1))
    rules = {
        ("escapement 0.5", "7.532 ± 0.454"): control.escapement(env, 0.5),
        ("TD3 tuned, published agent", "7.522 ± 0.504"): None,
        ("TD3 untuned, published agent", "6.662 ± 0.288"): None,
        ("MSY quota", ""): control.quota(env, 0.075),
        (f"escapement tuned to {best:.3f}", ""): control.escapement(env, best),
        ("dynamic programming, horizon known", ""): control.dated_table(env, _undiscounted(env)),
    }
    for (name, published), rule in rules.items():
        found = _returns(env, rule, key, replicates) if rule else np.full(2, np.nan)
        yield Row("quota", name, published, float(found.mean()), float(found.std()))
    if train_steps:
        found = _trained(env, train_steps, replicates)
        yield Row("quota", f"PPO trained here, {train_steps} years", "", float(found.mean()), float(found.std()))


def _undiscounted(env: FishingModel) -> Solution:
    """The optimum of the sum of rewards over the horizon, which is what is reported."""
    return solve(env, years=int(env.params.horizon), discount=1.0)


def _tipping(replicates: int) -> Iterator[Row]:
    env, key = tipping_problem(), jax.random.key(2)
    params = env.params
    assert isinstance(params, ConservationParams)
    (best,), _ = control.tune(env, tipping.steady, (0.0,), (1.0,), key=jax.random.key(3), rounds=4, candidates=16)
    rules = {
        ("no action", "44.84 ± 4.9 (replica)"): tipping.steady(env, 0.0),
        ("steady 0.3, the paper's baseline", "70.6 ± 29.3 (replica)"): tipping.steady(env, 0.3),
        ("TD3, published agent", "143.2 ± 7.5 (replica)"): None,
        (f"steady, tuned to {best:.3f}", ""): tipping.steady(env, best),
        ("dynamic programming in stock and driver", ""): tipping.follow(env, tipping.plan_actions(env, params, YEARS)),
    }
    for (name, published), rule in rules.items():
        found = _returns(env, rule, key, replicates) if rule else np.full(2, np.nan)
        yield Row("tipping", name, published, float(found.mean()), float(found.std()))


def _returns(env: FishingModel, rule: Policy, key: jax.Array, replicates: int) -> np.ndarray:
    return np.asarray(evaluate(env, rule, key, replicates, int(env.params.horizon)).returns)


def _trained(env: FishingModel, steps: int, replicates: int) -> np.ndarray:
    """Returns of a PPO agent trained here, in 32 lanes; each replicate is one episode of its mean action."""
    from stable_baselines3 import PPO

    from harvestgym.adapters.sb3 import SB3VecEnv
    from harvestgym.gym.vector_env import VecEnv

    agent = PPO(
        "MlpPolicy", SB3VecEnv(env, 32), gamma=0.995, n_steps=64, batch_size=512, n_epochs=8, learning_rate=1e-3,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -2.0}, device="cpu", seed=0,
    )  # fmt: skip
    agent.learn(steps)
    lanes = VecEnv(env, replicates)
    obs, _ = lanes.reset(seed=FRESH)
    total, live = np.zeros(replicates), np.ones(replicates, bool)
    for _ in range(int(env.params.horizon)):
        action, _ = agent.predict(obs, deterministic=True)
        obs, reward, terminated, truncated, _ = lanes.step(action)
        total += reward * live
        live &= ~(terminated | truncated)
    return total


def _write_table(rows: list[Row], path: Path) -> None:
    """A row per policy; mean and sd are missing where only the published figure is known."""
    import pyarrow
    import pyarrow.parquet

    columns = zip(Row._fields, zip(*rows, strict=True), strict=True)
    table = {name: pyarrow.array([None if value != value else value for value in values]) for name, values in columns}
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def _write(rows: list[Row], out: Path) -> None:
    from matplotlib.figure import Figure

    out.mkdir(parents=True, exist_ok=True)
    _write_table(rows, out / "fishing.parquet")
    drawing = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, problem in zip(drawing.subplots(1, 2), TITLES, strict=True):
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
    drawing.savefig(out / "fishing.png", dpi=110)
