"""The weather year of each episode, by which returns are grouped, because episodes in one year are similar."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from harvestgym.core.autoreset import split_key
from harvestgym.core.env import Env
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entities.weather.day_source import Replay
from harvestgym.farm.weather_data.table import YEAR


def list_blocks(env: Env[Any, Any], seed: int, count: int) -> np.ndarray:
    """Return the weather year of each of the first seasons of a seed; 0 if the weather is generated."""
    years = find_weather_years(unwrapped(env), evaluation_keys(seed, range(count)))
    return np.zeros(count, int) if years is None else years


def find_weather_years(env: Env[Any, Any], keys: jax.Array) -> np.ndarray | None:
    """Return the number (from 0) of the table year in which each key's episode begins; None without a table.

    On a farm with several tables, it is the year in the first one.
    """
    if not isinstance(env, FarmModel):
        return None
    for f, field in enumerate(env.params.fields):
        for e, entity in enumerate(field.entities):
            if isinstance(entity, Weather) and isinstance(entity.sky, Replay):
                return _find_years(env, keys, f, e, 1 + entity.lookahead)
    return None


def _find_years(env: FarmModel, keys: jax.Array, f: int, e: int, ahead: int) -> np.ndarray:
    """Return the years for an entity whose memory is `ahead` rows past the first day."""
    params = env.params

    def find_row(key: jax.Array) -> jax.Array:
        _, now = split_key(key)
        return env.reset(now, params)[0].fields[f][e].memory[0]

    rows = np.asarray(jax.jit(jax.vmap(find_row))(keys)).astype(int)
    entity = params.fields[f].entities[e]
    years = entity.sky.days.shape[0] // YEAR  # pyright: ignore[reportAttributeAccessIssue]
    return (rows - ahead) // YEAR % years
