"""The summary of a sample of returns, and the measure of a farm's own score where results are reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.risk import CVaR
from harvestgym.evaluate.run import evaluate_id
from harvestgym.evaluate.statistics import format_mean, summarise
from harvestgym.farm.family import from_yaml

FARM = """
fields:
  Field-0:
    localization: {latitude#°: 47.4, longitude#°: -122.3, altitude#m: 130}
    shape: {length#nb: 1, width#nb: 1}
    entities: [[Weather, seattle], [Soil, clay]]
rules: {horizon#day: 6}
scoring: {intervention_cost: 1, risk: {measure: cvar, level: 0.25}}
"""
"""Fallow, as orders to water cost the same without a plant, and it compiles in a third of the time."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "farm.yaml"
    path.write_text(FARM, encoding="utf-8")
    return path


def test_a_summary_has_the_mean_and_the_worst_tenth() -> None:
    reported = summarise(np.arange(20.0))
    assert reported.mean == 9.5 and reported.cvar10 == 0.5 and reported.low < 9.5 < reported.high


def test_the_interval_covers_the_mean_about_95_times_in_100() -> None:
    """2,000 samples of 200: the share of misses is 0.05 within 0.015 (three standard deviations)."""
    rng = np.random.default_rng(0)
    draws = rng.gamma(2.0, size=(2000, 200))
    reported = [summarise(sample) for sample in draws]
    missed = np.mean([not s.low <= 2.0 <= s.high for s in reported])
    assert abs(missed - 0.05) < 0.015


def test_the_measure_of_a_score_is_reported(file: Path) -> None:
    """Random orders at a cost of one each spread the returns, so that the measure is below the mean."""
    reported = evaluate_id(str(file), "random", episodes=40)
    wanted = CVaR(level=0.25)(reported.returns)
    assert reported.risk == CVaR(level=0.25) and wanted < reported.returns.mean()
    args = ["run", str(file), "--policy", "random", "--episodes", "40"]
    numbers = json.loads(CliRunner().invoke(app, [*args, "--json"]).stdout)["return"]
    assert numbers["risk"] == {"measure": "cvar", "level": 0.25, "value": pytest.approx(wanted)}
    assert f"cvar level 0.25 │ {wanted:.3f}".replace(" ", "") in CliRunner().invoke(app, args).stdout.replace(" ", "")


def test_a_measure_that_is_none_is_refused_with_its_place(file: Path) -> None:
    with pytest.raises(ConfigError, match="scoring > risk: risk measure: expected a known name, got 'cvr'; try 'cvar'"):
        from_yaml(file, scoring={"risk": {"measure": "cvr"}})


@pytest.mark.parametrize("size", [2, 5, 400])
def test_the_summary_agrees_with_scipy(size: int) -> None:
    """Student's t makes the interval of two returns 12.7 standard errors wide either way."""
    sample = np.random.default_rng(3).gamma(2.0, size=size)
    found = summarise(sample)
    low, high = scipy.stats.t.interval(0.95, size - 1, sample.mean(), scipy.stats.sem(sample))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)
    assert found.sd == pytest.approx(scipy.stats.tstd(sample)) and found.mean == pytest.approx(sample.mean())


@pytest.mark.parametrize("size", [1, 2, 9, 10, 11, 95, 1000])
def test_the_worst_tenth_is_the_integral_of_the_lower_quantiles(size: int) -> None:
    """CVaR is the mean of the quantile function below the level (Rockafellar and Uryasev 2000), for any sample size."""
    sample = np.random.default_rng(size).normal(size=size)
    levels = (np.arange(20_000) + 0.5) / 20_000 * 0.1
    wanted = np.quantile(sample, levels, method="inverted_cdf").mean()
    assert summarise(sample).cvar10 == pytest.approx(wanted, abs=2e-3)


def test_equal_returns_have_no_spread() -> None:
    found = summarise(np.full(50, -2.5))
    assert (found.mean, found.cvar10, found.low, found.high) == pytest.approx((-2.5,) * 4) and found.sd == 0


def test_one_return_is_its_own_summary() -> None:
    found = summarise(np.asarray([4.0]))
    assert (found.mean, found.sd, found.low, found.high) == (4.0, 0.0, 4.0, 4.0)


@pytest.mark.parametrize(("scale", "shift"), [(2.0, 0.0), (1.0, -7.0), (0.5, 3.0)])
def test_a_summary_follows_a_change_of_unit(scale: float, shift: float) -> None:
    sample = np.random.default_rng(5).gamma(2.0, size=100)
    one, two = summarise(sample), summarise(scale * sample + shift)
    for name in ("mean", "cvar10", "low", "high"):
        assert getattr(two, name) == pytest.approx(scale * getattr(one, name) + shift), name
    assert two.sd == pytest.approx(scale * one.sd)


def test_float32_returns_are_summed_in_float64() -> None:
    """Their sum needs more digits than float32 has."""
    sample = np.full(1000, 2.0**20 + 0.5, np.float32)
    assert summarise(sample).mean == 2.0**20 + 0.5


def test_a_mean_is_written_with_its_interval() -> None:
    assert str(summarise(np.full(3, 1.23456))) == "1.235 (1.235 to 1.235)" == format_mean(1.23456, 1.23456, 1.23456)
