"""The places of `years`: weather, latitude and altitude, read from records or drawn from a climate.

Years have 365 days. The measured files are in `shared/data/weather`, next to the clone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from examples.wmo_normals import MONTH_LENGTHS, RAINY, TO_2_M, Station, estimate_normals
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.day_source import DRAWS, Climate
from harvestgym.farm.entities.weather.site import load_site, site_names
from harvestgym.farm.weather_data.normals import Normals
from harvestgym.farm.weather_data.table import YEAR, Day, read_table

from .trials import files
from .trials.files import open_weather

DATA = files.DATA / "weather"
MARICOPA = "maricopa-2003-2020.wth"
DEVELOPMENT, SEALED = range(2003, 2012), range(2012, 2021)
"""The years of Maricopa in each part."""

LIRF = {2022: {}, 2023: {"RHmax": "RHmax fraction", "RHmin": "RHmin fraction"}}
"""The years of LIRF, and the columns that are not in the usual unit of the format."""

MARICOPA_PLACE = (33.069, 361.0)
LIRF_PLACE = (40.3915, 1425.0)
"""Latitude and altitude, from the heads of the files."""

CONSTANT = ("dry", "rainy")
"""The sites of the package that have no climate."""

GENERATED_YEARS = 30


class Place(NamedTuple):
    """A place where farms are played.

    Attributes:
        name: the site.
        latitude, altitude: in degrees and m; the altitude also applies to the station.
        years: float32 (years, 365, 6), the days in the order of `Day`; after a year comes the next, after the last
            the first.
        wind_from: shares of the eight wind directions; equal where a record has none.
    """

    name: str
    latitude: float
    altitude: float
    years: np.ndarray
    wind_from: np.ndarray = np.full(8, 1 / 8, np.float32)

    def follow(self, year: int, days: int) -> np.ndarray:
        """Return the days from 1 January of a year on, (days, 6), in whole years."""
        which = (year + np.arange(-(-days // YEAR))) % len(self.years)
        return self.years[which].reshape(-1, len(Day._fields))


def read_maricopa(years: Sequence[int]) -> Place:
    """Read some years of the record of Maricopa; only `years.open_sealed` may ask for the sealed ones."""
    days = _stack(read_table(DATA / MARICOPA).of_years(list(years)).days)
    return Place("maricopa", *MARICOPA_PLACE, days.reshape(len(years), YEAR, -1))


def read_lirf() -> Place:
    """Read 2022 and 2023; the days after 29 November 2022, which the file lacks, are taken from 2023.

    The file of 2023 has forecasts (`F`) from 1 to 3 November, then averages of earlier years (`P`), and a day 366,
    which is dropped.
    """
    first, second = (_read_lirf_year(year) for year in LIRF)
    whole = np.concatenate([first, second[len(first) :]])
    return Place("lirf", *LIRF_PLACE, np.stack([whole, second]))


def _read_lirf_year(year: int) -> np.ndarray:
    with open_weather(DATA / f"lirf-{year}.wth") as path:
        return _stack(read_table(path, columns=LIRF[year]).days)


def _stack(days: Day) -> np.ndarray:
    return np.stack([np.asarray(values, np.float32) for values in days], axis=1)


def average_months(record: Place) -> dict[str, list[float]]:
    """Average the days of a record by month: temperatures, humidity, wind, rain (mm a month) and days with 1 mm."""
    month = np.repeat(np.arange(12), MONTH_LENGTHS)
    t_min, t_max, t_mean, humidity, wind, rain = (record.years[..., i].mean(0) for i in range(len(Day._fields)))
    rainy = (record.years[..., Day._fields.index("rain")] >= RAINY).mean(0)
    daily = {"t_min": t_min, "t_max": t_max, "t_mean": t_mean, "humidity": humidity, "wind": wind}
    means = {name: [float(values[month == m].mean()) for m in range(12)] for name, values in daily.items()}
    sums = {"rain": rain, "rainy_days": rainy}
    return means | {name: [float(values[month == m].sum()) for m in range(12)] for name, values in sums.items()}


def estimate_climate(means: dict[str, list[float]], latitude: float, altitude: float) -> Climate:
    """Return the generator for monthly means; what they do not contain is estimated as for the WMO's normals."""
    value = {name: np.asarray(values) for name, values in means.items()}
    sheet = {
        ("precipitation total", "sum"): value["rain"],
        ("number of days with precipitation >= 1 mm", "count"): value["rainy_days"],
        ("daily minimum temperature", "mean"): value["t_min"],
        ("daily maximum temperature", "mean"): value["t_max"],
        ("daily mean temperature", "mean"): value["t_mean"],
        ("relative humidity", "mean"): value["humidity"],
        ("wind speed", "mean"): value["wind"] / TO_2_M,
    }
    station = Station("LIRF", "United States", "", latitude, 0.0, altitude, sheet)
    return compute_climate(Normals.model_validate(estimate_normals(station)))


def generate_lirf(means: dict[str, list[float]]) -> Place:
    """Draw years for LIRF from its monthly means."""
    return Place("lirf", *LIRF_PLACE, draw_years(estimate_climate(means, *LIRF_PLACE), "lirf"))


@cache
def generate_sites() -> tuple[Place, ...]:
    """Draw years for each site of the package that has a climate."""
    made = []
    for name in site_names():
        if name not in CONSTANT:
            site = load_site(name)
            years = draw_years(compute_climate(site.normals), name)
            latitude, altitude = float(site.about.latitude or 0.0), float(site.about.altitude or 0.0)
            made.append(Place(name, latitude, altitude, years, np.asarray(site.wind_rose, np.float32)))
    return tuple(made)


def draw_years(climate: Climate, name: str) -> np.ndarray:
    """Draw years of days from a climate, float32 (years, 365, 6); the name is the seed."""
    key = jax.random.key(int.from_bytes(name.encode()[:4], "little") % 2**31)
    return np.asarray(_draw_days(climate, key)).reshape(GENERATED_YEARS, YEAR, -1)


@jax.jit
def _draw_days(climate: Climate, key: jax.Array) -> jax.Array:
    draws = jax.random.uniform(key, (GENERATED_YEARS * YEAR + 1, DRAWS), jnp.float32)

    def step(memory: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        day, memory = climate.next(memory, *now)
        return memory, jnp.stack(day)

    days = jnp.arange(GENERATED_YEARS * YEAR, dtype=jnp.int32) % YEAR + 1
    return jax.lax.scan(step, climate.first(1, draws[0]), (days, draws[1:]))[1]
