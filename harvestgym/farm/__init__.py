"""The farm family: the classes in section 3 of the Farm-Gym paper, imported on first use (nothing here imports JAX)."""

# ruff: noqa: F401
from __future__ import annotations

from typing import TYPE_CHECKING

from harvestgym.core.loading import export_lazily

from .public_names import PUBLIC

if TYPE_CHECKING:  # for editors and type checkers
    from harvestgym.farm.engine.farmers import BasicFarmer, CostCap, Farmer, HourlyFarmer, Rule
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
    from harvestgym.farm.learn.action_wrappers import wrap_actions
    from harvestgym.farm.learn.map_farm import MapFarm
    from harvestgym.farm.paper.builders import BasicRule, BasicScore, Field
    from harvestgym.farm.paper.farm import Farm, FilesWritten
    from harvestgym.farm.paper.farm_gym.conversion import NotConverted
    from harvestgym.render.monitor_readings import mat2d_value, sum_value

__all__ = [*PUBLIC]  # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = export_lazily(__name__, PUBLIC)
