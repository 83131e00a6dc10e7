"""Multi-agent environments by id, for PettingZoo: neighbours with one quota of water, fleets on a stock, foragers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harvestgym import registry
from harvestgym.core.errors import check_name
from harvestgym.farm.learn.parallel_env import FarmsEnv
from harvestgym.fishing.parallel_env import FleetsEnv
from harvestgym.forager.host_engine.parallel_env import ForagerParallel
from harvestgym.gym.parallel_env import MultiAgentEnv

NEIGHBOUR_SOILS = ("clay", "loam", "sand", "silt")
"""The soils of the neighbours of `farm/shared-water-v0`."""

QUOTA = 300.0
"""Litres for the season of `farm/shared-water-v0`: about half of what its four experts use without a quota."""


def make_shared_water(quota: float = QUOTA, shared_reward: bool = False, **overrides: Any) -> FarmsEnv:
    """Make four neighbours who grow beans on four soils in the same weather, with one quota of water for the season."""
    models: list[Any] = [registry.make(find_newest(f"farm/bean-{soil}-1x1"), **overrides) for soil in NEIGHBOUR_SOILS]
    return FarmsEnv(models, quota, shared_reward)


def make_fleets(fleets: int = 3, **overrides: Any) -> FleetsEnv:
    """Make fleets on one stock of logistic growth; each earns its own catch."""
    model: Any = registry.make(find_newest("fishing/logistic"), **overrides)
    return FleetsEnv(model, fleets)


def make_foragers(number: int = 2, **overrides: Any) -> ForagerParallel:
    """Make foragers in the world with two biomes; they collect from one map."""
    model: Any = registry.make(find_newest("forager/two-biome"), **overrides)
    return ForagerParallel(model, number)


PARALLEL: dict[str, Callable[..., MultiAgentEnv]] = {
    "farm/shared-water-v0": make_shared_water,
    "fishing/fleets-v0": make_fleets,
    "forager/several-v0": make_foragers,
}
"""Ids of multi-agent environments."""


def make_parallel(id: str, **arguments: Any) -> MultiAgentEnv:
    """Make a PettingZoo parallel environment; further arguments go to its function and to the id inside."""
    check_name("environment", id, PARALLEL)
    return PARALLEL[id](**arguments)


def describe_parallel() -> dict[str, str]:
    """Return a one-sentence description of each id."""
    docs = {id: (make.__doc__ or "").partition("\n")[0].removeprefix("Make ") for id, make in PARALLEL.items()}
    return {id: doc[:1].upper() + doc[1:] for id, doc in docs.items()}


def find_newest(name: str) -> str:
    """Return the id with the newest version of a name."""
    versions = [id for id in registry.ids() if id.rpartition("-v")[0] == name]
    return max(versions, key=lambda id: int(id.rpartition("-v")[2]))
