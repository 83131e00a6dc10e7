"""The study of risk: its short form, and the choice of an escapement by a measure."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import risk
from experiments.studies.common.findings import bootstrap
from experiments.studies.risk import NoiseReturns
from harvestgym.core.risk import CVaR, Expectation
from harvestgym.evaluate.statistics import summarise


def test_the_best_on_average_is_not_the_best_of_the_worst_tenth(tmp_path: Path) -> None:
    table = risk.run(1000, tmp_path, sigmas=(0.05, 0.1), escapements=(0.5, 0.7, 0.78, 0.82, 0.86, 0.9))
    kept = pyarrow.parquet.read_table(tmp_path / "risk.parquet").to_pydict()
    returns = np.asarray(kept["return"]).reshape(2, 6, 1000)
    chosen = {(row[0], row[1]): float(row[2]) for row in table.rows}
    assert chosen["0.1", "CVaR 10 %"] == 0.5 and chosen["0.1", "mean"] > 0.7
    bold, careful = returns[1, 4], returns[1, 0]
    assert summarise(bold - careful).low > 0.4, "who leaves much earns more on average"
    worst = partial(bootstrap, CVaR(level=0.1), resamples=risk.MEASURE_RESAMPLES)
    assert worst(careful).low > worst(bold).high + 0.2
    assert (tmp_path / "risk.png").stat().st_size > 0


SAFE, BOLD = np.full(100, 2.0), np.concatenate([np.zeros(10), np.full(90, 3.0)])
"""A sure return, and one that is higher in the mean but nothing in the worst tenth."""


def test_the_measures_choose_differently_between_a_sure_and_a_bold_policy() -> None:
    found = NoiseReturns(0.1, np.stack([SAFE, BOLD]))
    np.testing.assert_allclose(found.value_by(Expectation()), [2.0, 2.7])
    np.testing.assert_allclose(found.value_by(CVaR(level=0.1)), [2.0, 0.0], atol=1e-12)
    assert risk.find_best(found, "mean") == 1 and risk.find_best(found, "CVaR 10 %") == 0


@pytest.mark.parametrize("level", [0.1, 0.25, 1.0])
def test_a_mean_of_the_worst_never_exceeds_the_mean(level: float) -> None:
    draws = np.random.default_rng(0).gamma(2.0, size=(5, 200))
    found = NoiseReturns(0.1, draws)
    worst, mean = found.value_by(CVaR(level=level)), found.value_by(Expectation())
    assert (worst <= mean + 1e-12).all() and np.allclose(worst, mean) == (level == 1.0)
