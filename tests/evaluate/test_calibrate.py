"""Calibration: parameters come back from a series that they made, and a measured maize from what was measured."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.calibrate import (
    Fit,
    Series,
    curves,
    find_parameter,
    find_watched,
    fit,
    fitted,
    set_parameters,
)
from harvestgym.evaluate.least_squares import descend_or_evolve, evolve
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.engine.model import FarmModel
from tests.load_script import script
from tests.long_form import long

from .reeds import reeds

TOLERANCE = 0.05
FEW = 3
"""Seasons of a candidate; the series that is fitted is the median of the same seasons."""


@pytest.fixture(scope="module")
def maize() -> Any:
    """Return the example of the docs as a module."""
    return script("examples/calibrate_maize.py")


@long
def test_parameters_of_a_plant_come_back_from_the_heights_that_they_made(maize: Any) -> None:
    """Within 5 %, from the range of the example, on the days on which heights were measured."""
    env, days = maize.farm("1877"), maize.height("1877").day
    truth = {"Field-0/Plant-0/size_max#cm": 190.0, "Field-0/Plant-0/clock/grow_sum#°C.day": 950.0}
    expert, free = policy_named(maize.ID, env, "expert"), {path: maize.FREE[path] for path in truth}
    curve = curves(env, fitted(env, truth), [maize.HEIGHT], expert, FEW, days=maize.DAYS)[maize.HEIGHT]
    found = fit(env, free, [Series(maize.HEIGHT, days, curve[days])], expert, FEW)
    for path, value in truth.items():
        assert found.values[path] == pytest.approx(value, rel=TOLERANCE) != pytest.approx(found.before[path], rel=0.2)
    assert found.rmse[maize.HEIGHT] < 2 < found.rmse_before[maize.HEIGHT]


@long
def test_measured_maize_is_smaller_and_later_than_corn(maize: Any) -> None:
    """Parameters fitted to one year help in the next: at most a third of the error on 1877, less than half on 1878."""
    values = {
        "Field-0/Plant-0/size_max#cm": 205.0, "Field-0/Plant-0/clock/seed_sum#°C.day": 65.0,
        "Field-0/Plant-0/clock/grow_sum#°C.day": 957.0,
    }  # fmt: skip
    for year, share in (("1877", 1 / 3), ("1878", 1 / 2)):
        env, series = maize.farm(year), maize.height(year)
        assert maize.error(env, fitted(env, values), series) < share * maize.error(env, env.params, series)


def test_several_series_and_entries_are_fitted_at_once() -> None:
    """The spring flows evenly in the mean, so that the reed's store identifies its thirst and the spring the rest."""
    env = reeds()
    water, store = "Field-0/Spring-0/available_Water#L", "Field-0/Reed-0/cumulated_water#L"
    truth = {"Field-0/Spring-0/flow#L.day-1": 2.0, "Field-0/Reed-0/thirst#L.day-1": 0.7}
    made = curves(env, fitted(env, truth), [water, store], seasons=4, days=20)
    series = [Series(name, np.arange(0, 21, 4), made[name][::4]) for name in (water, store)]
    found = fit(env, dict.fromkeys(truth, (0.1, 4.0)), series, seasons=4)
    assert found.values == pytest.approx(truth, rel=0.02)
    assert set(found.rmse) == {water, store} and max(found.rmse.values()) < 0.2


def test_the_heights_of_the_example_are_a_series(maize: Any) -> None:
    series = maize.height("1878")
    assert len(series.day) == 16 and series.day[0] == 8 and series.value.max() == pytest.approx(157.1)


def test_unknown_paths_are_refused_with_the_nearest() -> None:
    env = reeds()
    with pytest.raises(ConfigError, match="try 'thirst#L.day-1'"):
        find_parameter(env, "Field-0/Reed-0/thirst")
    with pytest.raises(ConfigError, match="group of parameters"):
        find_parameter(env, "Field-0/Reed-0/grow/thirst")
    with pytest.raises(ConfigError, match="path: expected a path such as"):
        find_parameter(env, "Reed-0.thirst")
    with pytest.raises(ConfigError, match="expected a known entity, got 'size#cm'"):
        find_watched(env, "size#cm")


WATER, STORE = "Field-0/Spring-0/available_Water#L", "Field-0/Reed-0/cumulated_water#L"
FLOW, THIRST = "Field-0/Spring-0/flow#L.day-1", "Field-0/Reed-0/thirst#L.day-1"


@pytest.fixture(scope="module")
def farm() -> FarmModel:
    return reeds()


