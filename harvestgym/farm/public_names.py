"""The table of public classes that a farm file and `from harvestgym.farm import ...` can name, with their modules.

Each built-in component is registered by one line here; users' own components are named `module:Class`.
"""

from __future__ import annotations


def _locate(module: str, *names: str) -> dict[str, str]:
    return {name: f"harvestgym.farm.{module}:{name}" for name in names}


KINDS = {
    name: f"harvestgym.farm.entities.{name.lower()}:{name}"
    for name in (
        "Weather", "Soil", "Plant", "Birds", "Weeds", "Pests", "Pollinators", "Cide", "Fertilizer", "Facility",
    )
}  # fmt: skip
"""Kinds of entities, each in the folder named after it."""

FARMERS = _locate("engine.farmers", "BasicFarmer", "HourlyFarmer")
RULES = _locate("engine.farmers", "CostCap")
TERMS = _locate("engine.reward_terms", "Tally", "Market", "Biodiversity", "SoilHealth")

PUBLIC = {
    **KINDS,
    **FARMERS,
    **RULES,
    **TERMS,
    **_locate("paper.builders", "BasicRule", "BasicScore", "Field"),
    **_locate("engine.farmers", "Farmer", "Rule"),
    **_locate("engine.reward_terms", "Term"),
    **_locate("entities.base", "Entity"),
    **_locate("learn.action_wrappers", "wrap_actions"),
    **_locate("paper.farm", "Farm", "FilesWritten"),
    **_locate("learn.map_farm", "MapFarm"),
    **_locate("paper.farm_gym.conversion", "NotConverted"),
    **{name: f"harvestgym.render.monitor_readings:{name}" for name in ("sum_value", "mat2d_value")},
}
"""Everything that `harvestgym.farm` exports."""
