"""GHCN-Daily files as weather tables, on station files made here in NOAA's two layouts."""

import calendar
import datetime
import gzip
import math
import sys

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.weather_data.table import read_table
from tests.load_script import script

converter = script("examples/ghcn_weather.py")
find_whole_years, longest_run = converter.find_whole_years, converter.longest_run
read_records, read_station = converter.read_records, converter.read_station

STATION = "XX000000001"


def _values(day):
    """Return TMIN, TMAX, PRCP and AWND in tenths, of a mild year with rain on every fifth day."""
    warm = round(-100 * math.cos(2 * math.pi * day.timetuple().tm_yday / 365))
    return {"TMIN": 80 + warm, "TMAX": 180 + warm, "PRCP": 0 if day.day % 5 else 64, "AWND": 30}


def _days(first, last):
    day = datetime.date(first, 1, 1)
    while day.year <= last:
        yield day
        day += datetime.timedelta(1)


def _dly(path, first, last, change=lambda day, element, value: (value, " ")):
    """Write a `.dly` file; `change` may replace a value and its quality flag."""
    lines = []
    for year in range(first, last + 1):
        for month in range(1, 13):
            for element in ("TMIN", "TMAX", "PRCP", "AWND"):
                cells = ""
                for number in range(1, 32):
                    if number <= calendar.monthrange(year, month)[1]:
                        day = datetime.date(year, month, number)
                        value, quality = change(day, element, _values(day)[element])
                    else:
                        value, quality = -9999, " "
                    cells += f"{value:5d} {quality}W"
                lines.append(f"{STATION}{year}{month:02d}{element}{cells}\n")
    path.write_text("".join(lines))
    return path


def test_a_dly_file_becomes_whole_years_in_the_units_of_the_table(tmp_path):
    table = read_station(_dly(tmp_path / "one.dly", 2019, 2020))
    assert table.dates[0] == datetime.date(2019, 1, 1) and len(table.dates) == 365 + 366
    assert table.filled == {"TMIN": 0, "TMAX": 0, "PRCP": 0, "AWND": 0, "RHAV": 731}
    low, high, mean, humidity, wind, rain = table.values[179]  # 29 June: warm
    assert (low, high, mean) == (18.0, 28.0, 23.0)
    assert wind == pytest.approx(3.0 * 0.748, abs=2e-3)  # 10 m to 2 m
    assert humidity == pytest.approx(70.6, abs=0.1)  # 2.064 kPa of 18 degC over the mean of 2.064 and 3.780
    assert rain == 0 and table.values[180, 5] == pytest.approx(6.4)


def test_both_layouts_give_the_same_table(tmp_path):
    wide = read_station(_dly(tmp_path / "one.dly", 2019, 2019))
    rows = [f"{STATION},{day:%Y%m%d},{name},{value},,,W,0700" for day in _days(2019, 2019)
            for name, value in _values(day).items()]  # fmt: skip
    for name, opened in (("one.csv", open), ("one.csv.gz", gzip.open)):
        with opened(tmp_path / name, "wt") as file:
            file.write("\n".join(rows) + "\n")
        np.testing.assert_array_equal(read_station(tmp_path / name).values, wide.values)


def test_values_that_failed_a_quality_check_are_filled(tmp_path):
    wrong = datetime.date(2019, 3, 4)

    def change(day, element, value):
        return (990, "X") if (day, element) == (wrong, "TMAX") else (value, " ")

    table = read_station(_dly(tmp_path / "one.dly", 2019, 2019, change))
    at = table.dates.index(wrong)
    assert table.filled["TMAX"] == 1
    assert table.values[at, 1] == pytest.approx(table.values[[at - 1, at + 1], 1].mean())


def test_a_day_with_min_above_max_counts_as_missing(tmp_path):
    def change(day, element, value):
        return (500, " ") if (day.month, day.day, element) == (5, 6, "TMIN") else (value, " ")

    table = read_station(_dly(tmp_path / "one.dly", 2019, 2019, change))
    assert table.filled["TMIN"] == table.filled["TMAX"] == 1
    assert (table.values[:, 0] <= table.values[:, 1]).all()


def test_years_that_lack_many_days_are_left_out(tmp_path):
    def change(day, element, value):
        gone = day.year == 2016 and day.month == 7 and element == "PRCP"
        return (-9999 if gone else value, " ")

    path = _dly(tmp_path / "one.dly", 2015, 2018, change)
    assert find_whole_years(read_records(path)) == [2015, 2017, 2018]
    assert {day.year for day in read_station(path).dates} == {2017, 2018}
    assert {day.year for day in read_station(path, missing=31).dates} == {2015, 2016, 2017, 2018}


def test_of_two_runs_as_long_the_later_is_taken():
    assert longest_run([1990, 1991, 1995, 1996, 1999]) == [1995, 1996]
    assert longest_run([]) == []


def test_the_script_writes_a_table_that_a_farm_replays(tmp_path, monkeypatch, capsys):
    path, out = _dly(tmp_path / "one.dly", 2018, 2020), tmp_path / "one.csv"
    monkeypatch.setattr(sys, "argv", ["ghcn_weather.py", str(path), "--out", str(out)])
    converter.main()
    printed = capsys.readouterr().out
    assert "2018 to 2020" in printed and str(out) in printed
    table = read_table(out)
    assert table.calendar_years == [2018, 2019, 2020] and table.rain_kind == "mm"
    weather = Weather.named({"extends": "base", "table": str(out), "years": [2019]})
    assert weather.sky.days.shape == (365, 6)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.dly", "not a station file\n", "a.dly: line 1: expected a month of GHCN-Daily"),
        ("a.csv", "Date,Tmin,Tmax\n2019-01-01,1,2\n", "a.csv: line 1: expected ID,YYYYMMDD,ELEMENT,VALUE,flags"),
        ("a.csv", f"{STATION},20190101,TMAX,12,,,W,\n", "expected a calendar year with TMIN, TMAX and PRCP"),
    ],
)
def test_mistakes_in_a_station_file_are_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_station(tmp_path / name)
    assert message in str(caught.value)
