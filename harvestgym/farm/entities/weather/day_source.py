"""Sources of days: a table of real days, or the generator of a climate. Both remember in one vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import par, pytree, static
from harvestgym.farm.weather_data.day import YEAR, Day
from harvestgym.farm.weather_data.table import WeatherTable
from harvestgym.farm.weather_data.table_checks import WeatherTableError

from . import generator
from .climate import LATENT, Climate

MEMORY = 1 + len(LATENT)
"""Length of what any sky remembers from one day to the next."""


@pytree
class Replay:
    """Days of a table in their order, from a year drawn at the start; after its end comes its first year."""

    days: jax.Array = par(
        "days", "t_min, t_max, t_mean degC, humidity %, wind m/s at 2 m, rain mm", low=-90, high=2000,
        axes=("day", "record"),
    )  # fmt: skip
    start_day: jax.Array = par("start_day#int365", "day of the year of the first row", dtype="int", low=1, high=365)
    occurrence: bool = static("occurrence", "whether the table says only that it rains, not how much")

    def check(self) -> Iterator[str]:
        """Check that there is a year of days or more."""
        shape = np.shape(self.days)
        if len(shape) != 2 or shape[0] < YEAR or shape[1] != len(Day._fields):
            expected = f"an array of shape (n, {len(Day._fields)}), n at least {YEAR}"
            yield f"days: expected {expected}, got one of shape {shape}"

    def first(self, day: Any, draws: jax.Array) -> jax.Array:
        """Return the memory before day `day` of one of the table's years; the row that comes next stands first."""
        years = self.days.shape[0] // YEAR
        year = jnp.minimum((draws[0] * years).astype(jnp.int32), years - 1)
        row = (jnp.asarray(day, jnp.int32) - self.start_day) % YEAR + YEAR * year
        return jnp.zeros(MEMORY, jnp.float32).at[0].set(row)

    def next(self, memory: jax.Array, day: Any, draws: jax.Array) -> tuple[Day, jax.Array]:
        """Return the next row of the table."""
        row = memory[0].astype(jnp.int32)
        n = self.days.shape[0]
        after = jnp.where(row + 1 < n, row + 1, n % YEAR)  # the same day of the year, in the first of the years
        return Day(*jnp.asarray(self.days)[row]), memory.at[0].set(after)


@pytree
class Generate:
    """Days generated after monthly normals, see `generator`."""

    climate: Climate
    occurrence: ClassVar[bool] = False

    def first(self, day: Any, draws: jax.Array) -> jax.Array:
        """Return the memory of an unknown eve."""
        return _packed(generator.first_memory(self.climate, draws))

    def next(self, memory: jax.Array, day: Any, draws: jax.Array) -> tuple[Day, jax.Array]:
        """Return the next generated day."""
        before = generator.Memory(memory[0].astype(jnp.int32), memory[1:])
        found, after = generator.next_day(self.climate, before, day, draws)
        return found, _packed(after)


DaySource = Replay | Generate


def _packed(memory: generator.Memory) -> jax.Array:
    return jnp.concatenate([memory.sky[None].astype(jnp.float32), memory.departure])


def replay_table(table: WeatherTable) -> Replay:
    """Return the sky of a table; the table is shared by all environments that use it.

    Raises WeatherTableError for less than a year: a game may begin on any day, and go on.
    """
    if len(table) < YEAR:
        raise WeatherTableError(
            f"{table.name}: expected a year or more ({YEAR} days), got {len(table)}; try more days, or "
            "`generate: true` to draw days after its climate"
        )
    days: Any = np.stack([np.asarray(v, np.float32) for v in table.days], axis=1)
    start: Any = np.int32(table.start_day)
    return Replay(days=days, start_day=start, occurrence=table.rain_kind == "occurrence")
