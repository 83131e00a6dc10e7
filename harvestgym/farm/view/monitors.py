"""Monitored variables of a farm: `(field, entity, variable, function, title, range)` each, as in the Farm-Gym paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.model import FarmModel
from harvestgym.render.readings import Watch, make_watch

ENTRY = "(field, entity, variable, function, title, range)"


def watch_variables(model: FarmModel, entries: Sequence[Any]) -> list[Watch]:
    """Make the watches of user input; ConfigError with the nearest name."""
    return [_watch(model, entry, f"monitoring > {i}") for i, entry in enumerate(entries)]


def _watch(model: FarmModel, entry: Any, where: str) -> Watch:
    if not isinstance(entry, (tuple, list)) or len(entry) != 6:
        raise ConfigError(f"{where}: expected {ENTRY}, got {entry!r}")
    field, entity, key, function, title, limits = entry
    variable = model.names.variable(field, entity, key, where)
    return make_watch(partial(model.value, variable), variable.meta, function, title, limits)
