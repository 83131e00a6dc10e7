"""Eqs. (23) to (25) against FAO-56 and two libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyet
import pytest
import refet.calcs
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.farm.entities.weather import evapotranspiration
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data.columns import wind_at_2m

OBSERVED = ("seattle", "new_york_jfk", "new_york_lga", "newark")
radiation = jax.jit(evapotranspiration.extraterrestrial_radiation)
et0 = jax.jit(evapotranspiration.reference_evapotranspiration)


def test_radiation_is_that_of_pyet_and_refet():
    latitudes, days = np.linspace(-66, 66, 45), np.arange(1, 366, 7)
    ours = np.asarray(radiation(latitudes[:, None], days[None, :]))
    dates = pd.DatetimeIndex(pd.Timestamp("2001-01-01") + pd.to_timedelta(days - 1, "D"))
    theirs = np.stack([pyet.extraterrestrial_r(dates, np.deg2rad(phi)) for phi in latitudes])
    other = refet.calcs.ra_daily(np.deg2rad(latitudes)[:, None], days[None, :], method="asce")
    # near the polar night R_A falls to a thousandth of its size: a float32 ulp of its terms is what is left
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(ours, other, rtol=1e-5, atol=2e-5)


def test_radiation_of_fao_56_example_8():
    assert round(float(radiation(-20, 246)), 1) == 32.2


def test_solar_radiation_of_fao_56_example_15():
    """Lyon in July, 14.8 to 26.6 degC: R_s is 0.55 of R_a, 22.3 MJ/m2/day."""
    found = evapotranspiration.solar_radiation(14.8, 26.6, radiation(45.72, 196))
    assert float(found) == pytest.approx(22.3, abs=0.05)


def test_solar_radiation_is_at_most_that_of_pyet_for_a_day_without_clouds():
    """FAO-56 eq. (35) with full sunshine; without a range of temperature nothing is left."""
    dates = pd.DatetimeIndex(["2001-03-01", "2001-07-15", "2001-12-01"])
    phi = float(np.deg2rad(43.6))
    hours = pd.Series(pyet.daylight_hours(dates, phi), dates)
    clear = np.asarray(pyet.rad_utils.calc_rad_sol_in(hours, phi))
    extraterrestrial = radiation(43.6, np.asarray(dates.dayofyear))
    np.testing.assert_allclose(evapotranspiration.solar_radiation(0.0, 40.0, extraterrestrial), clear, rtol=1e-4)
    np.testing.assert_array_equal(evapotranspiration.solar_radiation(12.0, 12.0, extraterrestrial), 0.0)


@pytest.mark.parametrize(("latitude", "day", "dark"), [(80, 355, True), (-80, 172, True), (80, 172, False)])
def test_sun_that_never_rises_or_never_sets(latitude, day, dark):
    value, slope = jax.value_and_grad(evapotranspiration.extraterrestrial_radiation)(jnp.float32(latitude), day)
    assert np.isfinite(slope)
    assert value == 0 if dark else value > 40


@pytest.mark.parametrize(("latitude", "summer"), [(90, 172), (-90, 355)])
def test_at_the_poles_half_a_year_is_day(latitude, summer):
    """R_A of the day when the sun stays at the height of its declination, 24 * 60 G_sc d_r sin(delta)."""
    angle = 2 * np.pi * summer / 365
    height = abs(0.409 * np.sin(angle - 1.39))
    wanted = 24 * 60 * evapotranspiration.SOLAR_CONSTANT * (1 + 0.033 * np.cos(angle)) * np.sin(height)
    assert float(radiation(latitude, summer)) == pytest.approx(wanted, rel=1e-5)
    assert float(radiation(-latitude, summer)) == 0.0


def test_wind_of_fao_56_example_14():
    assert round(wind_at_2m(3.2, 10), 1) == 2.4


@pytest.mark.parametrize("humidity", [20.0, 75.0])
@pytest.mark.parametrize(("t_min", "t_max", "wind", "sun"), [(4.0, 9.0, 5.0, 20.0), (15.0, 34.0, 0.8, 41.0)])
def test_23_by_hand(t_min, t_max, wind, sun, humidity):
    mean, dry = (t_min + t_max) / 2, 1 - humidity / 100
    sunlit = 0.0118 * dry**0.2 * (t_max - t_min) ** 0.3 * (sun * np.sqrt(mean + 10) - 40)
    wanted = sunlit + 0.1 * (mean + 20) * dry * (wind / 2) ** 0.6
    assert float(et0(t_min, t_max, mean, humidity, wind, sun)) == pytest.approx(wanted, rel=1e-5)


def test_nothing_evaporates_into_saturated_air():
    """To the last bit, as the roots of eq. (23) make a lot of a little: 1 - 100 / 100 as XLA rounds it gave 0.04 mm."""
    assert (et0(7.0, 13.0, 10.0, np.full(3, 100.0), 2.5, 26.0) == 0).all()


def test_evapotranspiration_of_fao_56_example_18():
    """FAO-56 Penman-Monteith gives 3.9 with measured sunshine; this formula has to do without it."""
    wind = wind_at_2m(10 / 3.6, 10)
    ours = et0(12.3, 21.5, 16.9, (84 + 63) / 2, wind, radiation(50.8, 187))
    assert float(ours) == pytest.approx(3.9, abs=0.2)


@pytest.mark.parametrize("name", OBSERVED)
def test_evapotranspiration_is_near_penman_monteith(name):
    """Solar radiation by Hargreaves with k = 0.19, FAO-56's figure for coasts, where all four sites lie."""
    site = load_site(name)
    days, about = site.table.days, site.about
    day_of_year = np.arange(len(days.rain)) % 365 + 1  # every table starts on 1 January
    at = np.asarray(radiation(about.latitude, day_of_year))
    ours = np.asarray(et0(*days[:5], at))
    sunlight = 0.19 * np.sqrt(days.t_max - days.t_min) * at
    index = _dates(day_of_year)
    t_min, t_max, t_mean, humidity, wind, sun = (
        pd.Series(np.asarray(v, np.float64), index) for v in (*days[:5], sunlight)
    )
    latitude = np.deg2rad(about.latitude)
    theirs = pyet.pm_fao56(
        t_mean, wind, rs=sun, elevation=about.altitude, lat=latitude, tmax=t_max, tmin=t_min, rh=humidity
    )
    assert 1.0 < ours.mean() / theirs.mean() < 1.25
    assert np.sqrt(np.mean((ours - theirs.to_numpy()) ** 2)) < 0.6
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97


