"""Sharing of random draws between fields at one place: rain on one of them is rain on all.

Entities of a kind that is `shared` (the weather) have the draws of the first field at the same latitude and longitude
whose entity has the same parameters. Each field keeps its own state: its altitude shifts its temperatures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from harvestgym.farm.engine.initial_values import InitialValue
from harvestgym.farm.engine.name_table import NameTable
from harvestgym.farm.engine.state import FieldParams
from harvestgym.farm.engine.variables import entity_names
from harvestgym.farm.entities.base import Entity, Place

DrawnStart = tuple[InitialValue, Any]


def find_streams(fields: Mapping[str, FieldParams], own_weather: Collection[str]) -> dict[str, dict[str, str]]:
    """Return, by field and entity, the name of the draws of each entity that has those of another field."""
    found: dict[str, dict[str, str]] = {name: {} for name in fields}
    first: list[tuple[str, Place, Entity]] = []
    for name, field in fields.items():
        for slot, entity in zip(entity_names([type(e) for e in field.entities]), field.entities, strict=True):
            if not entity.shared or name in own_weather:
                continue
            like = (
                stream for stream, place, other in first if _is_near(place, field.place) and _is_same(other, entity)
            )
            stream = next(like, "")
            if stream:
                found[name][slot] = stream
            else:
                first.append((f"{name}/{slot}", field.place, entity))
    return found


def share_starts(starts: list[DrawnStart], names: NameTable) -> list[DrawnStart]:
    """Return the initial values with those of the first field for entities that share its draws and have none."""
    given = {(start.variable.where, start.variable.key) for start, _ in starts}
    copies = []
    for variable in names.variables:
        slot = names.slots[variable.where]
        if slot.stream != "/".join(variable.where) and (variable.where, variable.key) not in given:
            copies += [
                (replace(start, variable=variable), values)
                for start, values in starts
                if start.variable.name == f"{slot.stream}/{variable.key}"
            ]
    return [*starts, *copies]


def _is_near(one: Place, other: Place) -> bool:
    return bool(one.latitude == other.latitude and one.longitude == other.longitude)


def _is_same(one: Entity, other: Entity) -> bool:
    """Return whether two entities have the same structure and the same numbers."""
    (mine, structure), (theirs, like) = jax.tree.flatten(one), jax.tree.flatten(other)
    return structure == like and all(map(_is_equal, mine, theirs))


def _is_equal(one: Any, other: Any) -> bool:
    return np.array_equal(one, other, equal_nan=True)
