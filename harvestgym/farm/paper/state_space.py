"""The whole state of a farm as a member of a Gymnasium space, one component per variable of each entity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from harvestgym.farm.engine.name_table import NameTable, map_variables
from harvestgym.farm.engine.variables import Variable


def state_space(names: NameTable) -> spaces.Tuple:
    """Return a component for each variable; a `Dict` for one that has parts."""
    return spaces.Tuple([_space(below) for tree in names.tree.values() for below in tree.values()])


def _space(found: Any) -> spaces.Space[Any]:
    if not isinstance(found, Variable):
        return spaces.Dict({key: _space(below) for key, below in found.items()})
    if _is_code(found):
        return spaces.Discrete(len(found.meta.labels) or 2)
    return spaces.Box(found.meta.low, found.meta.high, found.shape, _dtype(found))


def state_member(names: NameTable, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the member of `state_space` with these arrays, given by the name of the variable."""

    def member(variable: Variable) -> Any:
        array = np.asarray(values[variable.name]).astype(_dtype(variable))
        return np.int64(array) if _is_code(variable) else array

    return tuple(map_variables(member, below) for tree in names.tree.values() for below in tree.values())


def _is_code(variable: Variable) -> bool:
    """Return whether it is a single label or truth value."""
    return not variable.shape and bool(variable.meta.labels or variable.meta.dtype == "bool")


def _dtype(variable: Variable) -> Any:
    return np.float32 if variable.meta.dtype == "float" else np.int32
