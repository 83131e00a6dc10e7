"""Sources of days: a table of observed days, or the generator for a climate. Both store their memory in a vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import par, pytree, static
from harvestgym.farm.weather_data.table import YEAR, Day, WeatherTable

from .generator import MEMORY, Climate


@pytree
class Replay:
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
