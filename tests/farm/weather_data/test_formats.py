"""Weather files of other programs: every format gives the same days; gaps, units and mistakes are named."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.weather_data.columns import COLUMNS
from harvestgym.farm.weather_data.formats import FORMATS
from harvestgym.farm.weather_data.records import list_records
from harvestgym.farm.weather_data.table import fill_record, read_record, read_table
from tests.load_script import ROOT
from tests.long_form import ALL

from . import weather_files as files

DAYS = files.make_days()
KEPT = [day for day in DAYS if f"{day.date:%m-%d}" != "02-29"]
FOLDERS = [folder / "shared" / "data" / "weather" for folder in ROOT.parents]
SHARED = next((folder for folder in FOLDERS if folder.is_dir()), Path())
measured = pytest.mark.skipif(not SHARED.is_absolute(), reason="the measured records are not part of the repository")


def write(folder: Path, text: str, name: str = "days.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_every_format_has_a_writer() -> None:
    assert {name.partition(" JSON")[0].partition(" by")[0] for name in files.WRITERS} == {"", *FORMATS}


def test_the_page_lists_formats_and_columns_with_their_units() -> None:
    page = (ROOT / "docs" / "weather.md").read_text(encoding="utf-8")
    for name, format in FORMATS.items():
        (row,) = re.findall(rf"^\| {re.escape(name)} .*$", page, re.MULTILINE)
        if name not in ("Open-Meteo", "Farm-Gym"):  # their columns have long names
            assert set(re.findall(r"`([A-Z]\w+)`", row)) - {"WNDHT"} == set(format.columns), name
    rows = dict(re.findall(r"^\| `(Tmin|T|RH|U|Rain)`.*\| ([^|]+) \|$", page, re.MULTILINE))
    units = {column.name: column.unit.replace("degC", "°C") for column in COLUMNS if column.name != "Tmax"}
    assert rows == units


@pytest.mark.parametrize("name", files.WRITERS)
def test_every_format_gives_the_same_days(name: str, tmp_path: Path) -> None:
    table = read_table(write(tmp_path, files.WRITERS[name](DAYS)))
    assert name.startswith(table.format) and table.describe_gaps() == []
    assert (len(table), table.start_year) == ((731, None) if name == "Farm-Gym" else (730, 2019))
    days = DAYS if name == "Farm-Gym" else KEPT
    expected = np.array([(d.low, d.high, (d.low + d.high) / 2, d.humidity, d.wind, d.rain) for d in days]).T
    rounded = 0.05 if name.startswith("GHCN") else 2e-3
    np.testing.assert_allclose(np.stack(table.days), expected, atol=rounded, rtol=1e-3)
    if table.format not in ("", "Farm-Gym", "GHCN-Daily"):
        assert table.altitude == 123.45


@pytest.mark.parametrize("name", [name for name in files.WRITERS if name != "Farm-Gym"])
def test_missing_days_are_reported_and_filled_on_request_only(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, files.WRITERS[name]([d for i, d in enumerate(DAYS) if not 40 <= i < 45]))
    record = read_record(path)
    assert record.describe_gaps() == ["no Tmin, Tmax, T, RH, U, Rain on 5 of 730 days (2019-02-10 to 2019-02-14)"]
    with pytest.raises(ConfigError, match=r"no Tmin.* on 5 of 730 days \(2019-02-10 to 2019-02-14\); try fill: 10"):
        read_table(path)
    filled = read_table(path, fill=5)
    assert filled.calendar_years == [2019, 2020] and not np.isnan(np.stack(filled.days)).any()
    np.testing.assert_allclose(filled.days.t_min[40:45], np.linspace(DAYS[39].low, DAYS[45].low, 7)[1:-1], atol=0.1)
    assert (filled.days.rain[40:45] == 0).all() and abs(filled.days.wind[42] - filled.days.wind[:31].mean()) < 0.3
    assert read_table(path, fill=4).calendar_years == [2020], "the longest run of years that lack at most 4 days"


def test_rows_of_farm_gym_are_counted(tmp_path: Path) -> None:
    lines = files.write_farm_gym(DAYS).splitlines(keepends=True)
    with pytest.raises(ConfigError, match="row 10, column 'Day': expected 9, got 10"):
        read_table(write(tmp_path, "".join(lines[:10] + lines[11:])))


def test_codes_and_flags_of_missing_values(tmp_path: Path) -> None:
    power = files.write_power(DAYS).replace("2019,010,-999,", "2019,010,-999,-999,", 1).replace(",60.0,2.0,", ",")
    with pytest.raises(ConfigError, match="row 1: expected 8 cells, as in the header, got 6"):
        read_record(write(tmp_path, power))
    dssat = files.write_dssat(DAYS).replace(" 60.0 ", " -99 ")
    assert "no RH on 105 of 730 days" in read_record(write(tmp_path, dssat)).describe_gaps()[0]
    wrong = datetime.date(2019, 3, 4)
    ghcn = files.write_ghcn(DAYS, lambda day, name, v: (v, "X" if (day, name) == (wrong, "TMAX") else " "))
    assert read_record(write(tmp_path, ghcn)).describe_gaps() == ["no Tmax, T on 1 of 730 days (2019-03-04)"]
    ghcn = files.write_ghcn(DAYS, lambda day, name, v: (990 if (day, name) == (wrong, "TMIN") else v, " "))
    assert read_record(write(tmp_path, ghcn)).describe_gaps() == ["no Tmin, Tmax, T on 1 of 730 days (2019-03-04)"]
    low, high = fill_record(read_record(write(tmp_path, ghcn)), 1).days[:2]
    assert high[62] == pytest.approx((high[61] + high[63]) / 2) and low[62] <= high[62]


def test_humidity_and_wind_that_a_station_lacks_are_estimated_on_request_only(tmp_path: Path) -> None:
    lines = files.write_ghcn(DAYS).splitlines(keepends=True)
    path = write(tmp_path, "".join(line for line in lines if line[17:21] in ("TMIN", "TMAX", "PRCP")))
    with pytest.raises(ConfigError, match="no RH, U on 730 of 730 days"):
        read_table(path)
    days = read_table(path, fill=0).days
    assert (days.wind == 2).all()
    assert days.humidity[179] == pytest.approx(70.6, abs=0.1)  # 2.064 kPa of 18 degC over the mean of 2.064 and 3.780


def test_a_station_file_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "XX000000001.csv.gz"
    path.write_bytes(gzip.compress(files.write_ghcn_days(DAYS).encode()))
    assert read_table(path).format == "GHCN-Daily"
    path.write_bytes(path.read_bytes()[:99])
    with pytest.raises(ConfigError, match="expected text compressed with gzip"):
        read_table(path)


def test_a_farm_takes_the_altitude_the_columns_and_the_gaps_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, files.write_pcse([d for i, d in enumerate(DAYS) if i != 9]))
    base = {"extends": "base", "table": str(path)}
    weather = Weather.named(base | {"fill": 1, "years": [2019], "columns": {"WIND": "U m/s at 10 m"}})
    assert float(weather.station) == pytest.approx(123.45) and weather.sky.days.shape == (365, 6)
    assert float(weather.sky.days[0, 4]) == pytest.approx(DAYS[0].wind * files.TO_2_M, rel=1e-4)
    for extra, said in (({}, "try fill: 10"), ({"fill": -1}, "days per year from 0 to 100, got -1"),
                        ({"columns": {"WINDS": "U"}}, "try 'WIND'"),
                        ({"columns": {"WIND": "U kmh at 99999 m"}}, "from 0.5 to 200 m"),
        ({"columns": {"TMIN": "Tmin at 3 m"}}, "expected a height for U only")):  # fmt: skip
        with pytest.raises(ConfigError, match=said):
            Weather.named(base | extra)
    with pytest.raises(ConfigError, match="expected a `table`, or a `site` without `columns`, `fill` or `rain`"):
        Weather.named({"extends": "seattle", "fill": 3})


def test_cells_of_dssat_stand_below_their_names(tmp_path: Path) -> None:
    """As in DSSAT's own files: blank cells, a comment after the last column, numbers that touch, an end of file."""
    rows = [
        "19001  13.3  17.9   2.0   0.0", "19002  12.8  15.0   2.5 -99   -99          80.0 from the next station",
        "19003  13.1 -15.6 -18.4   0.0  12.21004.0  91.5", "\x1a",
    ]  # fmt: skip
    text = "@DATE  SRAD  TMAX  TMIN  RAIN  DEWP  WIND  RHUM\n" + "\n".join(rows)
    found = read_record(write(tmp_path, text), columns={"DEWP": "ignore"}).days
    np.testing.assert_allclose(found.t_max, [17.9, 15.0, -15.6], rtol=1e-6)
    np.testing.assert_allclose(found.rain, [0.0, np.nan, 0.0])
    np.testing.assert_allclose(found.humidity, [np.nan, 80.0, 91.5])
    np.testing.assert_allclose(found.wind, [np.nan, np.nan, 1004 / 86.4], rtol=1e-6)


