"""Fit of a stock: known parameters come back within their standard errors, and every rule refuses its case."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.fit import STOCK_GROWTH, RefusedStockError, StockFit, fit_stock
from harvestgym.fishing.growth import Logistic
from harvestgym.fishing.spec import GROWTH_LAWS

TRUTHS: dict[str, dict[str, float]] = {
    "logistic": {"r": 0.4, "K": 5000.0},
    "fox": {"r": 0.3, "K": 5000.0},
    "pella-tomlinson": {"r": 1.2, "K": 5000.0, "theta": 3.0},
}
RHO, SIGMA = 0.5, 0.02


def fish(law: str, seed: int, years: int = 100, sigma: float = SIGMA, rho: float = RHO) -> dict[str, Any]:
    """Return the columns of a stock that is fished down to 0.15 K and recovers, over and over."""
    rng, truth = np.random.default_rng(seed), TRUTHS[law]
    factor, low = STOCK_GROWTH[law][1], 0.15 * truth["K"]
    stock, error, closed, rows = 0.9 * truth["K"], sigma * rng.normal(), False, []
    for _ in range(years):
        closed = stock < low or (closed and stock < 0.9 * truth["K"])
        catch = 0.02 * stock if closed else 0.4 * stock
        rows.append((stock, catch))
        left = stock - catch
        stock = left * factor(left, *truth.values()) * np.exp(error)
        error = rho * error + sigma * np.sqrt(1 - rho**2) * rng.normal()
    biomass, caught = np.transpose(rows)
    return {"years": np.arange(1900, 1900 + years), "biomass": biomass, "catch": caught}


def find_scores(fit: StockFit, truth: dict[str, float]) -> dict[str, float]:
    """Return the errors of the values in units of their standard errors."""
    gaps = {
        name: float(np.arctanh(fit.values[name]) - np.arctanh(value) if name == "correlation"
                    else np.log(fit.values[name] / value)) for name, value in truth.items()
    }  # fmt: skip
    return {name: gap / fit.standard_errors[name] for name, gap in gaps.items()}


@pytest.mark.parametrize("law", TRUTHS)
def test_known_parameters_come_back_within_their_standard_errors(law: str) -> None:
    """Over ten seeds: all errors are below 3.5 standard errors, and their mean square is near 1."""
    truth = TRUTHS[law] | {"correlation": RHO, "sigma": SIGMA}
    fits = [fit_stock(**fish(law, seed)) for seed in range(10)]
    assert [fit.law for fit in fits].count(law) >= 9, "the law is identified by the AICc"
    scores = [find_scores(fit, truth) for fit in fits if fit.law == law]
    squares = np.square([list(score.values()) for score in scores])
    assert squares.max() < 3.5**2 and 0.4 < squares.mean() < 2.0, squares.mean(axis=0)
    assert all(0 < fit.standard_errors["r"] < 0.2 for fit in fits), "errors are small, not only consistent"


@pytest.mark.parametrize("law", TRUTHS)
def test_the_growth_factors_are_those_of_the_laws(law: str) -> None:
    left = np.geomspace(0.01, 1.1, 30) * TRUTHS[law]["K"]
    expected = GROWTH_LAWS[law](**TRUTHS[law])(jnp.asarray(left, jnp.float32))
    np.testing.assert_allclose(left * STOCK_GROWTH[law][1](left, *TRUTHS[law].values()), expected, rtol=2e-6)


def test_a_fit_describes_itself() -> None:
    """Its law and reference point are those of its values, and its errors belong to its medians."""
    fit = fit_stock(**fish("logistic", 0))
    law: Any = fit.growth_law
    assert type(law) is Logistic and (law.r, law.K) == (fit.values["r"], fit.values["K"])
    r, scale = fit.values["r"], fit.values["K"]
    assert fit.reference_point.catch == pytest.approx(r * scale / 4, rel=1e-4)
    assert fit.reference_point.rate == pytest.approx((r / 4) / (0.5 + r / 4), rel=1e-4)
    assert fit.msy["logistic"] == pytest.approx(fit.reference_point.catch, rel=1e-4) and len(fit.msy) > 1
    left = (fit.biomass - fit.catch)[:-1]
    np.testing.assert_allclose(fit.median, np.asarray(law(jnp.asarray(left))), rtol=1e-5)
    np.testing.assert_allclose(np.exp(fit.errors), fit.biomass[1:] / fit.median, rtol=1e-9)
    assert fit.r_squared > 0.9 and abs(np.corrcoef(fit.residuals[1:], fit.residuals[:-1])[0, 1]) < 0.25
    low, high = fit.intervals()["r"]
    assert low < r < high and np.log(high / r) == pytest.approx(1.96 * fit.standard_errors["r"])
    low, high = fit.intervals()["correlation"]
    assert -1 < low < fit.values["correlation"] < high < 1


def test_intervals_of_reference_points_are_those_of_functions_of_the_parameters() -> None:
    """Schaefer's F_MSY is a function of r alone, and MSY is r K / 4."""
    fit = fit_stock(**fish("logistic", 0))
    low, high = fit.reference_interval()
    slope = 1 / (1 + fit.values["r"] / 2)  # of log F_MSY = log(r / (2 + r)) with log r
    assert np.log(high.rate / low.rate) == pytest.approx(2 * 1.96 * slope * fit.standard_errors["r"], rel=0.01)
    together = np.sqrt(fit.covariance.sum())
    assert np.log(high.catch / low.catch) == pytest.approx(2 * 1.96 * together, rel=0.01)
    assert low.stock < fit.reference_point.stock < high.stock
    narrow = fit.reference_interval(z=1.0)[1].catch
    assert np.log(narrow / fit.reference_point.catch) == pytest.approx(together, rel=0.01)