def test_parameters_are_set_where_their_path_says(farm: FarmModel) -> None:
    """Only these change, all others are the same arrays, and what is set is read again."""
    truth = {FLOW: 2.5, THIRST: 0.25}
    params = fitted(farm, truth)
    spring, reed = params.fields[0].entities
    assert (float(spring.flow), float(reed.thirst)) == (2.5, 0.25)
    assert float(farm.params.fields[0].entities[0].flow) == 1.0, "the farm keeps its own"
    changed = [not np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (params, farm.params)), strict=True)]
    assert sum(changed) == len(truth)


def test_no_values_are_the_parameters_of_the_farm(farm: FarmModel) -> None:
    for mine, theirs in zip(*map(jax.tree.leaves, (fitted(farm, {}), farm.params)), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_value_that_the_parameter_does_not_allow_is_refused(farm: FarmModel) -> None:
    with pytest.raises(ConfigError, match=rf"{FLOW}: expected a number from 0 to .*, got -1"):
        fitted(farm, {FLOW: -1.0})


def test_a_parameter_is_found_among_the_leaves(farm: FarmModel) -> None:
    leaves = jax.tree.leaves(farm.params)
    spring, reed = farm.params.fields[0].entities
    for path, value in ((FLOW, spring.flow), (THIRST, reed.thirst)):
        found = find_parameter(farm, path)
        assert leaves[found.leaf] is value and found.entries == ()
    params = set_parameters(farm.params, [find_parameter(farm, FLOW)], jnp.float32([3.0]))
    assert float(params.fields[0].entities[0].flow) == 3.0


def test_curves_begin_at_the_start_and_are_the_median_season(farm: FarmModel) -> None:
    """One season is its own median; the curve of a shorter time is the beginning of that of a longer one."""
    whole = curves(farm, farm.params, [WATER, STORE], seasons=5, days=12)
    assert list(whole) == [WATER, STORE] and {len(curve) for curve in whole.values()} == {13}
    short = curves(farm, farm.params, [STORE], seasons=5, days=5)
    np.testing.assert_allclose(short[STORE], whole[STORE][:6], rtol=1e-6)
    assert (np.diff(whole[STORE]) >= 0).all(), "a reed that nobody cuts only drinks"


def test_a_thirstier_reed_stores_in_proportion_while_the_spring_suffices(farm: FarmModel) -> None:
    plenty = {FLOW: 50.0}
    stores = [
        curves(farm, fitted(farm, plenty | {THIRST: thirst}), [STORE], seasons=2, days=10)[STORE]
        for thirst in (0.2, 0.4)
    ]
    np.testing.assert_allclose(stores[1], 2 * stores[0], rtol=1e-5)


def test_a_fit_does_not_leave_its_ranges_and_is_no_worse_than_the_start(farm: FarmModel) -> None:
    """The truth lies outside of the range: the fit ends at its border, and the error of the start is reported."""
    days = np.arange(1, 11)
    made = curves(farm, fitted(farm, {FLOW: 50.0, THIRST: 0.9}), [STORE], seasons=2, days=10)[STORE]
    series = Series(STORE, days, made[days])
    found = fit(farm, {THIRST: (0.1, 0.6)}, [series], seasons=2)
    assert 0.1 <= found.values[THIRST] <= 0.6 and found.before == {THIRST: 1.0}
    assert found.rmse[STORE] <= found.rmse_before[STORE] or found.before[THIRST] > 0.6
    assert float(found.params.fields[0].entities[1].thirst) == pytest.approx(found.values[THIRST])


def test_each_step_of_a_search_reports_the_best_values_so_far(farm: FarmModel) -> None:
    days, lines = np.arange(1, 8), list[str]()
    made = curves(farm, fitted(farm, {THIRST: 0.5}), [STORE], seasons=2, days=7)[STORE]
    fit(farm, {THIRST: (0.1, 2.0)}, [Series(STORE, days, made[days])], seasons=2, say=lines.append)
    losses = [float(line.rpartition(" error ")[2].partition(":")[0]) for line in lines]
    assert losses == sorted(losses, reverse=True) and lines[0].startswith("2 candidates, least mean squared error ")
    assert float(lines[-1].rpartition(f"{THIRST} = ")[2]) == pytest.approx(0.5, rel=0.05)


def test_one_seed_gives_one_fit(farm: FarmModel) -> None:
    days = np.arange(1, 8)
    made = curves(farm, fitted(farm, {THIRST: 0.5}), [STORE], seasons=2, days=7)[STORE]
    one, two = (fit(farm, {THIRST: (0.1, 2.0)}, [Series(STORE, days, made[days])], seasons=2)
                for _ in range(2))  # fmt: skip
    assert one.values == two.values and one.rmse == two.rmse


def test_another_start_is_another_search_in_the_same_seasons(farm: FarmModel) -> None:
    days = np.arange(1, 8)
    made = curves(farm, fitted(farm, {THIRST: 0.5}), [STORE], seasons=2, days=7)[STORE]
    free, series, short = {THIRST: (0.1, 2.0)}, [Series(STORE, days, made[days])], partial(evolve, generations=3)
    starts = [fit(farm, free, series, seasons=2, search=short, start_seed=start) for start in (0, 1, 2)]
    assert len({found.values[THIRST] for found in starts}) == 3
    assert fit(farm, free, series, seasons=2, search=short).values == starts[0].values


def test_one_entry_of_a_stacked_parameter_is_set() -> None:
    env: Any = harvestgym.make("farm/bean-1x1-v0")
    params = fitted(env, {"Field-0/Plant-0/grow/P_grow_consumption#g.mm-1": 3.0})
    before, after = (p.fields[0].entities[2].grow.nutrients for p in (env.params, params))
    assert after.tolist() == [before[0], 3.0, before[2], before[3]]


def test_a_smooth_series_needs_a_tenth_of_the_seasons(farm: FarmModel) -> None:
    """With noise of 5 % of the spread: the same loss as the evolution's, and intervals that contain the truth."""
    days, truth = np.arange(2, 21, 2), {FLOW: 2.0, THIRST: 0.7}
    made = curves(farm, fitted(farm, truth), [WATER, STORE], seasons=4, days=20)
    rng = np.random.default_rng(0)
    noisy = {name: made[name][days] + 0.05 * np.ptp(made[name]) * rng.normal(size=len(days)) for name in made}
    series = [Series(name, days, value.astype(np.float32)) for name, value in noisy.items()]
    free = dict.fromkeys(truth, (0.1, 4.0))
    found, evolved = (fit(farm, free, series, seasons=4, search=search) for search in (descend_or_evolve, evolve))
    assert found.how == "least squares" and found.seasons <= evolved.seasons / 10
    assert found.loss <= 1.01 * evolved.loss
    for path, (low, high) in found.intervals.items():
        assert low < truth[path] < high < low + 1.0, path


@long
def test_soil_water_under_corn_needs_a_tenth_of_the_seasons() -> None:
    """Three parameters from 28 noisy days of soil water, in four farms: all in all a tenth, and errors as small."""
    watering = {"do": "Soil-0.watering_discrete", "amount#L": 20, "duration#min": 60, "every#day": 5}
    start = {"init": {"Field-0": {"Weather-0": {"day#int365": [128]}}}}
    env: Any = harvestgym.make("farm/corn-1x1-v0", soil="loam", rules=start, expert=[watering])
    farmer, water = policy_named("farm/corn-1x1-v0", env, "expert"), "Field-0/Soil-0/available_Water#L"
    ranges = {
        "Field-0/Soil-0/depth#m": (0.3, 1.2), "Field-0/Plant-0/grow/Water_evapo_alpha_1#cm-1": (0.002, 0.008),
        "Field-0/Plant-0/clock/grow_sum#°C.day": (400.0, 1500.0),
    }  # fmt: skip
    days = np.arange(20, 131, 4)
    fits: list[tuple[Fit, Fit]] = []
    for seed, truth in enumerate(
        [(0.8, 0.003, 950.0), (1.0, 0.005, 1200.0), (0.7, 0.0045, 700.0), (0.45, 0.006, 600.0)]
    ):
        made = curves(env, fitted(env, dict(zip(ranges, truth, strict=True))), [water], farmer, 4, days=130)[water]
        value = made[days] + np.random.default_rng(seed).normal(0, 6, len(days))
        series = [Series(water, days, value.astype(np.float32))]
        found, evolved = (fit(env, ranges, series, farmer, 4, search=search) for search in (descend_or_evolve, evolve))
        fits.append((found, evolved))
        assert found.how == "least squares" and found.rmse[water] < 1.05 * evolved.rmse[water]
        low, high = found.intervals["Field-0/Soil-0/depth#m"]
        assert low < truth[0] < high < low + 0.05
    mine, theirs = (sum(pair[i].seasons for pair in fits) for i in (0, 1))
    print(f"{mine} seasons instead of {theirs}")
    assert mine <= theirs / 10
