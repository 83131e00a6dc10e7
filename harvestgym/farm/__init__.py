"""The farm family: what section 3 of the paper writes, loaded when first used (nothing here imports JAX)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvestgym.farm.config.builders import BasicRule, BasicScore, Field
    from harvestgym.farm.engine.constraints import CostCap, Rule
    from harvestgym.farm.engine.farmers import BasicFarmer, Farmer, HourlyFarmer
    from harvestgym.farm.engine.reward_terms import Biodiversity, Market, SoilHealth, Tally, Term
    from harvestgym.farm.entities.base import Entity
    from harvestgym.farm.entities.birds import Birds
    from harvestgym.farm.entities.cide import Cide
    from harvestgym.farm.entities.facility import Facility
    from harvestgym.farm.entities.fertilizer import Fertilizer
    from harvestgym.farm.entities.pests import Pests
    from harvestgym.farm.entities.plant import Plant
    from harvestgym.farm.entities.pollinators import Pollinators
    from harvestgym.farm.entities.soil import Soil
    from harvestgym.farm.entities.weather import Weather
    from harvestgym.farm.entities.weeds import Weeds
    from harvestgym.farm.interface.action_wrappers import wrap_actions
    from harvestgym.farm.interface.farm import Farm, FilesWritten

_HOMES = {
    "interface.action_wrappers": ("wrap_actions",),
    "interface.farm": ("Farm", "FilesWritten"),
    "config.builders": ("BasicRule", "BasicScore", "Field"),
    "engine.farmers": ("BasicFarmer", "Farmer", "HourlyFarmer"),
    "engine.constraints": ("CostCap", "Rule"),
    "engine.reward_terms": ("Biodiversity", "Market", "SoilHealth", "Tally", "Term"),
    "entities.base": ("Entity",),
    "entities.birds": ("Birds",),
    "entities.cide": ("Cide",),
    "entities.facility": ("Facility",),
    "entities.fertilizer": ("Fertilizer",),
    "entities.pests": ("Pests",),
    "entities.plant": ("Plant",),
    "entities.pollinators": ("Pollinators",),
    "entities.soil": ("Soil",),
    "entities.weather": ("Weather",),
    "entities.weeds": ("Weeds",),
}
_LAZY = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "BasicFarmer", "BasicRule", "BasicScore", "Biodiversity", "Birds", "Cide", "CostCap", "Entity", "Facility", "Farm",
    "Farmer", "Fertilizer", "Field", "FilesWritten", "HourlyFarmer", "Market", "Pests", "Plant", "Pollinators", "Rule",
    "Soil", "SoilHealth", "Tally", "Term", "Weather", "Weeds", "wrap_actions",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