@pytest.mark.parametrize("law", TRUTHS)
def test_reference_points_come_back_within_their_intervals(law: str) -> None:
    truth, inside = find_reference_point(GROWTH_LAWS[law](**TRUTHS[law])), []
    for seed in range(10):
        low, high = fit_stock(**fish(law, seed)).reference_interval()
        inside += [low[i] <= truth[i] <= high[i] for i in range(1, 4)]
    assert sum(inside) >= 24, "about 95 % of 30"


def test_the_unit_of_biomass_changes_only_the_capacity() -> None:
    columns = fish("fox", 1)
    tons = fit_stock(**columns)
    kilos = fit_stock(columns["years"], 1000 * columns["biomass"], 1000 * columns["catch"])
    for name, value in tons.values.items():
        assert kilos.values[name] == pytest.approx(value * (1000 if name == "K" else 1), rel=1e-5)
    assert fit_stock(**columns).values == tons.values, "the same table gives the same numbers"


def test_the_longest_run_without_a_gap_is_used() -> None:
    """Unknown amounts and missing years end a run; of two equally long runs, the later is used."""
    columns = fish("logistic", 2, years=92)
    columns["biomass"][30] = np.nan
    assert fit_stock(**columns).years[[0, -1]].tolist() == [1931, 1991]
    kept = columns["years"] != 1961
    fit = fit_stock(*(columns[name][kept] for name in ("years", "biomass", "catch")))
    assert fit.years[[0, -1]].tolist() == [1962, 1991] and len(fit.biomass) == len(fit.errors) + 1 == 30


def spoil(name: str, change: Any) -> dict[str, Any]:
    """Return a stock with a changed column."""
    columns = fish("logistic", 3, years=40)
    columns[name] = change(columns[name])
    return columns


def put(value: float, year: int = 25) -> Any:
    """Return a function that changes the value of one year."""
    return lambda column: np.where(np.arange(len(column)) == year, value, column)


def walk(seed: int, years: int = 40, sigma: float = 0.2, drift: float = 0.0) -> dict[str, Any]:
    """Return a stock that grows at random, regardless of its size."""
    rng = np.random.default_rng(seed)
    stock = np.exp(np.cumsum(sigma * rng.normal(size=years)) + drift * np.arange(years))
    return {"years": np.arange(years), "biomass": stock, "catch": 1e-3 * stock}


CASES: dict[str, tuple[int, str, Any]] = {
    "a gap": (1, "20 years in a row", lambda: spoil("biomass", put(np.nan, 19))),
    "too few years": (1, "got 19 of 19 rows", lambda: fish("logistic", 0, years=19)),
    "no biomass": (2, "biomass above 0", lambda: spoil("biomass", put(0.0))),
    "a negative catch": (2, "no catch below 0", lambda: spoil("catch", put(-1.0))),
    "no catches": (2, "one above 0", lambda: spoil("catch", np.zeros_like)),
    "another unit": (3, "same unit", lambda: spoil("catch", lambda column: 1000 * column)),
    "unlimited growth": (5, "between the bounds", lambda: walk(0, sigma=0.01, drift=0.2)),
    "a random walk": (6, "random walk", lambda: walk(0)),
    "growth of one direction": (7, "standard errors", lambda: walk(1, sigma=0.01, drift=0.2)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_rule_refuses_its_case(case: str) -> None:
    rule, words, make = CASES[case]
    columns = make()
    if case == "a gap":
        columns = {name: column[:39] for name, column in columns.items()}
    with pytest.raises(RefusedStockError, match=words) as caught:
        fit_stock(**columns)
    assert caught.value.rule == rule and f"rule {rule}" in str(caught.value)


def test_a_law_may_be_chosen() -> None:
    best, other = (fit_stock(**fish("fox", 0), law=law) for law in (None, "logistic"))
    assert (best.law, other.law) == ("fox", "logistic") and best.aicc == other.aicc
    assert other.reference_point.catch == pytest.approx(best.msy["logistic"], rel=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"law": "foxx"}, "law: .*got 'foxx'; try 'fox'"),
        ({"years": np.arange(40)[::-1]}, "ascending integers"),
        ({"years": np.arange(40) + 0.5}, "ascending integers"),
        ({"catch": np.ones(39)}, "same length"),
    ],
)
def test_a_table_that_is_none_is_an_error(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fit_stock(**(fish("logistic", 0, years=40) | change))
