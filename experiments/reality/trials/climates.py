"""Weather of trials without daily records: sites for the generator, made from monthly values.

`examples/wmo_normals.py` estimates what monthly means do not contain, as for the package's own sites. Humidity, wind
and the number of rainy days are assumed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from examples.wmo_normals import MONTH_LENGTHS, Station, write_site

HUMIDITY, WIND = 70.0, 4.5
"""Mean relative humidity, %, and wind 10 m above the ground, m/s; assumed for all months."""

RAINY_SHARES = np.array([0.2] * 3 + [0.27] * 6 + [0.2] * 3)
"""Fraction of days with 1 mm or more in the Corn Belt; assumed, 8 days a month from April to September."""


class Months(NamedTuple):
    """Twelve monthly values of a place.

    Attributes:
        name: of the place.
        latitude: degrees.
        altitude: m.
        t_min, t_max: mean minimum and maximum, degC.
        rain: mm in the month.
        rainy: fraction of days with 1 mm or more.
    """

    name: str
    latitude: float
    altitude: float
    t_min: np.ndarray
    t_max: np.ndarray
    rain: np.ndarray
    rainy: np.ndarray


def to_celsius(fahrenheit: Sequence[float] | np.ndarray) -> np.ndarray:
    """Convert temperatures from degF."""
    return (np.asarray(fahrenheit, float) - 32) / 1.8


def to_mm(inches: Sequence[float] | np.ndarray) -> np.ndarray:
    """Convert amounts of rain from inches."""
    return 25.4 * np.asarray(inches, float)


DES_MOINES = Months(
    "Des Moines, Iowa", 41.6, 290.0, to_celsius([12, 18, 29, 40, 51, 61, 66, 64, 54, 42, 29, 17]),
    to_celsius([29, 35, 48, 61, 72, 82, 86, 84, 76, 64, 47, 33]),
    to_mm([1.0, 1.2, 2.2, 3.6, 4.3, 4.6, 4.2, 4.5, 3.2, 2.6, 2.1, 1.3]), RAINY_SHARES,
)  # fmt: skip
"""Normals of the National Weather Service, as printed in Wikivoyage's guide to Des Moines."""

SOUTHERN_MINNESOTA = Months(
    "Albert Lea, Minnesota", 43.6, 380.0,
    to_celsius([2.8, 7.9, 21.6, 35.2, 47.4, 57.3, 62.2, 59.3, 49.6, 38.1, 24.2, 8.3]),
    to_celsius([20.7, 26.0, 38.3, 54.6, 68.7, 78.8, 82.8, 79.8, 70.8, 59.0, 41.4, 25.3]),
    to_mm([0.8, 0.8, 1.8, 3.2, 4.1, 4.7, 4.5, 4.2, 3.5, 2.4, 1.7, 1.1]), RAINY_SHARES,
)  # fmt: skip
"""Temperatures: NOAA, Climatography of the United States 81, Albert Lea; rain: normals of Rochester, rounded."""


def write_climate(months: Months, path: Path) -> None:
    """Write a site file for the generator, `[Weather, {extends: base, site: PATH}]`."""
    sheet = {
        ("precipitation total", "sum"): months.rain,
        ("number of days with precipitation ≥ 1 mm", "count"): months.rainy * np.array(MONTH_LENGTHS),
        ("daily minimum temperature", "mean"): months.t_min,
        ("daily maximum temperature", "mean"): months.t_max,
        ("daily mean temperature", "mean"): (months.t_min + months.t_max) / 2,
        ("relative humidity", "mean"): np.full(12, HUMIDITY),
        ("wind speed", "mean"): np.full(12, WIND),
    }
    station = Station(months.name, "a trial", "none", months.latitude, 0.0, months.altitude, sheet)
    path.write_text(write_site(station, months.name), encoding="utf-8")
