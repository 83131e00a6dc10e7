"""Fisheries: stocks that grow, fleets that harvest them, and optimal policies as references for control rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harvestgym.core.loading import export_lazily

if TYPE_CHECKING:
    from .env import FishingEnv
    from .model import FishingModel

__all__ = ["FishingEnv", "FishingModel"]

_HOMES = {"FishingEnv": f"{__name__}.env:FishingEnv", "FishingModel": f"{__name__}.model:FishingModel"}
__getattr__, __dir__ = export_lazily(__name__, _HOMES)
