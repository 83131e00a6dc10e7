"""FAO-56 against its worked examples, the table of its annex, and `pyet`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyet
import pytest

from experiments.studies.common import fao56

DAYS = np.arange(100, 300)
RNG = np.random.default_rng(0)
LOW = 12 + RNG.normal(0, 2, DAYS.size)
AIR = {
    "t_min": LOW, "t_max": LOW + 11, "t_mean": LOW + 5.5, "wind": np.full(DAYS.size, 2.0),
    "humidity": RNG.uniform(50, 80, DAYS.size),
}  # fmt: skip


def test_vapour_pressures_are_those_of_pyet() -> None:
    np.testing.assert_allclose(fao56.vapour_pressure(AIR["t_max"]), pyet.calc_e0(AIR["t_max"]), rtol=1e-6)
    theirs = pyet.calc_ea(tmean=AIR["t_mean"], tmax=AIR["t_max"], tmin=AIR["t_min"], rh=AIR["humidity"])
    np.testing.assert_allclose(fao56.actual_vapour(AIR["t_min"], AIR["t_max"], AIR["humidity"]), theirs, rtol=1e-6)


def test_extraterrestrial_radiation_of_example_8() -> None:
    """On 3 September at 20 degrees south: 32.2 MJ."""
    assert float(fao56.extraterrestrial(-20.0, np.asarray(246))) == pytest.approx(32.2, abs=0.05)


@pytest.mark.parametrize("latitude", [-50.0, 0.0, 43.6])
def test_extraterrestrial_radiation_is_that_of_pyet(latitude: float) -> None:
    index = pd.to_datetime("2001-01-01") + pd.to_timedelta(DAYS - 1, unit="D")
    theirs = pyet.extraterrestrial_r(index, np.radians(latitude))
    np.testing.assert_allclose(fao56.extraterrestrial(latitude, DAYS), theirs, rtol=1e-3)


def test_the_hemispheres_have_the_same_radiation_half_a_year_apart() -> None:
    """Up to the distance to the sun, which is smaller in the southern summer by 3.3 %."""
    north, south = (fao56.extraterrestrial(latitude, DAYS) for latitude in (40.0, -40.0))
    later = fao56.extraterrestrial(-40.0, DAYS + 182.5)
    assert np.abs(later / north - 1).max() < 0.08 and (north[:90] > south[:90]).all()


def test_radiation_rises_with_the_temperature_range() -> None:
    spread = np.linspace(0.0, 40.0, 41)
    sun = fao56.solar(15 - spread / 2, 15 + spread / 2, 43.6, np.full(41, 180))
    assert sun[0] == 0 and (np.diff(sun) >= 0).all()
    assert sun.max() == pytest.approx(0.75 * float(fao56.extraterrestrial(43.6, np.asarray(180))))


def test_the_vapour_of_saturated_air_has_no_deficit() -> None:
    """At 100 % humidity the mean of both saturation pressures, and half of it at 50 %."""
    full, half = (fao56.actual_vapour(AIR["t_min"], AIR["t_max"], np.full(DAYS.size, h)) for h in (100.0, 50.0))
    saturated = (fao56.vapour_pressure(AIR["t_min"]) + fao56.vapour_pressure(AIR["t_max"])) / 2
    np.testing.assert_allclose(full, saturated)
    np.testing.assert_allclose(half, saturated / 2)


@pytest.mark.parametrize(("name", "more"), [("wind", 2.0), ("sun", 3.0), ("humidity", -10.0)])
def test_wind_sun_and_dry_air_raise_evapotranspiration(name: str, more: float) -> None:
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    clear = 0.75 * fao56.extraterrestrial(43.6, DAYS)
    given = {"humidity": AIR["humidity"], "wind": AIR["wind"], "sun": 0.6 * sun}
    usual, raised = (
        fao56.reference(AIR["t_min"], AIR["t_max"], one["humidity"], one["wind"], one["sun"], clear)
        for one in (given, given | {name: given[name] + more})
    )
    assert (raised > usual).all()


def test_evapotranspiration_is_never_negative() -> None:
    """A clear and calm winter night without a day: the equation alone would give dew."""
    none, dark = np.zeros(1), np.full(1, 1e-3)
    found = fao56.reference(none - 5, none, none + 100, none, dark, dark)
    np.testing.assert_array_equal(found, 0)


def test_penman_monteith_of_fao_56_example_18() -> None:
    """Uccle on 6 July: 3.9 mm; its vapour pressure comes from two humidities, here as the mean that gives the same."""
    low, high = np.asarray(12.3), np.asarray(21.5)
    humidity = 100 * 1.409 / ((fao56.vapour_pressure(low) + fao56.vapour_pressure(high)) / 2)
    got = fao56.reference(low, high, humidity, np.asarray(2.078), np.asarray(22.07), np.asarray(30.90), 100.1)
    assert float(got) == pytest.approx(3.88, abs=0.03)


def test_penman_monteith_is_that_of_pyet() -> None:
    index = pd.to_datetime("2001-01-01") + pd.to_timedelta(DAYS - 1, unit="D")
    series = {name: pd.Series(values, index) for name, values in AIR.items()}
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    wanted = pyet.pm_fao56(
        series["t_mean"], series["wind"], rs=pd.Series(sun, index), elevation=0.0, lat=np.radians(43.6),
        tmax=series["t_max"], tmin=series["t_min"], rh=series["humidity"],
    )  # fmt: skip
    clear = 0.75 * fao56.extraterrestrial(43.6, DAYS)
    got = fao56.reference(*(AIR[name] for name in ("t_min", "t_max", "humidity", "wind")), sun, clear)
    np.testing.assert_allclose(got, wanted, rtol=0.02)


def test_the_curve_of_the_crop_coefficient_is_that_of_figure_34() -> None:
    """Of 20, 30, 30 and 20 days, stretched to 200: level, rising, level, falling."""
    curve = fao56.coefficients(200, (20, 30, 30, 20), (0.2, 1.0, 0.6))
    assert (curve[:39] == 0.2).all() and (curve[101:159] == 1.0).all()
    assert curve[69] == pytest.approx(0.2 + 0.8 * 29.5 / 60) and curve[-1] == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("length", [1, 7, 100, 200])
def test_a_season_of_any_length_has_a_coefficient_for_each_day(length: int) -> None:
    curve = fao56.coefficients(length, (20, 30, 30, 20), (0.2, 1.0, 0.6))
    assert curve.shape == (length,) and curve.min() >= 0.2 and curve.max() <= 1.0


def test_stretching_a_season_keeps_the_mean_of_its_coefficients() -> None:
    means = [fao56.coefficients(n, (20, 30, 30, 20), (0.2, 1.0, 0.6)).mean() for n in (100, 200, 400)]
    by_hand = (20 * 0.2 + 30 * 0.6 + 30 * 1.0 + 20 * 0.8) / 100
    np.testing.assert_allclose(means, by_hand, rtol=1e-3)
