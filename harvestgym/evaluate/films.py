"""A recorded episode as a film."""

from __future__ import annotations

from functools import partial
from typing import Any

from harvestgym.core.env import Env
from harvestgym.registry import family_function
from harvestgym.render.video import WIDTH, Film

from .record import Record


def film(id: str, env: Env[Any, Any], record: Record, width: int = WIDTH) -> Film:
    """The pictures of an episode as `record_episode` keeps it; of a long one every n-th step is drawn."""
    return Film.of(partial(family_function(id, "scene"), env, record), len(record["reward"]), width)
