"""Stand-ins for gym_fishing and gym_conservation: their names, arguments, defaults and tools, with this engine.

Change `from gym_fishing.envs import FishingCtsEnv` to `from harvestgym.fishing.drop_in import FishingCtsEnv`, and
`gym.make("fishing-v1", sigma=0.1)` to `drop_in.make("fishing-v1", sigma=0.1)`. The classes of gym_conservation are in
`harvestgym.fishing.drop_in.conservation`. docs/fishing.md lists the differences.
"""

from __future__ import annotations

from typing import Any

from harvestgym.core.errors import look_up, require

from . import conservation
from .base import IDS, StandIn
from .published import (
    Allen,
    BevertonHolt,
    FishingCtsEnv,
    FishingEnv,
    FishingModelError,
    FishingTippingEnv,
    May,
    ModelUncertainty,
    Myers,
    NonStationary,
    Ricker,
)
from .published_policies import BMSY, escapement, msy, user_action

__all__ = [
    "BMSY", "Allen", "BevertonHolt", "FishingCtsEnv", "FishingEnv", "FishingModelError", "FishingTippingEnv", "May",
    "ModelUncertainty", "Myers", "NonStationary", "Ricker", "conservation", "escapement", "make", "msy", "user_action",
]  # fmt: skip


def make(id: str, **arguments: Any) -> StandIn:
    """Make the stand-in for a published id, with its published arguments."""
    require(id != "fishing-v3", "drop_in.make", "a published id", id, 'harvestgym.make("fishing/logistic-survey-v0")')
    return look_up("id", id, IDS, "drop_in.make")(**arguments)