def _dates(day_of_year):
    """Common years one after another, as pyet takes the day of the year from the date."""
    year = 2001 + 4 * np.cumsum(day_of_year == 1)
    return pd.to_datetime([f"{y}-{d:03d}" for y, d in zip(year, day_of_year, strict=True)], format="%Y-%j")


@given(
    latitude=st.floats(-90, 90, width=32),
    day=st.integers(1, 365),
    t_min=st.floats(-60, 40, width=32),
    spread=st.floats(0, 30, width=32),
    humidity=st.floats(0, 100, width=32),
    wind=st.floats(0, 40, width=32),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_finite_and_never_negative(latitude, day, t_min, spread, humidity, wind):
    at = radiation(latitude, day)
    value = et0(t_min, t_min + spread, t_min + spread / 2, humidity, wind, at)
    assert 0 <= float(at) < 48.6  # a midsummer day at the south pole, 24 * 60 * 0.082 * 1.033 * sin(0.409)
    assert 0 <= float(value) < 50


@pytest.mark.parametrize("humidity", [0.0, 55.0, 100.0])
@pytest.mark.parametrize("t_min", [-60.0, -10.0, 20.0])
def test_gradients_are_finite(humidity, t_min):
    arguments = (t_min, t_min, t_min, humidity, 0.0, 30.0)
    slopes = jax.grad(evapotranspiration.reference_evapotranspiration, argnums=range(6))(*map(jnp.float32, arguments))
    assert np.all(np.isfinite(slopes))


def test_more_sun_wind_and_drought_evaporate_more():
    base = dict(t_min=10.0, t_max=20.0, t_mean=15.0, humidity=60.0, wind=2.0, radiation=30.0)
    more = dict(t_max=25.0, t_mean=18.0, humidity=50.0, wind=4.0, radiation=35.0)
    for name, value in more.items():
        assert et0(**base | {name: value}) > et0(**base)
