"""Days that the generator simulates one after the other."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from harvestgym.farm.entities.weather.day_source import Climate
from harvestgym.farm.weather_data.table import YEAR, Day


def simulate(climate: Climate, memory: jax.Array, day: Any, draws: jax.Array) -> tuple[Day, jax.Array]:
    """Simulate consecutive days from day `day`; `draws` has shape (n, DRAWS), the fields of the days (n,)."""

    def step(carry: tuple[jax.Array, jax.Array], draw: jax.Array) -> tuple[tuple[jax.Array, jax.Array], Day]:
        before, today = carry
        weather, after = climate.next(before, today, draw)
        return (after, today % YEAR + 1), weather

    (memory, _), days = jax.lax.scan(step, (memory, jnp.asarray(day, jnp.int32)), draws)
    return days, memory
