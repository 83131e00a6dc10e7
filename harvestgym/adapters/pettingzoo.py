"""Multi-agent environments by id, for PettingZoo: neighbours who share a water quota, fleets and foragers."""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from harvestgym import registry
from harvestgym.core.errors import check_count, look_up
from harvestgym.core.loading import load_object
from harvestgym.farm.shared_water import SharedWater
from harvestgym.fishing.shared_stock import CommonsModel, share_stock
from harvestgym.forager.shared_world import SharedWorld

if TYPE_CHECKING:
    from harvestgym.gym.pettingzoo_env import ParallelEnv

NEIGHBOUR_SOILS = ("clay", "loam", "sand", "silt")
"""The soils of the neighbours in `farm/shared-water-v0`."""

QUOTA = 75.0
"""Litres per farm and season in `farm/shared-water-v0`: about half of what the experts use without a quota."""


def make_shared_water(
    quota: float | None = None, shared_reward: bool = False, farms: int = 4, **overrides: Any
) -> SharedWater:
    """Make neighbours who grow beans on four soils in the same weather and share one seasonal water quota."""
    soils = islice(cycle(NEIGHBOUR_SOILS), check_count("farms", farms))
    models: list[Any] = [registry.make("farm/bean-1x1-v0", soil=soil, **overrides) for soil in soils]
    return SharedWater(tuple(models), QUOTA * farms if quota is None else quota, shared_reward)


def make_fleets(fleets: int = 3, **overrides: Any) -> CommonsModel:
    """Make fleets that fish one stock with logistic growth; each is paid for its own catch."""
    model: Any = registry.make("fishing/logistic-v0", **overrides)
    return share_stock(model, fleets)


def make_foragers(number: int = 2, **overrides: Any) -> SharedWorld:
    """Make foragers that collect from one shared map of the two-biome world."""
    model: Any = registry.make("forager/two-biome-v0", **overrides)
    return SharedWorld(model, number)


def make_parallel(id: str, render_mode: str | None = None, **arguments: Any) -> ParallelEnv:
    """Make the PettingZoo parallel environment with an id; `arguments` are passed to the function that makes it."""
    from harvestgym.gym.pettingzoo_env import ParallelEnv

    return ParallelEnv(load_object(look_up("environment", id, registry.PARALLEL))(**arguments), render_mode)


def describe_parallel() -> dict[str, str]:
    """Return a one-sentence description of each id."""
    made = {id: (load_object(make).__doc__ or "").partition("\n")[0] for id, make in registry.PARALLEL.items()}
    return {id: doc.removeprefix("Make ")[:1].upper() + doc.removeprefix("Make ")[1:] for id, doc in made.items()}
