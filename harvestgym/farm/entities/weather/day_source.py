"""Sources of days: a table of observed days, or a generator for a climate. Both store their memory in a vector.

The generator is in the style of Richardson (1981): it draws rain first, and then the other variables. Whether a day is
dry or has drizzle or rain depends on the day before (a Markov chain), so that spells of days with any rain, and with
more than drizzle, are as long as observed. Amounts of rain are gamma distributed. Temperatures, humidity and wind vary
around smooth seasonal levels, which differ on rainy days; the departures from these levels follow a first-order
autoregression. Temperatures also have an anomaly that lasts for months, so that some years are warmer than others. A
day takes a few dozen operations and six uniform numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import ndtri

from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import Pytree, iterate_metas, par, static
from harvestgym.farm.weather_data.normals import NODES, RAINY, REACH, WET, calendar
from harvestgym.farm.weather_data.table import YEAR, Day, WeatherTable

LATENT = ("t_min", "t_max", "humidity", "wind")
"""The variables that have departures, in the order used in all matrices here."""
DRAWS = 2 + len(LATENT)
"""Number of uniforms in [0, 1) for a day: one for wet or dry, one for the amount of rain, four for departures."""
MEMORY = 2 + len(LATENT)
"""Length of the memory vector that one day passes to the next: the sky, the departures, and the lasting anomaly."""
KEPT = 1 - 1 / 180
"""Fraction of the lasting anomaly that remains after a dry day; a rainy day does not change it."""
DRY, DRIZZLE, RAIN, UNKNOWN = 0, 1, 2, 3
DRIEST = 5.0  # %; daily means are higher even in deserts
NARROWEST = 0.5  # degC between night and day

AXIS_SIZES = {"month": 12, "before": 4, "after": 2, "node": NODES, "latent": len(LATENT), "level": len(LATENT) + 1}
"""Sizes of the table axes."""

_of_month = partial(par, low=-1000, high=1000)
"""A table of mid-month values."""

_matrix = partial(par, low=-10, high=10, axes=("latent", "latent"))
"""A matrix of the autoregression."""


class Replay(Pytree):
    """The days of a table in order, starting in a random year; the first year follows the last."""

    days: Array = par("days", "the days, in the columns of `Day`", low=-90, high=2000, axes=("day", "record"))
    start_day: Array = par("start_day#int365", "day of the year of the first row", dtype="int", low=1, high=365)
    occurrence: bool = static("occurrence", "whether the table has only the occurrence of rain, not amounts")
    year: Array = par("year", "index of the year in which episodes start; -1: any", dtype="int", low=-1, default=-1)

    def check(self) -> Iterator[str]:
        """Check that there are at least the days of one year."""
        shape = np.shape(self.days)
        if len(shape) != 2 or shape[0] < YEAR or shape[1] != len(Day._fields):
            expected = f"an array of shape (n, {len(Day._fields)}), n at least {YEAR}"
            yield f"days: expected {expected}, got one of shape {shape}"

    def first(self, day: Any, draws: Array) -> Array:
        """Return the memory before day `day` in the given or a random year; its first entry is the next row's index."""
        years = self.days.shape[0] // YEAR
        year = jnp.minimum((draws[0] * years).astype(jnp.int32), years - 1)
        drawn = (jnp.asarray(day, jnp.int32) - self.start_day) % YEAR + YEAR * year
        given = (1 - self.start_day) % YEAR + YEAR * self.year + jnp.asarray(day, jnp.int32) - 1
        row = jnp.where(jnp.asarray(self.year) < 0, drawn, given)
        return jnp.zeros(MEMORY, jnp.float32).at[0].set(row)

    def next(self, memory: Array, day: Any, draws: Array) -> tuple[Day, Array]:
        """Return the next row of the table, and the memory after it."""
        row = memory[0].astype(jnp.int32)
        n = self.days.shape[0]
        after = jnp.where(row + 1 < n, row + 1, n % YEAR)  # from the end of the table to the same day of the first year
        return Day(*jnp.asarray(self.days)[row]), memory.at[0].set(after)


