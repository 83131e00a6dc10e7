"""Risk measures against values worked out by hand, their definitions, and what every one of them must keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from harvestgym.core.config import Strict, validate
from harvestgym.core.errors import ConfigError
from harvestgym.core.risk import (
    MEASURES,
    CVaR,
    Entropic,
    Expectation,
    MeanVariance,
    Measure,
    Quantile,
    Risk,
    parse_measure,
)

samples = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40)
every = pytest.mark.parametrize("kind", MEASURES.values(), ids=list(MEASURES))


class Entry(Strict):
    risk: Risk = None


def test_cvar_by_hand() -> None:
    values = np.arange(10.0)[::-1]
    assert CVaR(level=0.1)(values) == 0.0
    assert CVaR(level=0.2)(values) == 0.5
    assert CVaR(level=0.25)(values) == pytest.approx((0 + 1 + 0.5 * 2) / 2.5)
    assert CVaR(level=1.0)(values) == 4.5


@given(samples, st.floats(0.01, 1.0))
def test_cvar_is_the_best_threshold_of_rockafellar_and_uryasev(values: list[float], level: float) -> None:
    """CVaR_a = max over z of z - E[(z - X)+] / a, reached at one of the values."""
    x = np.asarray(values)
    best = max(z - np.maximum(z - x, 0).mean() / level for z in x)
    assert CVaR(level=level)(x) == pytest.approx(best, abs=1e-6)


@given(samples, st.integers(1, 20))
def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed(values: list[float], twentieths: int) -> None:
    x, level = np.asarray(values), twentieths / 20
    enough = [v for v in x if (x <= v).mean() >= level - 1e-12]
    assert Quantile(level=level)(x) == min(enough)


@given(samples, st.floats(0.01, 3.0))
def test_the_entropic_measure_is_a_log_sum_of_exponentials(values: list[float], aversion: float) -> None:
    x = np.asarray(values)
    expected = -(special.logsumexp(-aversion * x) - np.log(len(x))) / aversion
    assert Entropic(aversion=aversion)(x) == pytest.approx(expected, abs=1e-6)


def test_the_entropic_measure_is_the_sure_return_of_the_same_utility() -> None:
    x = np.random.default_rng(0).gamma(2.0, size=500)
    worth = lambda sure: np.mean(np.exp(-0.7 * x)) - np.exp(-0.7 * sure)  # noqa: E731
    assert Entropic(aversion=0.7)(x) == pytest.approx(optimize.brentq(worth, x.min(), x.max()), abs=1e-9)


def test_of_a_normal_return_mean_variance_and_entropic_are_one() -> None:
    """10^6 draws: mean 3, variance 4, aversion 0.5 give 3 - 0.25 * 4 = 2, within 0.02 (about five standard errors)."""
    x = np.random.default_rng(1).normal(3.0, 2.0, 1_000_000)
    for measure in (MeanVariance(aversion=0.5), Entropic(aversion=0.5)):
        assert measure(x) == pytest.approx(2.0, abs=0.02)


@every
@given(samples)
def test_a_sure_return_is_worth_itself_and_a_risky_one_at_most_its_mean(
    kind: type[Measure], values: list[float]
) -> None:
    x = np.asarray(values)
    assert kind()(np.full(7, x[0])) == pytest.approx(x[0], abs=1e-9)
    if kind is not Quantile:
        assert kind()(x) <= Expectation()(x) + 1e-6
    assert kind()(x) == pytest.approx(kind()(x[::-1]), rel=1e-9, abs=1e-6), "the order of episodes is nothing"


@every
@given(samples, st.floats(-50, 50))
def test_money_in_hand_is_worth_what_it_is(kind: type[Measure], values: list[float], sure: float) -> None:
    """A sum paid in any case adds that sum."""
    x = np.asarray(values)
    assert kind()(x + sure) == pytest.approx(kind()(x) + sure, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("kind", [CVaR, Quantile, Entropic, Expectation])
@given(samples, st.lists(st.floats(0, 100), min_size=40, max_size=40))
def test_more_in_every_case_is_never_worth_less(kind: type[Measure], values: list[float], more: list[float]) -> None:
    """Mean-variance does not keep this: a gain that only spreads the returns may lower it."""
    x = np.asarray(values)
    assert kind()(x + np.asarray(more)[: len(x)]) >= kind()(x) - 1e-6


@every
def test_a_measure_reads_and_writes_itself(kind: type[Measure]) -> None:
    again = parse_measure(kind().model_dump())
    assert again == kind() and str(again).startswith(kind().measure)
    with pytest.raises(ValueError, match="expected at least one return"):
        again([])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"measure": "cvr"}, "risk measure: expected a known name, got 'cvr'; try 'cvar'"),
        ({"measure": ["cvar"]}, "risk measure: expected a known name"),
        ({"measure": "cvar", "levl": 0.1}, "levl: expected a known key, got 'levl'; try 'level'"),
        ({"measure": "cvar", "level": 0}, "expected to be greater than 0|expected greater than 0"),
        ({"measure": "quantile", "level": 1.5}, "less than or equal to 1"),
        ({"measure": "entropic", "aversion": "much"}, "aversion: expected"),
        ({"level": 0.1}, "expected a mapping such as"),
        ("cvar", "expected a mapping such as"),
    ],
)
def test_mistakes_are_refused_with_the_nearest_name(entry: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"risk: (.|\n)*{message}"):
        validate(Entry, {"risk": entry}, "score")
