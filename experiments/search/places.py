"""The sites that a farm draws, so that a search can leave one out, and be judged there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harvestgym.core.env import Env
from harvestgym.core.errors import check_name
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate import splits
from harvestgym.farm.engine.contexts import ContextDraw
from harvestgym.farm.engine.model import FarmModel


def list_places(id: str) -> list[str]:
    """Return the names of the sites of an id's training side; none if it does not draw its site."""
    draw = _find_draw(splits.split(id, "train").make())
    return [] if draw is None else _list_eligible(draw)


def make_training(id: str, places: Sequence[str]) -> Env[Any, Any]:
    """Make the environment of an id's training side, in some of its sites."""
    side = splits.split(id, "train")
    draw = _find_draw(side.make())
    return side.make(context={"only": {draw.name: list(places)}}) if draw else side.make()


def leave_out(id: str, place: str) -> Env[Any, Any]:
    """Make the environment of an id's training side without one of its sites."""
    places = list_places(id)
    check_name("site", place, places)
    return make_training(id, [one for one in places if one != place])


def _find_draw(env: Env[Any, Any]) -> ContextDraw | None:
    farm = unwrapped(env)
    draws = farm.contexts.draws if isinstance(farm, FarmModel) and farm.contexts else ()
    return next((draw for draw in draws if "/" not in draw.name and len(_list_eligible(draw)) > 1), None)


def _list_eligible(draw: ContextDraw) -> list[str]:
    return [draw.labels[i] for i in draw.only or range(len(draw.labels))] if draw.kind == "choice" else []
