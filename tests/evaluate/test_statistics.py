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
from harvestgym.evaluate.statistics import (
    estimate_mean,
    estimate_share,
    format_mean,
    interquartile_mean,
    resample_means,
    summarise,
)
from harvestgym.farm.family import from_yaml
from tests.long_form import long

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


@pytest.mark.parametrize(("hits", "number"), [(0, 5), (3, 5), (5, 5), (41, 400)])
def test_the_interval_of_a_share_is_that_of_wilson(hits: int, number: int) -> None:
    values = np.arange(number) < hits
    found, own = estimate_share(values), summarise(values)
    expected = scipy.stats.binomtest(hits, number).proportion_ci(method="wilson")
    assert found == pytest.approx((hits / number, expected.low, expected.high))
    assert (own.mean, own.low, own.high) == found and 0 <= own.low < own.high <= 1


def test_a_bootstrap_sample_draws_blocks_then_seasons() -> None:
    """Blocks of one season (0) and of three (1): the draws AA, AB or BA, and BB have the means 0, 3/4 and 1.

    In one block of two seasons, 0 and 1, the means are 0, 1/2 and 1. The chances are 1/4, 1/2 and 1/4.
    """
    for row, blocks, expected in (([1.0, 0, 1, 1], [7, 3, 7, 7], 0.75), ([0.0, 1], [5, 5], 0.5)):
        own, twin = resample_means([row, [3 * value + 1 for value in row]], blocks, seed=0, resamples=40_000)
        means, counts = np.unique(own, return_counts=True)
        assert means.tolist() == [0, expected, 1]
        np.testing.assert_allclose(counts / 40_000, [0.25, 0.5, 0.25], atol=0.01)
        np.testing.assert_allclose(twin, 3 * own + 1)


def test_bootstrap_samples_vary_between_and_within_blocks() -> None:
    """The variance of the mean is that of G block means over G, plus that of the seasons within a block over n."""
    rng = np.random.default_rng(1)
    rows, blocks = rng.normal(size=200) + np.repeat(rng.normal(size=10), 20), np.repeat(np.arange(10), 20)
    of_block = rows.reshape(10, 20)
    variance = of_block.mean(1).var() / 10 + of_block.var(1).mean() / 200
    assert resample_means([rows], blocks, 0, 20_000).var() == pytest.approx(variance, rel=0.05)


@long
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
    for name in ("mean", "cvar10", "low", "high", "iqm"):
        assert getattr(two, name) == pytest.approx(scale * getattr(one, name) + shift), name
    assert two.sd == pytest.approx(scale * one.sd)


def test_float32_returns_are_summed_in_float64() -> None:
    """Their sum needs more digits than float32 has."""
    sample = np.full(1000, 2.0**20 + 0.5, np.float32)
    assert summarise(sample).mean == 2.0**20 + 0.5


def test_a_mean_is_written_with_its_interval() -> None:
    assert str(summarise(np.full(3, 1.23456))) == "1.235 (1.235 to 1.235)" == format_mean(1.23456, 1.23456, 1.23456)


def test_the_interquartile_mean_agrees_with_a_published_example() -> None:
    """The example of Wikipedia, "Interquartile mean": twelve numbers whose middle half has the mean 6.5."""
    assert interquartile_mean([[5, 8, 4, 38, 8, 6, 9, 7, 7, 3, 1, 6]]) == pytest.approx(6.5)
    assert summarise([5, 8, 4, 38, 8, 6, 9, 7, 7, 3, 1, 6]).iqm == pytest.approx(6.5)
    assert interquartile_mean([[5, 8, 4, 38, 8, 6], [9, 7, 7], [3, 1, 6]]) == pytest.approx(6.5), "strata are joined"


def test_clusters_of_one_value_are_independent_values() -> None:
    sample = np.random.default_rng(2).gamma(2.0, size=30)
    assert estimate_mean(sample, np.arange(30)) == pytest.approx(estimate_mean(sample))


def test_the_interval_by_year_agrees_with_a_computation_by_hand() -> None:
    """Two years with means 1 and 3: sums of deviations are -2 and 2, se² = 2 (4 + 4) / 16 = 1, t of 1 degree 12.706."""
    found = estimate_mean([0.5, 1.5, 2.5, 3.5], [2014, 2014, 2015, 2015])
    assert found == pytest.approx((2.0, 2.0 - 12.7062, 2.0 + 12.7062), abs=1e-4)


def test_equal_clusters_have_the_interval_of_their_means() -> None:
    """With clusters of one size, it is Student's interval of the means of the clusters."""
    means = np.array([0.2, 0.9, 0.4, 0.5, 0.7])
    sample = (means[:, None] + np.array([-0.1, 0.0, 0.1])).ravel()
    low, high = scipy.stats.t.interval(0.95, 4, means.mean(), scipy.stats.sem(means))
    assert estimate_mean(sample, np.repeat(np.arange(5), 3)) == pytest.approx((means.mean(), low, high))


def test_one_year_says_nothing_of_others() -> None:
    assert estimate_mean([1.0, 2.0], [2014, 2014])[1:] == (-np.inf, np.inf)


def test_clustered_intervals_cover_the_mean_where_independent_ones_do_not() -> None:
    """500 samples of 10 years with 20 seasons, most variance between years; 0.05 within three standard deviations."""
    rng, years = np.random.default_rng(4), np.repeat(np.arange(10), 20)
    draws = rng.normal(size=(500, 10, 1)) + 0.5 * rng.normal(size=(500, 10, 20))
    missed = [
        [not e.low <= 0 <= e.high for e in (estimate_mean(x, years), estimate_mean(x))] for x in draws.reshape(500, -1)
    ]
    clustered, independent = np.mean(missed, 0)
    assert abs(clustered - 0.05) < 0.03 and independent > 0.5