def test_a_table_with_other_names_is_read_by_the_columns_that_are_named(tmp_path: Path) -> None:
    """NOAA's daily summaries, whose units depend on the order."""
    path = write(tmp_path, '"STATION","DATE","PRCP","TMAX","TMIN"\n"USW00025333","2018-07-01","0.25","62","50"\n')
    with pytest.raises(ConfigError, match=r"expected columns named Tmin.* or the option `columns`"):
        read_record(path)
    meaning = {"STATION": "ignore", "PRCP": "Rain inch", "TMAX": "Tmax degF", "TMIN": "Tmin degF"}
    found = read_record(path, columns=meaning).days
    np.testing.assert_allclose([*found.rain, *found.t_max, *found.t_min], [6.35, 50 / 3, 10.0], rtol=1e-6)


@measured
def test_a_measured_record_of_eighteen_years() -> None:
    """Compare with the file's own columns: T with the extremes, RH with its extremes, wind at 3 m."""
    table = read_table(SHARED / "maricopa-2003-2020.wth")
    assert table.calendar_years == list(range(2003, 2021)) and table.altitude == 361
    first = [float(values[0]) for values in table.days]
    assert first == pytest.approx([-0.5, 17.5, 8.5, (95.4 + 24.9) / 2, 1.0 * 0.921, 0.0], abs=2e-3)


