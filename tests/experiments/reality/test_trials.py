"""The field trials: error measures, readers, weather of the trials, and the stored results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from experiments.reality import sealed
from experiments.reality.trials import thompson, tomato, water
from experiments.reality.trials.climates import DES_MOINES, write_climate
from experiments.reality.trials.files import (
    DATA,
    Layers,
    copy_weather,
    read_columns,
    read_irrigation,
    read_layers,
    read_measured_days,
    read_measured_water,
    read_parameters,
    water_to_depth,
)
from experiments.reality.trials.measures import bootstrap, find_supply, measure_errors, rank_correlation
from experiments.reality.trials.nutrients import LB_PER_ACRE, compare_responses
from harvestgym.evaluate.calibrate import curves
from harvestgym.farm.entities.weather.site import read_site
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.weather_data.normals import MONTH_LENGTHS
from harvestgym.farm.weather_data.table import read_table
from tests.long_form import long

STARS = "*" * 72
RESULTS = Path(__file__).parents[3] / "experiments" / "results" / "reality-trials.json"


def _write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join((STARS, "a title", STARS, "Comments: a plot", STARS, *lines)), encoding="utf-8")
    return path


def test_errors_are_those_of_the_protocol() -> None:
    """By hand, from d = 1 - sum(e²) / sum((|p - 4| + |m - 4|)²) with the mean 4."""
    measured, predicted = np.array([2.0, 3.0, 4.0, 7.0]), np.array([3.0, 2.0, 6.0, 7.0])
    found = measure_errors(predicted, measured)
    spread = (1 + 2) ** 2 + (2 + 1) ** 2 + (2 + 0) ** 2 + (3 + 3) ** 2
    assert found["rmse"] == pytest.approx(np.sqrt(6 / 4))
    assert found["nrmse_percent"] == pytest.approx(100 * np.sqrt(1.5) / 4)
    assert found["bias"] == pytest.approx(0.5)
    assert found["d"] == pytest.approx(1 - 6 / spread)
    assert found["r"] == pytest.approx(stats.pearsonr(predicted, measured)[0])
    assert found["n"] == 4


def test_a_constant_prediction_has_no_correlation() -> None:
    constant, varying = np.full(5, 2.0), np.arange(5.0)
    assert np.isnan(measure_errors(constant, varying)["r"]) and np.isnan(rank_correlation(constant, varying))


def test_tied_ranks_are_means() -> None:
    """Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: r = 4.5 / sqrt(4.5 * 5)."""
    found = rank_correlation(np.array([0.0, 5.0, 5.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert found == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_a_bootstrap_interval_of_a_mean_agrees_with_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap(lambda rows: float(values[rows].mean()), 400, 4000)
    error = stats.norm.ppf(0.975) * values.std() / 20
    assert low == pytest.approx(values.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(values.mean() + error, abs=0.1 * error)


def test_the_supply_at_95_percent_is_interpolated() -> None:
    assert find_supply(np.array([0.0, 50.0, 100.0, 150.0]), np.array([4.0, 9.0, 10.0, 8.0])) == pytest.approx(75.0)
    assert find_supply(np.array([0.0, 50.0]), np.array([9.6, 10.0])) == 0.0


def test_relative_yields_do_not_depend_on_units() -> None:
    here, there = np.array([0.2, 0.5, 0.4]), np.array([60.0, 100.0, 90.0])
    found, other = (compare_responses(factor * here, there) for factor in (1.0, 10.0))
    assert found["rmse_of_relative_yield"] == pytest.approx(np.sqrt((0.2**2 + 0.1**2) / 3))
    assert other["rmse_of_relative_yield"] == pytest.approx(found["rmse_of_relative_yield"])
    assert found["rho"] == pytest.approx(1.0)


def test_pounds_per_acre_are_converted() -> None:
    assert pytest.approx(1.12085, rel=1e-4) == 10_000 * LB_PER_ACRE


def test_parameters_are_read_by_name(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "a.par", "   0.2400 Kcmini, Kc Initial (FAO-56 Table 12)", "   1.0500 Zrmax, Rooting Depth (m)"
    )
    assert read_parameters(path) == {"Kcmini": 0.24, "Zrmax": 1.05}


def test_layers_are_read_from_the_surface_down(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "a.sol", "Depth thetaFC thetaWP  theta0", "   15   0.300   0.100   0.200", "   45 0.2 0.1 0.15"
    )
    found = read_layers(path)
    assert found.bottom.tolist() == [15, 45] and found.capacity.tolist() == [0.3, 0.2]
    assert found.wilting.tolist() == [0.1, 0.1] and found.initial.tolist() == [0.2, 0.15]
    assert water_to_depth(found.bottom, found.capacity, 45) == pytest.approx(15 * 3 + 30 * 2)


def test_a_depth_within_a_layer_counts_its_part_and_one_below_all_layers_is_an_error() -> None:
    bottom, content = np.array([15.0, 45.0]), np.array([0.3, 0.2])
    assert water_to_depth(bottom, content, 25) == pytest.approx(15 * 3 + 10 * 2)
    with pytest.raises(ValueError, match="at most 45 cm"):
        water_to_depth(bottom, content, 50)


def test_days_without_irrigation_are_left_out(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.irr", "Year-DOY  Depth     fw", "2023-103  50.80   1.00", "2023-143   0.00   1.00")
    assert read_irrigation(path) == {103: 50.8}


def test_measured_water_is_summed_to_the_depth(tmp_path: Path) -> None:
    rows = "2023-156  2  15  45 0.300 0.200 0.300 nan", "2023-166  2  15  45 0.100 0.100 0.300 nan"
    path = _write(tmp_path / "a.sws", "Year-DOY  n D01 D02 SWC01 SWC02 Zr mDr", *rows)
    assert read_measured_days(path).tolist() == [156, 166]
    assert read_measured_water(path, 25).tolist() == pytest.approx([65.0, 25.0])


def test_a_day_that_does_not_exist_is_left_out(tmp_path: Path) -> None:
    lines = ["Year-DOY Srad", "2023-365 7.2", "2023-366 8.0", "2024-366 8.0"]
    (tmp_path / "a.wth").write_text("\n".join(lines), encoding="utf-8")
    copy_weather(tmp_path / "a.wth", tmp_path / "b.wth")
    assert (tmp_path / "b.wth").read_text(encoding="utf-8").splitlines() == [lines[0], lines[1], lines[3]]


def test_only_the_named_columns_of_a_table_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('"env"\t"Irr"\tyield\nE1\t1\t22\nE2\t0\tNA\n', encoding="utf-8")
    found = read_columns(path, ["env", "Irr"])
    assert set(found) == {"env", "Irr"}
    assert found["env"].tolist() == ["E1", "E2"] and found["Irr"].tolist() == ["1", "0"]


def test_a_site_has_the_stated_monthly_values(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    write_climate(DES_MOINES, path)
    found = read_site(path).normals
    assert np.asarray(found.t_min) == pytest.approx(DES_MOINES.t_min, abs=1e-3)
    assert np.asarray(found.t_max) == pytest.approx(DES_MOINES.t_max, abs=1e-3)
    rainy = np.asarray(found.rain_per_rainy_day) * np.asarray(found.rainy) * MONTH_LENGTHS
    assert np.all((rainy > 0.9 * DES_MOINES.rain) & (rainy <= 1.001 * DES_MOINES.rain))  # the rest is drizzle


def test_a_state_and_year_keep_the_monthly_means_of_the_trial() -> None:
    stated = {"rain0": 20.0, "temp5": 60.0, "rain6": 3.0, "temp6": 70.0, "rain7": 1.0, "temp7": 80.0, "rain8": 4.0,
              "temp8": 75.0}  # fmt: skip
    found = thompson.make_months("Iowa", stated)
    mean = (found.t_min + found.t_max) / 2
    assert mean[4:8] * 1.8 + 32 == pytest.approx([60, 70, 80, 75])
    assert found.rain[5:8] / 25.4 == pytest.approx([3, 1, 4])
    assert found.rain[thompson.BEFORE].sum() / 25.4 == pytest.approx(20)
    assert found.t_max - found.t_min == pytest.approx(DES_MOINES.t_max - DES_MOINES.t_min)


def test_a_tomato_environment_has_its_mean_temperature_and_rain() -> None:
    at = {"MeT": 20.0, "MnT": 10.0, "MxT": 34.0, "Prec": 220.0, "Dha": 110.0, "Lat": 33.0}
    found = tomato.make_months(at)
    assert np.all(found.t_max - found.t_min == 12) and np.all((found.t_max + found.t_min) / 2 == 20)
    assert np.all(found.rain == pytest.approx(60)) and np.all(found.rainy == 0.25)


def test_slopes_are_found_behind_trends_that_differ_by_state() -> None:
    generator = np.random.default_rng(1)
    state, year = np.repeat(["A", "B", "C"], 30), np.tile(np.arange(1930.0, 1960.0), 3)
    drivers = generator.normal([80.0, 24.0], [30.0, 1.5], (90, 2))
    trend = {"A": 0.1, "B": 0.5, "C": -0.2}
    own = np.array([trend[s] for s in state]) * (year - 1945)
    yields = 50 + own + drivers @ [0.05, -1.0] + (state == "B") * 7
    found = thompson.measure_response(state, year, drivers, yields)
    assert found["rain7"]["percent"] == pytest.approx(10 * 0.05 * 100 / yields.mean())
    assert found["temp7"]["percent"] == pytest.approx(-100 / yields.mean())
    assert found["temp7"]["interval"] == pytest.approx([found["temp7"]["percent"]] * 2)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_results_are_those_of_the_frozen_protocol(results: dict[str, Any]) -> None:
    trials = [found for name, found in results.items() if name != "searches"]
    assert {trial["protocol"] for trial in trials} == {sealed.VERSIONS[0]} and len(trials) == 5


def test_the_stored_errors_are_those_of_the_stored_series(results: dict[str, Any]) -> None:
    found = results["water"]
    at, half = np.array(found["days"]) - found["sown"], found["first_half"]
    measured = np.array(found["measured_mm"])
    for name, key, rows in (
        ("blind", "blind_mm", slice(None)),
        ("calibrated, second half", "calibrated_mm", slice(half, None)),
    ):
        errors = measure_errors(np.array(found[key])[at[rows]], measured[rows])
        assert errors["rmse"] == pytest.approx(found["errors"][name]["rmse"], rel=2e-3)


@pytest.mark.skipif(not DATA.exists(), reason="the measured data are not part of the project")
def test_the_plot_of_the_trial_is_read_whole(results: dict[str, Any], tmp_path: Path) -> None:
    plot = water.read_plot(water.PLOT)
    assert plot.depth == 105 and min(plot.irrigation) == 180
    content = plot.water(plot.layers.capacity) / 1050
    assert content == pytest.approx(read_parameters(water.PLOT.with_suffix(".par"))["thetaFC"], abs=1e-4)
    assert read_measured_days(water.PLOT.with_suffix(".sws")).tolist() == results["water"]["days"]
    copy_weather(water.WEATHER, tmp_path / "a.wth")
    table = read_table(tmp_path / "a.wth", columns=water.COLUMNS)
    assert len(table) == 365 and 30 < table.days.humidity.mean() < 90


@long
def test_the_farm_starts_with_the_water_of_its_soil_and_gets_each_irrigation(tmp_path: Path) -> None:
    """A dry May without rain: after the first irrigation, of more than an order can give, the soil has gained it."""
    rows = [f"2023-{day:03d} 20 24 12 NaN 5 0.8 0.4 1.5 0 5 M" for day in range(1, 366)]
    head = ["S Reference crop - Short ('S') or Tall ('T')", "1427 Weather station elevation (z) (m)",
            "40.4 Weather station latitude (decimal degrees)", "2.0 Wind speed measurement height (m)", "",
            "Daily weather data:", "Year-DOY Srad Tmax Tmin Vapr Tdew RHmax RHmin Wndsp Rain ETref MorP"]  # fmt: skip
    weather = _write(tmp_path / "a.wth", *head, *rows)
    layers = Layers(*np.array([[15, 0.3, 0.1, 0.15], [105, 0.2, 0.1, 0.15]]).T)
    env = water.make_farm(water.Plot(layers, 100, {water.SOWN + 4: 33.0}), weather)
    found = curves(env, env.params, [water.WATER], rule_policy(env), 2, days=8)[water.WATER]
    assert found[0] == pytest.approx(150) and np.ptp(found[:5]) < 3
    assert 27 < found[5] - found[4] < 33  # some of it evaporates on the same day
    assert found[4:].max() == found[5]
