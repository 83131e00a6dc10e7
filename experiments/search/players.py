"""The player of each family."""

from __future__ import annotations

from typing import Any

from harvestgym.core.env import Env
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate.run import horizon
from harvestgym.farm.engine.model import FarmModel
from harvestgym.fishing.model import FishingModel

from .farm_player import FarmPlayer
from .fleet_player import FleetPlayer
from .forager_player import ForagerPlayer
from .player import Player


def make_player(env: Env[Any, Any]) -> Player:
    """Return the player of an environment's family, before its inputs are measured."""
    inside = unwrapped(env)
    family = FarmPlayer if isinstance(inside, FarmModel) else FleetPlayer
    return (family if isinstance(inside, FarmModel | FishingModel) else ForagerPlayer)(env, horizon(env))
