"""Monitored variables of a farm: `(field, entity, variable, function, title, range)` each, as in the Farm-Gym paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from harvestgym.core.errors import ConfigError, unknown
from harvestgym.farm.config.names import Names
from harvestgym.farm.engine.variables import Variable
from harvestgym.render.readings import Watch, make_watch

ENTRY = "(field, entity, variable, function, title, range)"


def watch_variables(model: Any, entries: Sequence[Any]) -> list[Watch]:
    """Make the watches of user input; ConfigError with the nearest name."""
    names = Names(model.actions.farmers, model.fields, model.variables)
    return [_watch(model, names, entry, f"monitoring > {i}") for i, entry in enumerate(entries)]


def _watch(model: Any, names: Names, entry: Any, where: str) -> Watch:
    if not isinstance(entry, (tuple, list)) or len(entry) != 6:
        raise ConfigError(f"{where}: expected {ENTRY}, got {entry!r}")
    field, entity, key, function, title, limits = entry
    variable = _find_variable(names, field, entity, key, where)
    return make_watch(partial(model.value, variable), variable.meta, function, title, limits)


def _find_variable(names: Names, field: Any, entity: Any, key: Any, where: str) -> Variable:
    ref = names.ref((field, entity, key, []), where)
    found: Any = names.tree[ref[0], ref[1]][ref[2]]
    for step in ref[3]:
        found = found[step]
    if isinstance(found, Mapping):
        raise unknown("variable", key, [f"{key}/{below}" for below in found], f"{where}: {key} is a group")
    return found
