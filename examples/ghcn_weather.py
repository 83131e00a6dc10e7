"""GHCN-Daily: convert a station file from NOAA's daily climate network to a weather table with the paper's columns.

    python examples/ghcn_weather.py USW00024233.dly --out seattle-record.csv

Two layouts are read: `ID.dly` (a line per month and element), and `ID.csv` or `ID.csv.gz` from the folder `by_station`
(a line per day and element). Values that failed a quality check are dropped. The table contains the longest run of
complete calendar years with few missing days. Mean temperature, and humidity and wind where they are missing, are
estimated as FAO-56 recommends.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError

TABLE_COLUMNS = ("Date", "Tmin", "Tmax", "T", "RH", "U", "Rain")
NEEDED_ELEMENTS = ("TMIN", "TMAX", "PRCP")
TENTHS = {"TMIN", "TMAX", "PRCP", "AWND"}
MISSING_DAYS = 10
"""Largest number of missing days per year for each required element."""


def wind_at_2m(speed: Any, height: float) -> Any:
    """Return the wind speed at 2 m, given a `speed` measured `height` m above short grass (FAO-56 eq. 47)."""
    return speed * (4.87 / math.log(67.8 * height - 5.42))


TO_2_M = wind_at_2m(1.0, 10.0)
"""Ratio of the wind at 2 m to the wind at 10 m."""

USUAL_WIND = 2.0
"""Wind in m/s at 2 m for a station without a record (FAO-56, chapter 3: the mean of over 2000 stations)."""

Records = Mapping[str, Mapping[datetime.date, float]]
"""Accepted values of each element by date."""


class StationTable(NamedTuple):
    """A station's days, (days, 6) in the order of `TABLE_COLUMNS`, and the number of filled values by element."""

    dates: list[datetime.date]
    values: np.ndarray
    filled: dict[str, int]

    def write(self, path: Path) -> None:
        """Write the table as a CSV file in the paper's format."""
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(TABLE_COLUMNS)
            # + 0.0 turns a rounded -0.0 into 0.0
            for day, row in zip(self.dates, self.values, strict=True):
                rows.writerow([day.isoformat(), *(f"{round(float(v), 2) + 0.0:g}" for v in row)])


def read_station(path: Path, missing: int = MISSING_DAYS) -> StationTable:
    """Return the longest run of complete years in a GHCN-Daily file; of two equally long runs, the later one.

    Args:
        path: `ID.dly`, `ID.csv` or `ID.csv.gz`.
        missing: maximum number of days per year without a temperature or rain value; missing temperatures are
            interpolated, and missing rain is set to 0.

    Raises ConfigError if the file has no such year or has a different layout.
    """
    records = read_records(path)
    years = longest_run(find_whole_years(records, missing))
    if not years:
        raise ConfigError(
            f"{path.name}: expected a calendar year with TMIN, TMAX and PRCP that lacks at most {missing} days of "
            "each, got none; try a larger --missing, or another station"
        )
    return _make_table(records, years)


def read_records(path: Path) -> Records:
    """Return each element's values that passed the quality checks, in degC, mm, m/s and %."""
    if not path.is_file():
        raise ConfigError(f"{path}: expected a GHCN-Daily file, got none; try another name or folder")
    opened = gzip.open if path.suffix == ".gz" else open
    found: dict[str, dict[datetime.date, float]] = {}
    with opened(path, "rt", encoding="utf-8") as file:
        cells = _monthly_cells(file, path.name) if path.suffix == ".dly" else _daily_cells(file, path.name)
        for element, day, value in cells:
            found.setdefault(element, {})[day] = value / 10 if element in TENTHS else value
    return found


def _monthly_cells(lines: Iterator[str], name: str) -> Iterator[tuple[str, datetime.date, float]]:
    """Yield element, date and value from a `.dly` file: ID, year, month, element, 31 values with three flags each."""
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n").ljust(269)
        try:
            year, month = int(line[11:15]), int(line[15:17])
            values = [(int(line[at : at + 5]), line[at + 6]) for at in range(21, 269, 8)]
        except ValueError:
            expected = f"expected a month of GHCN-Daily, got {line[:30]!r}"
            raise ConfigError(f"{name}: line {number}: {expected}; try the file as NOAA has it") from None
        for day, (value, quality) in enumerate(values, 1):
            if value != -9999 and quality == " ":
                yield line[17:21], datetime.date(year, month, day), float(value)


