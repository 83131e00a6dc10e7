"""The study of fisheries: its short form against the published means, and its problems against closed forms."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import fishing
from harvestgym.fishing import control
from harvestgym.fishing.family import make

EPISODES = 400


def errors(spread: float) -> float:
    """Five standard errors of the mean of all episodes, where one has this standard deviation."""
    return 5 * spread / EPISODES**0.5


def test_study(tmp_path: Path) -> None:
    """Our escapement meets the re-simulated 7.599, the tipping problem its replica; files are written."""
    done: list[int] = []
    table = fishing.run(EPISODES, tmp_path, done.append)
    ours = {row[1]: row[3] for row in table.rows}
    mean = {name: float(text.split(" ± ")[0]) for name, text in ours.items() if text}
    assert mean["escapement 0.5"] == pytest.approx(7.599, abs=errors(0.49))
    assert mean["no action"] == pytest.approx(44.84, abs=errors(4.9))
    tuned = next(value for name, value in mean.items() if name.startswith("steady, tuned"))
    plan = mean["dynamic programming in stock and driver"]
    assert 143.2 < 158 < tuned < plan and plan == pytest.approx(183.6, abs=errors(4.9))
    assert mean["dynamic programming, horizon known"] > mean["escapement 0.5"] + 0.3
    assert len(done) == len(table.rows)
    assert pyarrow.parquet.read_table(tmp_path / "fishing.parquet").num_rows == len(table.rows)
    assert (tmp_path / "fishing.png").stat().st_size > 0


def test_the_quota_problem_is_that_of_the_paper() -> None:
    """Logistic growth of rate 0.3 from 0.75 of a capacity of 1; half the capacity yields the most, r K / 4."""
    env = fishing.make_quota_problem()
    assert int(env.params.horizon) == fishing.HARVESTS
    stock = np.linspace(0.01, 0.99, 99, dtype=np.float32)
    surplus = np.asarray(env.params.law(stock)) - stock
    assert stock[surplus.argmax()] == pytest.approx(0.5) and surplus.max() == pytest.approx(0.3 / 4, rel=1e-4)
    assert float(env.params.start) == 0.75 and float(env.params.noise.sigma) == pytest.approx(0.1)


def test_problems_can_be_shortened() -> None:
    assert int(fishing.make_quota_problem(5).params.horizon) == 5
    assert int(fishing.make_tipping_problem().params.horizon) == fishing.YEARS


def test_tuning_finds_the_escapement() -> None:
    """Over 100 undiscounted years the best constant escapement is close to S*, and liquidation pulls it down."""
    env = make("logistic-v0", sigma=0.05)
    (best,), worth = fishing.tune_rule(
        env, control.escapement, (0.0,), (1.0,), key=jax.random.key(0), rounds=4, candidates=16, episodes=32
    )
    assert 0.44 < best < 0.52 and 7.3 < worth < 8.0
