"""Records of seasons written by hand, so that a picture is known whatever the equations of a farm say today."""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.farm.active import ActiveFarm
from harvestgym.farm.model import FarmModel

MILD = {
    "day#int365": 184, "air_temperature/min#°C": 12, "air_temperature/mean#°C": 18, "air_temperature/max#°C": 24,
    "humidity_index#%": 60, "wind/speed#km.h-1": 7, "sun_exposure#int5": 5,
}  # fmt: skip
"""A sunny third of July."""


def blank(env: FarmModel, steps: int = 3) -> dict[str, np.ndarray]:
    """A season in which nothing stands on the field and nothing happens, on mild and sunny days."""
    every = getattr(env, "steps_per_day", 1)
    record: dict[str, np.ndarray] = {
        v.name: np.full((steps, *v.shape), MILD.get(v.key, 0), float) for v in env.variables
    }
    for look in (*env.plan.looks, *(env.offered.looks if isinstance(env, ActiveFarm) else ())):
        record[f"seen/{look.variable.name}"] = np.zeros((steps, *look.variable.shape), bool)
    for name, width in (("kind", ()), ("farmer", ()), ("plot", (2,)), ("values", (env.actions.width,))):
        record[f"orders/{name}"] = np.zeros((steps, env.schedule, *width))
    record["orders/price"] = np.zeros((steps, env.schedule))
    for name in ("gain", "net", "intervention cost", "observation cost", "wages", *(f"total/{t}" for t in env.tallies)):
        record[f"info/{name}"] = np.zeros(steps)
    for name in ("accepted", "effective"):
        record[f"info/{name}"] = np.zeros((steps, env.schedule), bool)
    record["info/day"] = np.arange(steps) // every
    return record


def order(env: FarmModel, record: dict[str, np.ndarray], step: int, tuples: list[Any], effective: bool = True) -> None:
    """Interventions in the paper's form, taken by the farmers in a step at a price of 0.01 each."""
    orders = env.actions.encode(tuples, env.schedule)
    for name, part in orders._asdict().items():
        record[f"orders/{name}"][step] = part
    asked = np.asarray(orders.kind) > 0
    record["orders/price"][step] = 0.01 * asked
    record["info/accepted"][step], record["info/effective"][step] = asked, asked & effective
    record["info/intervention cost"][step] = 0.01 * asked.sum()
    record["info/net"][step] = -0.01 * asked.sum()
