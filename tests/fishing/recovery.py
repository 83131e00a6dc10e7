"""Translocation of a stock that has a threshold, the published conservation-v2."""

from __future__ import annotations

from typing import Any

from harvestgym.fishing.family import make
from harvestgym.fishing.model import FishingModel

MAY = {"kind": "may", "r": 0.7, "M": 1.2, "a": 0.2, "q": 3.0, "b": 0.15}
PUBLISHED_RECOVERY = {"law": MAY, "sigma": 0.1, "loss": 0.0, "benefit": 5.0, "bound": 3.0, "start": 0.1}
"""The arguments of docs/fishing.md."""


def make_recovery(**changed: Any) -> FishingModel:
    """Make the published fishery, with other arguments where they are given."""
    return make("recovery-ricker-v0", **(PUBLISHED_RECOVERY | changed))