def _daily_cells(lines: Iterator[str], name: str) -> Iterator[tuple[str, datetime.date, float]]:
    """Yield element, date and value from a `by_station` file: ID, date, element, value, three flags, hour."""
    for number, row in enumerate(csv.reader(lines), 1):
        try:
            _, day, element, value, _, quality, *_ = row
            date = datetime.datetime.strptime(day, "%Y%m%d").date()
            if not quality:
                yield element, date, float(value)
        except ValueError:
            if number == 1 and "DATE" in row:
                continue  # newer files have a header
            raise ConfigError(
                f"{name}: line {number}: expected ID,YYYYMMDD,ELEMENT,VALUE,flags, got {','.join(row)[:40]!r}; try a "
                "file of the folder by_station"
            ) from None


def find_whole_years(records: Records, missing: int = MISSING_DAYS) -> list[int]:
    """Return the calendar years in which each required element has at most `missing` missing days."""
    counts = [_count_days(records.get(element, {})) for element in NEEDED_ELEMENTS]
    return [year for year in sorted(counts[0]) if all(c.get(year, 0) >= 365 - missing for c in counts)]


def _count_days(values: Mapping[datetime.date, float]) -> dict[int, int]:
    years, days = np.unique([day.year for day in values], return_counts=True)
    return dict(zip(years.tolist(), days.tolist(), strict=True))


def longest_run(years: list[int]) -> list[int]:
    """Return the longest run of consecutive years; of two equally long runs, the later one."""
    best: list[int] = []
    run: list[int] = []
    for year in years:
        run = [*run, year] if run and year == run[-1] + 1 else [year]
        best = run if len(run) >= len(best) else best
    return best


def _make_table(records: Records, years: list[int]) -> StationTable:
    first, last = datetime.date(years[0], 1, 1), datetime.date(years[-1], 12, 31)
    dates = [first + datetime.timedelta(i) for i in range((last - first).days + 1)]
    names = (*NEEDED_ELEMENTS, "AWND", "RHAV")
    column = {name: np.array([records.get(name, {}).get(day, np.nan) for day in dates]) for name in names}
    wrong = column["TMIN"] > column["TMAX"]
    column["TMIN"][wrong] = column["TMAX"][wrong] = np.nan
    filled = {name: int(np.isnan(values).sum()) for name, values in column.items()}
    low, high = _interpolate(column["TMIN"]), _interpolate(column["TMAX"])
    low = np.minimum(low, high)
    humidity = np.where(np.isnan(column["RHAV"]), estimate_humidity(low, high), column["RHAV"])
    wind = _fill_wind(column["AWND"] * TO_2_M, np.array([day.month for day in dates]))
    rain = np.nan_to_num(column["PRCP"])
    return StationTable(dates, np.stack([low, high, (low + high) / 2, humidity, wind, rain], axis=1), filled)


def _interpolate(values: np.ndarray) -> np.ndarray:
    known = np.flatnonzero(~np.isnan(values))
    return np.interp(np.arange(len(values)), known, values[known])


def _fill_wind(wind: np.ndarray, month: np.ndarray) -> np.ndarray:
    """Fill missing wind with the station's mean for the month, or with the default."""
    known = ~np.isnan(wind)
    by_month = [wind[known & (month == m)] for m in range(1, 13)]
    means = np.array([of_month.mean() if len(of_month) else USUAL_WIND for of_month in by_month])
    return np.where(known, wind, means[month - 1])


def estimate_humidity(t_min: np.ndarray, t_max: np.ndarray) -> np.ndarray:
    """Return the mean relative humidity, in %, assuming a dew point of Tmin (FAO-56 eqs. 48, 10 and 12)."""
    low, high = vapour_pressure(t_min), vapour_pressure(t_max)
    return 200 * low / (low + high)


def vapour_pressure(temperature: np.ndarray) -> np.ndarray:
    """Return the saturation vapour pressure, in hPa (FAO-56 eq. 11)."""
    return 6.108 * np.exp(17.27 * temperature / (temperature + 237.3))


def main() -> None:
    """Convert a station file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="station file: ID.dly, ID.csv or ID.csv.gz")
    parser.add_argument("--out", type=Path, required=True, help="weather table to write (CSV)")
    parser.add_argument("--missing", type=int, default=MISSING_DAYS, help="maximum missing days per element and year")
    args = parser.parse_args()
    try:
        table = read_station(args.file, args.missing)
    except ConfigError as error:
        parser.error(str(error))
    table.write(args.out)
    filled = ", ".join(f"{count} of {name}" for name, count in table.filled.items() if count)
    print(f"{table.dates[0].year} to {table.dates[-1].year}, {len(table.dates)} days; filled: {filled or 'none'}")
    print(f"wrote {args.out}; use it as [Weather, {{extends: base, table: {args.out}, rain: mm}}]")


if __name__ == "__main__":
    main()
