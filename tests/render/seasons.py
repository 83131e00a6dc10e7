"""Records of seasons written by hand, so that a picture does not depend on the equations of a farm."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.family import make

Record = dict[str, np.ndarray]
MILD = {
    "day#int365": 184, "air_temperature/min#°C": 12, "air_temperature/mean#°C": 18, "air_temperature/max#°C": 24,
    "humidity_index#%": 60, "wind/speed#km.h-1": 7, "sun_exposure#int5": 5, "available_Water#L": 145,
}  # fmt: skip
"""A sunny third of July."""


@lru_cache
def farm(name: str, crop: str = "bean") -> FarmModel:
    """Return a farm of the catalogue, made once."""
    return make(name) if crop == "bean" else make(name, {"Plant-0": crop})


@lru_cache
def company(shape: tuple[int, int]) -> FarmModel:
    """Return all ten kinds and a hedge on a field of this shape."""
    plots = {"length#nb": shape[0], "width#nb": shape[1], "scale#m": 1.0}
    return make("full-10x10-v0", {"Facility-0": "hedge"}, fields={"Field-0": {"shape": plots}})


def blank(env: FarmModel, steps: int = 3) -> Record:
    """Return a season in which nothing stands on the fields and nothing happens, on mild and sunny days."""
    record = {v.name: np.full((steps, *v.shape), MILD.get(v.key, 0), float) for v in env.variables}
    for look in env.full_plan.items:
        record[f"seen/{look.variable.name}"] = np.zeros((steps, *look.variable.shape), bool)
    places = (steps, env.schedule)
    record |= {f"orders/{name}": np.zeros(places, np.int32) for name in ("kind", "farmer")}
    record |= {"orders/plot": np.zeros((*places, 2), np.int32), "orders/price": np.zeros(places)}
    record["orders/values"] = np.zeros((*places, env.actions.width))
    record |= {f"info/{name}": np.zeros(places, bool) for name in ("accepted", "effective")}
    record["info/refusal"] = np.zeros(places, np.int32)
    costs = ("intervention cost", "observation cost", "wages")
    record |= {f"info/{name}": np.zeros(steps) for name in ("gain", "net", *costs)}
    record |= {f"info/total/{name}": np.zeros(steps) for name in env.tallies}
    return record | {"info/day": np.arange(steps) // getattr(env, "steps_per_day", 1)}


def say(env: FarmModel, record: Record, step: int, field: str, entity: str, values: dict[str, Any]) -> None:
    """Let variables of an entity have values in a step."""
    for key, value in values.items():
        record[env.names.variable(field, entity, key).name][step] = value


def order(env: FarmModel, record: Record, step: int, asked: list[Any], effective: bool = True) -> None:
    """Interventions in the paper's form, taken by the farmers in a step at a price of 0.01 each."""
    orders = env.actions.encode(asked, env.schedule)
    for name, part in orders._asdict().items():
        record[f"orders/{name}"][step] = part
    given = np.asarray(orders.kind) > 0
    record["orders/price"][step] = 0.01 * given
    record["info/accepted"][step], record["info/effective"][step] = given, given & effective
    record["info/intervention cost"][step], record["info/net"][step] = 0.01 * given.sum(), -0.01 * given.sum()


def full(shape: tuple[int, int]) -> tuple[FarmModel, Record]:
    """Return a field of all ten kinds on which everything is to be seen on day 1."""
    env = company(shape)
    record, some = blank(env), np.arange(shape[0] * shape[1]).reshape(shape)
    reported: dict[str, dict[str, Any]] = {
        "Soil-0": {"available_Water#L": 110 + some % 5 * 17.0},
        "Plant-0": {"stage": 1 + some % 6, "population#nb": 16, "size#cm": 10 + some % 6 * 10, "cause_of_death": 8},
        "Weeds-0": {"grow#nb": some % 4, "flowers#nb": some % 3},
        "Pests-0": {"plot_population#nb": some % 3},
        "Pollinators-0": {"occurrence#bin": some % 2},
        "Birds-0": {"population#nb": 5},
        "Cide-0": {"amount#kg": 0.004 * (some % 2)},
        "Cide-1": {"amount#kg": 0.001 * (some % 3 == 0)},
        "Fertilizer-0": {"amount#kg": 0.02},
        "Facility-0": {"scarecrow": 1},
        "Weather-0": {"rain_amount": 1, "rain/amount#mm": 3.2, "wind/speed#km.h-1": 40},
    }
    for entity, values in reported.items():
        say(env, record, 1, "Field-0", entity, values)
    me = ("BasicFarmer-0", "Field-0")
    last = (shape[0] - 1, shape[1] - 1)
    watering = (*me, "Soil-0", "watering_discrete", {"plot": last, "amount#L": 20, "duration#min": 60})
    order(env, record, 1, [watering, (*me, "Facility-0", "put_scarecrow", {"type": "basic"})])
    return env, record


def two_fields() -> tuple[FarmModel, Record]:
    """Ripe tomatoes next to beans in bloom on a dry soil."""
    env = farm("two-climates-v0")
    record = blank(env)
    say(env, record, 1, "Field-0", "Plant-0", {"stage": 5, "population#nb": 3, "size#cm": 110})
    say(env, record, 1, "Field-0", "Soil-0", {"available_Water#L": 115})
    say(env, record, 1, "Field-1", "Plant-0", {"stage": 3, "population#nb": 15, "size#cm": 50})
    say(env, record, 1, "Field-1", "Soil-0", {"available_Water#L": 24})
    harvest = ("BasicFarmer-0", "Field-0", "Plant-0", "micro_harvest", {"plot": (0, 1)})
    order(env, record, 1, [harvest])
    return env, record


def three_crops() -> tuple[FarmModel, Record]:
    """Beans that were harvested, corn that is ripe and carrots that bear fruit, on one plot."""
    env = farm("rotation-v0")
    record = blank(env)
    say(env, record, 1, "Field-0", "Soil-0", {"available_Water#L": 40})
    say(env, record, 1, "Field-0", "Plant-0", {"harvested": 1, "harvest_weight#kg": 0.4})
    say(env, record, 1, "Field-0", "Plant-1", {"stage": 5, "population#nb": 5, "size#cm": 180})
    say(env, record, 1, "Field-0", "Plant-2", {"stage": 4, "population#nb": 10, "size#cm": 30})
    return env, record


def looks() -> tuple[FarmModel, Record]:
    """Return a morning on which the water and the stage were asked for, in mode "ao"."""
    env = farm("paid-looks-1x1-v0")
    record = blank(env)
    say(env, record, 1, "Field-0", "Plant-0", {"stage": 2, "population#nb": 16, "size#cm": 25})
    say(env, record, 1, "Field-0", "Weeds-0", {"grow#nb": 4})
    for key in ("Soil-0/available_Water#L", "Plant-0/stage"):
        record[f"seen/Field-0/{key}"][1] = True
    record["info/observation cost"][1] = 0.006
    return env, record


SEASONS = {"full-1x1": lambda: full((1, 1)), "full-3x4": lambda: full((3, 4)), "full-20x20": lambda: full((20, 20)),
           "two-fields": two_fields, "three-crops": three_crops, "looks": looks}  # fmt: skip
