"""WMO climate normals as sites of the generator, on a station sheet made here in NCEI's layout."""

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather import Weather, day_source
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.site import load_site, read_site
from harvestgym.farm.weather_data.normals import MONTH_LENGTHS, calendar
from tests.farm.entities.weather.simulate import simulate
from tests.load_script import script

converter = script("examples/wmo_normals.py")
continue_rain, estimate_normals = converter.continue_rain, converter.estimate_normals
read_sheet = converter.read_sheet

FIVE_SITES = ("debrecen", "isparta", "petrolina", "walkamin", "zaragoza")
INDEPENDENT_DAYS = 30 * 30 * (1 - 0.67) / (1 + 0.67)
"""Of a month of thirty years, with the persistence of t_min."""
WARM = [3.0, 5, 9, 14, 19, 23, 25, 25, 20, 14, 8, 4]
ROWS = {
    "Precipitation_Total": ("mm", "Sum", [60.0] * 12),
    "Number_of_Days_with_Precipitation_>=_1_mm": ("count", "Count", [9.0] * 12),
    "Number_of_Days_with_Daily_Precipitation_>=_10_mm": ("count", "Count", [1.8] * 12),
    "Daily_Maximum_Temperature": ("Deg_C", "Mean", WARM),
    "Daily_Minimum_Temperature": ("Deg_C", "Mean", [t - 10 for t in WARM]),
    "Daily_Mean_Temperature": ("Deg_C", "Mean", [t - 5 for t in WARM]),
    "Mean Vapor Pressure": ("hPa", "Mean", [10.0] * 12),
    "Wind_Speed": ("m/s", "Mean", [3.0] * 12),
    # a seventh of the days of July is 4 degC or more above its mean of 25: a normal distribution of 3.7 degC
    "Number_of_Days_with_Maximum_Temperature_>=_threshold29_Deg_C": (
        "count",
        "Count",
        [0.0] * 6 + [31 / 7] + [0.0] * 5,
    ),
}


def _sheet(path, without=()):
    lines = [
        "World Meteorological Organization Climate Normals for 1991-2020",
        "Country_Name,NOWHERE",
        "Station_Name,NOWHERE AP",
        "WMO_Number,Latitude,Longitude,Station_Height",
        "99999,45|30|00|S,010|15|00|W,120",
    ]
    for code, (name, (unit, how, values)) in enumerate(ROWS.items(), 1):
        if name not in without:
            cells = ",".join(map(str, values))
            head = f"WMO_Number,Parameter_Code,Calculation_Name,Calculation_Code,{','.join(map(str, range(12)))},Annual"
            lines += ["", f"{code},{name},{unit}", head, f"99999,{code},{how},4,{cells},0"]
    path.write_text("\r\n".join(lines))
    return path


def test_a_station_sheet_is_read(tmp_path):
    station = read_sheet(_sheet(tmp_path / "one.csv"))
    assert (station.number, station.latitude, station.longitude, station.altitude) == ("99999", -45.5, -10.25, 120)
    np.testing.assert_array_equal(station.sheet["daily maximum temperature", "mean"], WARM)


def test_the_estimates_follow_the_counts(tmp_path):
    normals = estimate_normals(read_sheet(_sheet(tmp_path / "one.csv")))
    assert normals["t_max_sd"][6] == pytest.approx(4 / 1.0676, abs=2e-3)  # the normal quantile of 6/7
    assert normals["t_max_sd"] == [normals["t_max_sd"][6]] * 12  # the only month with a count of use
    assert normals["humidity"][6] == pytest.approx(100 * 1.0 / 2.338, abs=0.1)  # 10 hPa at 20 degC
    np.testing.assert_allclose(normals["rainy"], 9 / np.array(MONTH_LENGTHS), atol=1e-3)


def test_a_sheet_without_wind_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="wind speed"):
        estimate_normals(read_sheet(_sheet(tmp_path / "one.csv", without=("Wind_Speed",))))
    (tmp_path / "two.csv").write_text("Date,Tmin\n")
    with pytest.raises(ConfigError, match="two.csv: expected a station sheet"):
        read_sheet(tmp_path / "two.csv")


def test_rain_after_rain_is_that_of_geng():
    """P(W|D) = 0.75 f and P(W|W) = 0.25 + P(W|D) leave the share of wet days as it is."""
    share = np.array([0.1, 0.3, 0.6])
    again = continue_rain(share)
    np.testing.assert_allclose(share * again + (1 - share) * 0.75 * share, share)


def test_the_example_writes_a_site_that_a_farm_uses(tmp_path, monkeypatch):
    out = tmp_path / "nowhere.yaml"
    monkeypatch.setattr("sys.argv", ["wmo_normals.py", str(_sheet(tmp_path / "one.csv")), "Nowhere", "--out", str(out)])
    converter.main()
    assert read_site(out).about.title == "Nowhere, Nowhere"
    weather = Weather.named({"extends": "base", "site": str(out)})
    assert weather.station == 120


@pytest.mark.parametrize("name", FIVE_SITES)
def test_generated_days_have_the_published_normals(name):
    """Thirty years of generated days: means of temperature within four standard errors of such a sample, and rain."""
    normals = load_site(name).normals
    climate = compute_climate(normals)
    draws = jax.random.uniform(jax.random.key(7), (30 * 365, day_source.DRAWS))
    days, _ = jax.jit(simulate)(climate, climate.first(1, draws[0]), 1, draws)
    month = np.tile(calendar().month, 30)
    for column in ("t_min", "t_max"):
        found = [np.asarray(getattr(days, column))[month == m].mean() for m in range(12)]
        error = np.array(getattr(normals, f"{column}_sd")) / np.sqrt(INDEPENDENT_DAYS)
        assert (np.abs(found - np.array(getattr(normals, column))) < 4 * error).all()
    rain, shares = np.asarray(days.rain), np.array(normals.rainy)
    assert (rain >= 1).mean() == pytest.approx(np.average(shares, weights=MONTH_LENGTHS), abs=0.012)
    published = np.sum(shares * MONTH_LENGTHS * np.array(normals.rain_per_rainy_day))
    assert rain[rain >= 1].sum() / 30 == pytest.approx(published, rel=0.08)


def test_five_sites_with_thirty_years_lie_on_four_continents():
    abouts = [load_site(name).about for name in FIVE_SITES]
    assert {about.period for about in abouts} == {"1991-2020"}
    assert all("WMO" in about.source and "public domain" in about.licence for about in abouts)
    assert min(about.latitude for about in abouts) < -15 and max(about.latitude for about in abouts) > 45
