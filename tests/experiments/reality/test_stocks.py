"""The fits of US stocks: simulation, rules of refusal and comparison of reference points."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from experiments.reality import sealed, stocks
from harvestgym.fishing.fit import StockFit, fit_stock
from harvestgym.fishing.us_stocks import STOCKS_FILE

ABOUT = {"stock_id": "1", "stock": "A cod - Bay / Coast", "biomass_is": "Spawning Stock Biomass", "b_unit": "mt",
         "bmsy": "200", "bmsy_basis": "Direct Estimate", "msy": "20", "msy_unit": "Metric Tons", "fmsy": "0.1",
         "f_unit": "Exploitation Rate"}  # fmt: skip


def simulated(years: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the years, biomass and catch of a stock with r 0.4, K 1000 and little noise."""
    rng, x = np.random.default_rng(1), [900.0]
    catch = np.concatenate([np.full(years // 2, 110.0), np.full(years - years // 2, 30.0)])
    for year in range(years - 1):
        left = x[-1] - catch[year]
        x.append((left + 0.4 * left * (1 - left / 1000)) * np.exp(0.05 * rng.standard_normal()))
    return np.arange(1980, 1980 + years), np.asarray(x), catch


@pytest.fixture(scope="module")
def fit() -> StockFit:
    return fit_stock(*simulated())


def test_the_catches_of_a_record_without_errors_give_the_medians_of_the_law(fit: StockFit) -> None:
    """One simulated year from each biomass of the record has the fit's median; errors spread it by sigma."""
    for year in (0, 10, 38):
        start, catch = float(fit.biomass[year]), float(fit.catch[year])
        biomass, caught = stocks.simulate(fit, start, lambda x, _, c=catch: np.full(x.shape, c), 1, (20_000,), 0)
        assert caught == pytest.approx(catch)
        logs = np.log(biomass[:, 1] / fit.median[year])
        assert logs.mean() == pytest.approx(0.0, abs=4 * fit.values["sigma"] / np.sqrt(20_000))
        assert logs.std() == pytest.approx(fit.values["sigma"], rel=0.03)


def test_a_tuned_rule_catches_nearly_the_msy(fit: StockFit) -> None:
    """With noise of 5 %, no rule can catch more than a few per cent above MSY for long, and a tuned one comes close."""
    start, years = fit.reference_point.stock, 60
    rule = stocks.tune_ramp(fit, start, years, seed=0)
    caught = stocks.simulate(fit, start, lambda x, _: stocks.ramp(rule, x), years, (100,), 5)[1].mean()
    assert 0.93 < caught / fit.reference_point.catch < 1.1


def test_rule_four_refuses_relative_biomass() -> None:
    years = simulated()
    for change in ({"b_unit": "million larvae"}, {"biomass_is": "Relative Index"}):
        with pytest.raises(stocks.RefusedStockError, match="rule 4"):
            stocks.fit_series(stocks.Series(ABOUT | change, *years))
    few = stocks.Series(ABOUT | {"b_unit": "Billion Eggs"}, *(column[:10] for column in years))
    with pytest.raises(stocks.RefusedStockError, match="rule 1"):
        stocks.fit_series(few)
    assert stocks.fit_series(stocks.Series(ABOUT, *years)).law


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"MSY": 20.0, "B_MSY": 200.0, "F_MSY": 0.1}),
        ({"msy_unit": "Thousand lbs", "f_unit": "1-SPR", "bmsy_basis": "B35%"}, {}),
        ({"b_unit": "Thousand Metric Tons", "msy": ""}, {"B_MSY": 200_000.0, "F_MSY": 0.1}),
        ({"b_unit": "mt (female biomass only)", "f_unit": "Relative Exploitation Rate"}, {"MSY": 20.0}),
        ({"bmsy_basis": "Bmsy proxy", "f_unit": "Annual F"}, {"MSY": 20.0}),
    ],
)
def test_only_reference_points_of_the_same_meaning_are_compared(
    change: dict[str, str], expected: dict[str, float]
) -> None:
    assert stocks.find_published(ABOUT | change) == expected


def test_the_name_and_the_split_follow_from_the_record() -> None:
    series = stocks.Series(ABOUT, *simulated())
    assert series.name == "a-cod-bay-coast"
    assert series.held_out
    assert not stocks.Series(ABOUT | {"stock_id": "3"}, *simulated()).held_out


@pytest.mark.skipif(not stocks.DATA.exists(), reason="the shared data are not in the package")
def test_the_shipped_table_is_the_fit_of_the_data() -> None:
    """The fit of three stocks gives their rows."""
    by_name = {series.name: series for series in stocks.read_series()}
    with STOCKS_FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows[:: len(rows) // 3]:
        made = stocks.make_row(row[0], by_name[row[0]], stocks.fit_series(by_name[row[0]]))
        numbers = [float(value) for value in row[6:]]
        assert [float(value) for value in made[6:]] == pytest.approx(numbers, rel=1e-3, nan_ok=True)


def test_the_results_cite_a_version_of_the_protocol() -> None:
    found = json.loads(stocks.RESULTS.read_text(encoding="utf-8"))
    assert {part["protocol"] for part in found.values()} <= set(sealed.VERSIONS)