class Climate(Pytree):
    """Parameters of the generator: one row per month, January first; columns as in `LATENT`.

    Temperatures in degC, humidity in %, wind in m/s at 2 m.
    """

    occurrence: ClassVar[bool] = False

    chances: Array = par("chances", "P(wet) and P(rainy) by last sky", low=0, high=1, axes=("month", "before", "after"))
    amounts: Array = par("amounts#mm", "quantiles of rain on a rainy day", low=0, high=2000, axes=("month", "node"))
    level: Array = _of_month("level", "means without rain, and t_mean minus the mid-range", axes=("month", "level"))
    rainy: Array = _of_month("rainy", "added on rainy days", axes=("month", "latent"))
    spread: Array = par("spread", "standard deviation of the Gaussian part", low=0, high=1000, axes=("month", "latent"))
    carry: Array = _matrix("carry", "departures carried over from one day to the next")
    shock: Array = _matrix("shock", "new departures from independent normals")
    start: Array = _matrix("start", "departures of the first day from independent normals")
    lasting: Array = par("lasting", "weight of the lasting anomaly in the departures", low=0, high=1, axes=("latent",))

    def check(self) -> Iterator[str]:
        """Check the shape of every table."""
        for name, meta in iterate_metas(Climate):
            shape, found = tuple(AXIS_SIZES[axis] for axis in meta.axes), np.shape(getattr(self, name))
            if found != shape:
                yield f"{name}: expected an array of shape {shape}, got one of shape {found}"

    def first(self, day: Any, draws: Array) -> Array:
        """Return the memory before the first day: an unknown sky, and departures; `draws` has shape (DRAWS,).

        The memory, float32 of shape (MEMORY,), is the part of today's weather on which tomorrow's weather depends: the
        sky (DRY, DRIZZLE, RAIN or UNKNOWN), the standardised departures of the variables in `LATENT`, and the lasting
        anomaly.
        """
        normals = _normal(draws[1:])
        return jnp.hstack((jnp.float32(UNKNOWN), self.start @ normals[1:], normals[0]))

    def next(self, memory: Array, day: Any, draws: Array) -> tuple[Day, Array]:
        """Return the weather of day `day` (1 to 365) after `memory`; `draws` is uniform in [0, 1), shape (DRAWS,).

        On a dry day, the draw for the amount of rain updates the lasting anomaly of the coming days instead.
        """
        index = jnp.asarray(day, jnp.int32) - 1
        at = calendar()
        month = jnp.asarray(at.month)[index]
        sky = jnp.sum(draws[0] < self.chances[month, memory[0].astype(jnp.int32)], dtype=jnp.int32)
        normal = _normal(draws[1])
        own = self.carry @ memory[1:-1] + self.shock @ _normal(draws[2:])
        departure = own + self.lasting * memory[-1]
        weight, before, after = (jnp.asarray(each)[index] for each in (at.weight, at.before, at.after))
        level = (1 - weight) * self.level[before] + weight * self.level[after]
        usual = level[: len(LATENT)] + (sky == RAIN) * self.rainy[month]
        spread = self.spread[month]
        t_min, t_max, humidity, _ = usual + spread * departure
        t_min, t_mean, t_max = _temperatures(t_min, t_max, level[-1])
        humidity = jnp.clip(humidity, DRIEST, 100.0)
        wind = _wind(usual[-1], spread[-1], departure[-1])
        rain = _amount(sky, self.amounts[month], draws[1], normal)
        renewed = KEPT * memory[-1] + np.float32(np.sqrt(1 - KEPT**2)) * normal
        lasting = jnp.where(sky == DRY, renewed, memory[-1])
        return Day(t_min, t_max, t_mean, humidity, wind, rain), jnp.hstack((sky.astype(jnp.float32), own, lasting))


DaySource = Replay | Climate


def replay_table(table: WeatherTable) -> Replay:
    """Return the day source for a table; all environments that use the table share it.

    Raises ConfigError if the table covers less than a year: an episode may start on any day of the year.
    """
    if len(table) < YEAR:
        got = f"{len(table)} ({table.name_days(np.arange(len(table)), 1)})"
        raise mismatch(table.name, f"a year or more ({YEAR} days)", got, "docs/weather.md, A record of one season")
    days: Any = np.stack([np.asarray(v, np.float32) for v in table.days], axis=1)
    start, year = np.int32(table.start_day), np.int32(-1)
    return Replay(days=days, start_day=start, occurrence=table.rain_kind == "occurrence", year=year)  # pyright: ignore[reportArgumentType]


def _normal(uniforms: Array) -> Array:
    """Convert uniforms in [0, 1) to standard normals; 0, which would give an infinite value, is replaced."""
    return ndtri(jnp.maximum(uniforms, 2.0**-25))


def _amount(sky: Array, table: Array, uniform: Array, normal: Array) -> Array:
    """Return rain in mm: none, drizzle (uniform on a log scale), or `table` interpolated at the uniform's normal."""
    position = jnp.clip((normal + REACH) * ((NODES - 1) / (2 * REACH)), 0, NODES - 1)
    node = jnp.minimum(position.astype(jnp.int32), NODES - 2)
    weight = position - node
    rain = (1 - weight) * table[node] + weight * table[node + 1]
    drizzle = WET * (RAINY / WET) ** uniform
    return jnp.where(sky == RAIN, rain, jnp.where(sky == DRIZZLE, drizzle, 0.0))


def _temperatures(t_min: Array, t_max: Array, offset: Array) -> tuple[Array, ...]:
    """Return the minimum, mean and maximum, in increasing order even if a departure is extreme."""
    middle, half = (t_min + t_max) / 2, jnp.maximum(t_max - t_min, NARROWEST) / 2
    return middle - half, jnp.clip(middle + offset, middle - half, middle + half), middle + half


def _wind(mean: Array, spread: Array, departure: Array) -> Array:
    """Return gamma-distributed wind with this mean and spread, by the cube approximation of Wilson and Hilferty (1931).

    This is accurate for the shape parameters of daily wind (4 or more).
    """
    ninth = jnp.square(spread / jnp.maximum(mean, 1e-6)) / 9
    return mean * jnp.maximum(1 - ninth + departure * jnp.sqrt(ninth), 0.0) ** 3