@measured
def test_the_checksums_are_those_of_the_measured_files() -> None:
    for name, record in list_records().items():
        assert hashlib.sha256((SHARED / f"{name}.wth").read_bytes()).hexdigest() == record.sha256


@measured
def test_mistakes_in_public_records_are_noticed(tmp_path: Path) -> None:
    """LIRF 2023 has a 366th day, and fractions of humidity under a title that says percent."""
    with pytest.raises(
        ConfigError, match="row 366, column 'Year-DOY': expected a date.*'2023-366', but 2023 has no day 366"
    ):
        read_table(SHARED / "lirf-2023.wth")
    text = (SHARED / "lirf-2023.wth").read_text()
    path = write(tmp_path, "".join(line for line in text.splitlines(keepends=True) if "2023-366" not in line))
    with pytest.raises(
        ConfigError, match=r"'RHmax': expected RHmax in %.*probably in fraction; try columns:"
    ) as caught:
        read_table(path)
    assert "columns: {RHmin: RHmin fraction} to convert it" in str(caught.value), "all columns are named at once"
    fractions = {"RHmax": "RHmax fraction", "RHmin": "RHmin fraction"}
    by_extremes = read_table(path, columns=fractions).days.humidity
    by_pressure = read_table(path, columns=dict.fromkeys(fractions, "ignore")).days.humidity
    assert np.abs(by_extremes - by_pressure).mean() < 12 and np.corrcoef(by_extremes, by_pressure)[0, 1] > 0.9


