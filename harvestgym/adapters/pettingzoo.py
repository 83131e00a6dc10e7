"""Environments of several agents by id, for PettingZoo: neighbours with one quota of water, fleets, foragers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harvestgym import registry
from harvestgym.core.errors import check_name
from harvestgym.farm.learn.shared_water import SharedWater
from harvestgym.fishing.shared_stock import CommonsModel, share_stock
from harvestgym.forager.shared_world import SharedWorld
from harvestgym.gym.parallel_env import ParallelEnv

NEIGHBOUR_SOILS = ("clay", "loam", "sand", "silt")
"""The soils of the neighbours of `farm/shared-water-v0`."""

QUOTA = 300.0
"""Litres for the season of `farm/shared-water-v0`: about half of what its four experts use without a quota."""


def make_shared_water(quota: float = QUOTA, shared_reward: bool = False, **overrides: Any) -> SharedWater:
    """Make four neighbours who grow bean on four soils under one weather, with one quota of water for the season."""
    models: list[Any] = [
        registry.make(find_newest("farm/bean-1x1"), soil=soil, **overrides) for soil in NEIGHBOUR_SOILS
    ]
    return SharedWater(tuple(models), quota, shared_reward)


def make_fleets(fleets: int = 3, **overrides: Any) -> CommonsModel:
    """Make fleets on one stock of logistic growth; each is paid its own catch."""
    model: Any = registry.make(find_newest("fishing/logistic"), **overrides)
    return share_stock(model, fleets)


def make_foragers(number: int = 2, **overrides: Any) -> SharedWorld:
    """Make foragers in the world with two biomes; they collect from one map."""
    model: Any = registry.make(find_newest("forager/two-biome"), **overrides)
    return SharedWorld(model, number)


PARALLEL: dict[str, Callable[..., Any]] = {
    "farm/shared-water-v0": make_shared_water,
    "fishing/fleets-v0": make_fleets,
    "forager/several-v0": make_foragers,
}
"""Ids of environments of several agents."""


def make_parallel(id: str, render_mode: str | None = None, **arguments: Any) -> ParallelEnv:
    """Make a PettingZoo parallel environment; further arguments are those of its function and of the id inside."""
    check_name("environment", id, PARALLEL)
    return ParallelEnv(PARALLEL[id](**arguments), render_mode)


def describe_parallel() -> dict[str, str]:
    """Return a one-sentence description of each id."""
    docs = {id: (make.__doc__ or "").partition("\n")[0].removeprefix("Make ") for id, make in PARALLEL.items()}
    return {id: doc[:1].upper() + doc[1:] for id, doc in docs.items()}


def find_newest(name: str) -> str:
    """Return the id with the newest version of a name."""
    versions = [id for id in registry.ids() if id.rpartition("-v")[0] == name]
    return max(versions, key=lambda id: int(id.rpartition("-v")[2]))
