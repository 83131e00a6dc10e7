"""Daily records of a season: the crop, its water and the air, with FAO-56 radiation and ET_0."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import numpy as np

from harvestgym.farm.engine.state import DayReport, FarmState
from harvestgym.farm.entities.messages import KMH
from harvestgym.farm.entities.plant.stages import Stage

from . import fao56
from .trials import crop_of, watch_harvest

SeasonRecord = Mapping[str, np.ndarray]
"""A value per season and day, (..., days), by name."""


def watch_crop(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """Record the crop in the evening, the water of the day, and tomorrow's air."""
    air, crop, flows = state.fields[0][0], crop_of(state), report.flows[0]
    return watch_harvest(state, report) | {
        "stage": crop.stage[0, 0], "size": crop.size[0, 0], "nitrogen": crop.nutrients[0, 0, 0],
        "transpired": -flows["water:transpiration"].sum(), "evaporated": -flows["water:evaporation"].sum(),
        "t_min": air.temperature[0], "t_mean": air.temperature[1], "t_max": air.temperature[2],
        "humidity": air.humidity, "wind": air.wind, "rain": air.rain, "day": air.day,
    }  # fmt: skip


def find_standing_days(record: SeasonRecord) -> np.ndarray:
    """Return whether the crop was standing in the morning, from the second day on."""
    stage = record["stage"][..., :-1]
    return (stage > Stage.NONE) & (stage < Stage.DEAD)


def compute_air(record: SeasonRecord, latitude: float) -> dict[str, np.ndarray]:
    """Return the air of each day from the second on, with FAO-56 radiation and ET_0; wind in m/s."""
    names = ("t_min", "t_mean", "t_max", "humidity", "wind", "rain", "day")
    air = {name: record[name][..., :-1].astype(float) for name in names}
    low, high, wind = air["t_min"], air["t_max"], air["wind"] / KMH
    sun = fao56.solar(low, high, latitude, air["day"])
    clear = 0.75 * fao56.extraterrestrial(latitude, air["day"])
    return air | {
        "wind": wind, "radiation": sun, "vapour": fao56.actual_vapour(low, high, air["humidity"]),
        "et0": fao56.reference(low, high, air["humidity"], wind, sun, clear),
    }  # fmt: skip
