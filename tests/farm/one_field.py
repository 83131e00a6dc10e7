"""Farms of one field, from its entities and what else a test says about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.schema import farm_spec

LILLE, MONTPELLIER, SEATTLE = (50.6, 3.1, 20.0), (43.6, 3.9, 30.0), (47.45, -122.31, 132.0)
"""Latitude and longitude in degrees, altitude in metres."""


def make_field(
    entities: Sequence[Any],
    shape: tuple[int, int] = (1, 1),
    place: tuple[float, float, float] = MONTPELLIER,
    scale: float = 1.0,
) -> dict[str, Any]:
    """Return a field of a farm file; `shape` is length and width in plots, `scale` the side of a plot in metres."""
    where = dict(zip(("latitude#°", "longitude#°", "altitude#m"), place, strict=True))
    size = {"length#nb": shape[0], "width#nb": shape[1], "scale#m": scale}
    return {"localization": where, "shape": size, "entities": [list(entity) for entity in entities]}


def make_farm(
    entities: Sequence[Any],
    shape: tuple[int, int] = (1, 1),
    init: dict[str, Any] | None = None,
    place: tuple[float, float, float] = MONTPELLIER,
    scale: float = 1.0,
    made: Sequence[Entity] | None = None,
    rules: dict[str, Any] | None = None,
    **sections: Any,
) -> FarmModel:
    """Return a farm of one field.

    `init` holds start values by entity, `rules` other rules, `sections` further parts of a farm file. The entities in
    `made` are used instead of those that `entities` names.
    """
    rules = (rules or {}) | ({"init": {"Field-0": init}} if init else {})
    file = {"fields": {"Field-0": make_field(entities, shape, place, scale)}, "rules": rules} | sections
    return build(farm_spec(file, "test"), {"Field-0": tuple(made)} if made else None)
