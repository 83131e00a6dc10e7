"""The farm family: what section 3 of the paper writes, loaded when first used (nothing here imports JAX)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .entities.birds import Birds
    from .entities.cide import Cide
    from .entities.facility import Facility
    from .entities.fertilizer import Fertilizer
    from .entities.pests import Pests
    from .entities.plant import Plant
    from .entities.pollinators import Pollinators
    from .entities.soil import Soil
    from .entities.weather import Weather
    from .entities.weeds import Weeds
    from .entity import Entity
    from .faces import face
    from .farm import Farm, FilesWritten
    from .farmer import BasicFarmer, Farmer, HourlyFarmer
    from .limits import CostCap, Rule
    from .setup import BasicRule, BasicScore, Field
    from .terms import Biodiversity, Market, SoilHealth, Tally, Term

_HOMES = {
    "faces": ("face",),
    "farm": ("Farm", "FilesWritten"),
    "setup": ("BasicRule", "BasicScore", "Field"),
    "farmer": ("BasicFarmer", "Farmer", "HourlyFarmer"),
    "limits": ("CostCap", "Rule"),
    "terms": ("Biodiversity", "Market", "SoilHealth", "Tally", "Term"),
    "entity": ("Entity",),
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
    "Soil", "SoilHealth", "Tally", "Term", "Weather", "Weeds", "face",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
