"""WMO climate normals: convert a station's sheet for a 30-year period to a site with generated weather.

    python examples/wmo_normals.py Debrecen_12882.csv Debrecen --out debrecen.yaml

NOAA's National Centers for Environmental Information publish the sheets (CSV) for 1991-2020. They contain means of
temperature, rain, rainy days, humidity and wind, but not the day-to-day statistics that a generator needs;
`NOT_PUBLISHED` and the functions below estimate them.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc, ndtri

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather.evapotranspiration import extraterrestrial_radiation

MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
RAINY = 1.0
"""Rain, in mm, from which the generator counts a day as rainy."""
TO_2_M = 4.87 / np.log(67.8 * 10.0 - 5.42)
"""Ratio of the wind at 2 m to the wind at 10 m (FAO-56 eq. 47)."""

NOT_PUBLISHED = {
    # Richardson (1981), Water Resources Research 17, 182-190: correlations at 31 stations of the United States
    "lag": {"t_min": 0.674, "t_max": 0.621, "t_mean": 0.705, "humidity": 0.5, "wind": 0.4},
    "correlation": {"t_min_t_max": 0.633, "t_mean_humidity": 0.08},
}
# means of the six sites of the package with daily records (Seattle, three of New York, Lille, Montpellier), like the
# lags of humidity and wind, t_mean_humidity and the four constants below
RAINY_HUMIDITY, RAINY_WIND = 15.6, 0.7
HUMIDITY_SD = 12.2
WIND_SD = 0.35
"""Standard deviation as a fraction of the mean."""
T_MAX_SD = 3.8
"""Standard deviation of t_max, used if no counts of warm or frosty days are published."""
T_MIN_SD = 0.9
"""Standard deviation of t_min relative to the standard deviation of t_max, used if no counts are published."""
RAIN_SHAPE = 1.1
"""Gamma shape, used if no counts of days with 10 mm are published: the mean of the four sites in the United States."""
WET_PER_RAINY = 1.4
"""Ratio of days with 0.1 mm to days with 1 mm: the median of the six sites."""
DRIZZLE = 0.39
"""Mean rain, mm, on days with 0.1 to 1 mm in the generator."""

CALCULATIONS = ("mean", "sum", "count")

USEFUL_SHARES = (0.05, 0.95)
MIDDLE = 0.2
"""Counts outside these fractions of a month, or this close to half of it, contain little information on the spread."""
TOLERANCE = 0.03
"""Tolerance for the count of days with 10 mm; of all shapes within it, the one nearest to `RAIN_SHAPE` is used."""

Sheet = Mapping[tuple[str, str], np.ndarray]
"""Twelve monthly values by parameter and calculation, both names in lower case with single spaces."""


class Station(NamedTuple):
    """The header of a station sheet, and its values."""

    name: str
    country: str
    number: str
    latitude: float
    longitude: float
    altitude: float
    sheet: Sheet


def read_sheet(path: Path) -> Station:
    """Read a station sheet; raises ConfigError for any other layout."""
    lines = path.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if any(row)]
    head = {row[0].lower(): row[1] for row in rows if row[0] in ("Country_Name", "Station_Name")}
    place = next((row for row in rows if len(row) > 3 and row[1].count("|") == 3), None)
    if place is None or len(head) < 2:
        raise ConfigError(f"{path.name}: expected a station sheet of the WMO climate normals, got another file; try a "
                          "CSV file of NCEI's accession 0253808")  # fmt: skip
    return Station(
        head["station_name"], head["country_name"], place[0], _degrees(place[1]), _degrees(place[2]), float(place[3]),
        _read_values(rows),
    )  # fmt: skip


def _degrees(text: str) -> float:
    degrees, minutes, seconds, side = text.split("|")
    value = float(degrees) + float(minutes) / 60 + float(seconds) / 3600
    return round(-value if side in "SW" else value, 2)


def _read_values(rows: Sequence[Sequence[str]]) -> Sheet:
    found, name = {}, ""
    for row in rows:
        cells = [cell for cell in row if cell]
        if row[0].isdigit() and len(cells) == 3:
            name = re.sub(r"[\s_]+", " ", row[1]).lower()
        elif name and row[2:3] and row[2].lower() in CALCULATIONS and len(row) > 15 and all(row[4:16]):
            found[name, row[2].lower()] = np.array([float(cell) for cell in row[4:16]])
    return found


def estimate_normals(station: Station) -> dict[str, Any]:
    """Estimate the normals of the generator; raises ConfigError for values missing in the sheet."""
    sheet, days = station.sheet, np.array(MONTH_LENGTHS)
    total = _take(station, "precipitation total", "sum")
    rainy = _take(station, r"number of days with precipitation .*\b1 mm", "count") / days
    t_min, t_max, t_mean = (_take(station, f"daily {n} temperature", "mean") for n in ("minimum", "maximum", "mean"))
    wet = np.minimum(WET_PER_RAINY * rainy, 0.98)
    per_day = np.maximum((total - DRIZZLE * (wet - rainy) * days) / np.maximum(rainy * days, 0.01), RAINY + 0.1)
    high_sd = _estimate_sd(sheet, "maximum", t_max)
    low_sd = _estimate_sd(sheet, "minimum", t_min)
    t_max_sd = np.full(12, T_MAX_SD) if high_sd is None else high_sd
    wind = _take(station, "(mean )?wind speed", "mean")
    months = {
        "t_min": t_min, "t_min_sd": T_MIN_SD * t_max_sd if low_sd is None else low_sd, "t_max": t_max,
        "t_max_sd": t_max_sd, "t_mean": np.clip(t_mean, t_min, t_max),
        "humidity": _take(station, "relative humidity", "mean", lambda: _humidity_of_vapour(station, t_mean)),
        "humidity_sd": np.full(12, HUMIDITY_SD), "wind": wind, "wind_sd": WIND_SD * wind, "wet": wet,
        "wet_after_wet": continue_rain(wet), "rainy": rainy, "rainy_after_rainy": continue_rain(rainy),
        "rain_per_rainy_day": per_day, "rain_shape": np.full(12, _estimate_shape(sheet, rainy * days, per_day)),
    }  # fmt: skip
    lists = {name: [round(float(value), 3) for value in values] for name, values in months.items()}
    rain = {"rainy_minus_dry": estimate_rain_effect(station.latitude)}
    return lists | {"wind_factor": round(float(TO_2_M), 3)} | NOT_PUBLISHED | rain


def estimate_rain_effect(latitude: float) -> dict[str, Any]:
    """Return the difference between rainy and other days; for temperatures, by month, estimated from the latitude.

    The higher the sun, the more clouds lower the maximum by day; the lower the sun, the more they raise the minimum at
    night. Both differences are linear in the extraterrestrial radiation, fitted to the months of Seattle and New York
    (the mean of its three stations), from 9 to 42 MJ/m2 per day. The residual spread is 0.7 degC (minimum) and 1.5 degC
    (maximum), of an original spread of 1.2 and 2.4 degC.
    """
    daily = np.asarray(extraterrestrial_radiation(latitude, np.arange(1, 366)), float)
    sun = [month.mean() for month in np.split(daily, np.cumsum(MONTH_LENGTHS)[:-1])]
    effects = {"t_min": (3.7, 0.09), "t_max": (3.6, 0.17)}
    monthly = {name: [round(top - slope * s, 1) + 0.0 for s in sun] for name, (top, slope) in effects.items()}
    return monthly | {"humidity": RAINY_HUMIDITY, "wind": RAINY_WIND}


def continue_rain(share: np.ndarray) -> np.ndarray:
    """Return the probability of rain on the day after a rainy day, from the fraction of rainy days.

    Geng, Penning de Vries and Supit (1986), Agricultural and Forest Meteorology 36, 363-376: 0.25 + 0.75 f.
    """
    return np.where(share > 0, 0.25 + 0.75 * share, 0.0)


def _take(
    station: Station, parameter: str, calculation: str, otherwise: Callable[[], np.ndarray] | None = None
) -> np.ndarray:
    for (name, how), values in station.sheet.items():
        if how == calculation and re.fullmatch(parameter, name):
            return values
    if otherwise is not None:
        return otherwise()
    raise ConfigError(f"{station.name}: expected {parameter.strip('()')!r} ({calculation}) in the station sheet, got "
                      "none; try a station that has it")  # fmt: skip


def _humidity_of_vapour(station: Station, t_mean: np.ndarray) -> np.ndarray:
    """Return the humidity, %, from the mean vapour pressure and the mean temperature (FAO-56 eqs. 10 and 11)."""
    vapour = _take(station, "mean vapor pressure", "mean")
    saturated = 6.108 * np.exp(17.27 * t_mean / (t_mean + 237.3))
    return np.minimum(100 * vapour / saturated, 100.0)


def _estimate_sd(sheet: Sheet, which: str, mean: np.ndarray) -> np.ndarray | None:
    """Estimate daily standard deviations from counts of days beyond thresholds, for a normal distribution.

    A month without a usable count gets the mean of the other months; returns None if no month has one.
    """
    found = np.full((0, 12), np.nan)
    for (name, how), counts in sheet.items():
        said = re.search(rf"{which} temperature.*?([<>≤≥])=? ?(?:threshold)?([-–]?\d+) deg", name)
        if how != "count" or said is None:
            continue
        below = counts / np.array(MONTH_LENGTHS)
        share = below if said[1] in "<≤" else 1 - below
        useful = (share > USEFUL_SHARES[0]) & (share < USEFUL_SHARES[1]) & (abs(share - 0.5) > MIDDLE)
        z = ndtri(np.where(useful, share, 0.1))
        sd = np.where(useful, (float(said[2].replace("–", "-")) - mean) / z, np.nan)
        found = np.vstack([found, np.where(sd > 0.5, sd, np.nan)])
    known = ~np.isnan(found)
    if not known.any():
        return None
    by_month = np.where(known, found, 0).sum(0) / np.maximum(known.sum(0), 1)
    return np.where(known.any(0), by_month, by_month[known.any(0)].mean())


def _estimate_shape(sheet: Sheet, rainy_days: np.ndarray, per_day: np.ndarray) -> float:
    """Return the gamma shape, near `RAIN_SHAPE`, that reproduces the yearly count of days with 10 mm."""
    heavy = r"precipitation.*[>≥].*\b(?:threshold)?10 mm"
    counts = next((v for (name, how), v in sheet.items() if how == "count" and re.search(heavy, name)), None)
    if counts is None:
        return RAIN_SHAPE
    shapes = np.arange(0.5, 3.01, 0.05)
    expected = [sum(n * _share_above(s, mean) for n, mean in zip(rainy_days, per_day, strict=True)) for s in shapes]
    error = np.abs(np.array(expected) / counts.sum() - 1)
    cost = np.where(error <= max(TOLERANCE, error.min()), np.abs(shapes - RAIN_SHAPE), np.inf)
    return float(shapes[np.argmin(cost)])


def _share_above(shape: float, mean: float, level: float = 10.0) -> float:
    """Return the fraction of rainy days with `level` mm or more, if their rain is 1 mm plus a gamma variable."""
    above = mean - RAINY
    own = shape * (above / mean) ** 2
    return float(1 - gammainc(own, (level - RAINY) * own / above))


def write_site(station: Station, name: str) -> str:
    """Return a site file with these normals, as YAML."""
    lines = "\n".join(f"  {key}: {_format(value)}" for key, value in estimate_normals(station).items())
    return SITE_FILE.format(
        title=f"{name}, {station.country.title()}", latitude=station.latitude, longitude=station.longitude,
        altitude=round(station.altitude), station=station.name.title(), number=station.number, normals=lines,
    )  # fmt: skip


def _format(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_format(part)}" for key, part in value.items()) + "}"
    return f"[{', '.join(f'{number:g}' for number in value)}]" if isinstance(value, list) else f"{value:g}"


SITE_FILE = """\
title: {title}
latitude: {latitude:g}
longitude: {longitude:g}
altitude: {altitude:g}
period: 1991-2020
source: >-
  WMO climatological normals 1991-2020, station {station} (WMO {number}), NOAA NCEI accession 0253808:
  monthly temperatures, rain, days of 1 mm or more, humidity, wind (assumed at 10 m). Counts of days beyond thresholds
  give the spread of temperatures and of rain where they are published. Estimated, because not published: persistence,
  correlations, the spread of humidity and wind, days below 1 mm (examples/wmo_normals.py). The file
  contains no observations. Made by `examples/wmo_normals.py`.
licence: figures in the public domain (WMO normals, published by NOAA NCEI)
normals:
{normals}
"""


def main() -> None:
    """Convert the station sheet named on the command line to a site file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sheet", type=Path, help="station sheet (CSV) of the WMO climate normals")
    parser.add_argument("name", help="name of the place")
    parser.add_argument("--out", type=Path, required=True, help="site file to write (YAML)")
    options = parser.parse_args()
    options.out.write_text(write_site(read_sheet(options.sheet), options.name), encoding="utf-8")
    print(f"wrote {options.out}; use it as [Weather, {{extends: base, site: {options.out}}}]")


if __name__ == "__main__":
    main()