WRONG = [
    ("{}", "expected daily values of NASA POWER or Open-Meteo in JSON"),
    ('{"daily": {"time": ["2019-01-01"]}}', "expected daily values"),
    ('{"hourly": {}}', "expected daily values"),
    ("{" * 100_000, "expected daily values"),
    (json.dumps({"daily_units": {}, "daily": {"time": ["2019-01-01"], "precipitation_sum": []}}), "expected daily"),
    ("time,temperature_2m (°C)\n2019-01-01T00:00,3\n", "'Tmin' (degC), got no among time, temperature_2m (°C); try"),
    ("-END HEADER-\nPARAMETER,YEAR,JAN,FEB\nT2M,2022,1.0,2.0\n", "'Tmin' (degC), got no among PARAMETER, YEAR, JAN"),
    (files.write_power(DAYS[:3]).replace("T2M_MIN,", "T2M_MINI,"),
     "expected a column 'Tmin' (degC), got no among YEAR"),
    (files.write_power(DAYS[:3]).replace("YEAR,DOY", "YEAR,DAY"), "GHCN-Daily, got '-BEGIN HEADER-'; try"),
    (files.write_dssat(DAYS[:3]).replace("19002", "19400"), "row 2, column 'DATE': expected a date, YYYY-MM-DD"),
    (files.write_pcse([*DAYS[:3], DAYS[0]]), "row 4, column 'DAY': expected a day after 2019-01-03, got 2019-01-01"),
    ("@DATE  SRAD  TMAX  TMIN  RAIN  DEWP\n19001   4.4   14.4    9.5   11.2\n", "row 1: expected 6 cells, as in"),
    ("@DATE  SRAD  TMAX  TMIN  RAIN\n19001   9.54 -0.20-10.40  0.00\n", "row 1: expected 5 cells, as in"),
    (files.write_ghcn(DAYS[:3]) + "XX\n", "line 6: expected a line of GHCN-Daily, got 'XX'"),
    (files.write_ghcn_days(DAYS[:3]).replace("XX", "YY", 1), "expected one station, got XX000000001, YY000000001; try"),
    (files.write_ghcn_days(DAYS[:3]) + "YY000000001,20190101,PRCP,7,,,W,0700\n", "expected one station, got XX0"),
    (files.write_ghcn_days(DAYS[:3]).replace("20190102", "20190101"), "expected PRCP of 2019-01-01 once, got 64 and 0"),
    ("*Tmin Tmax Rain\n", "expected columns named Tmin"),
    (files.write_open_meteo(DAYS[:3]).replace("mp/h", "furlongs"), "expected a known unit of U, got 'furlongs'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said[:40] for _, said in WRONG])
def test_what_is_wrong_is_named(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_record(write(tmp_path, text))
    assert str(caught.value).startswith("days.txt") and said in str(caught.value)


ODD = ("", "-99", "-999", "nan", "1e400", "inf", "9" * 30, "x", "\0", '"', "2019-02-30", "0", "٣", "-1", "(")


def mutate_json(rng: random.Random, text: str) -> str:
    """Replace or remove a part of a JSON text."""
    whole = part = json.loads(text)
    while True:
        key = rng.choice(list(part) if isinstance(part, dict) else range(len(part)))
        if not (isinstance(part[key], (dict, list)) and part[key] and rng.random() < 0.8):
            break
        part = part[key]
    if rng.random() < 0.3:
        del part[key]
    else:
        part[key] = rng.choice((*ODD, None, 0, -999, 1e300, [], {}, [1], {"a": 1}, True, [[]], "2019-01-05"))
    return json.dumps(whole)


def mutate(rng: random.Random, text: str) -> str:
    """Change a text as people and programs do: delete, repeat and swap lines and cells, change numbers, cut it off."""
    if text.startswith("{") and rng.random() < 0.8:
        return mutate_json(rng, text)
    lines = text.splitlines(keepends=True)
    for _ in range(rng.choice((1, 1, 2, 5))):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        cells = lines[i].split(",") if "," in lines[i] else lines[i].split(" ")
        at = rng.randrange(len(cells))
        kind = rng.randrange(8)
        if kind == 0:
            del lines[i : i + rng.choice((1, 1, 30))]
        elif kind == 1:
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 2:
            lines.insert(j, lines[i])
        elif kind == 3:
            lines = lines[:i] + [lines[i][: rng.randrange(len(lines[i]) + 1)]]
        else:
            odd = (
                "",
                "-99",
                "-999",
                "nan",
                "1e400",
                "inf",
                "9" * 30,
                "x",
                "\0",
                '"',
                "2019-02-30",
                "0",
                "٣",
                "-1",
                "(",
            )
            cells[at] = rng.choice(odd) if kind < 7 else cells[at][::-1]
            lines[i] = (" " if "," not in lines[i] else ",").join(cells)
        lines = lines or ["\n"]
    return "".join(lines)


@pytest.mark.parametrize("seed", range(2000 if ALL else 20))
def test_a_changed_file_is_read_or_refused_in_words(seed: int, tmp_path: Path) -> None:
    """A file that is still read has the right number of days, each within the ranges, in the right place."""
    rng = random.Random(seed)
    name = rng.choice(list(files.WRITERS))
    path = write(tmp_path, mutate(rng, files.WRITERS[name](DAYS[:60])))
    try:
        table = read_record(path)
    except ConfigError as error:
        assert 20 < len(str(error)) < 2000 and str(error).startswith((path.name, str(path)))
        return
    for got, low, high in zip(table.days, (-90, -90, -90, 0, 0, 0), (60, 60, 60, 100, 115, 1900), strict=True):
        assert ((got >= low) & (got <= high) | np.isnan(got)).all()
    if table.start_year == 2019:  # no day moved to another date
        rows = range(min(len(table), 60 - table.start_day + 1))
        same = [np.isclose(table.days.t_max[row], DAYS[table.start_day - 1 + row].high, atol=0.06) for row in rows]
        gaps = np.isnan(table.days.t_max[: len(rows)])
        assert np.sum(~(np.array(same) | gaps)) <= 5
