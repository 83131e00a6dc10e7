"""The paper's observations as items `(field, entity, name, path, value)`; the value is None if it was not observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import mismatch, require
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import WHOLE, EntityKey, NameTable, list_leaves, map_leaves
from harvestgym.farm.engine.observations import ObservationPlan, ObservedItem
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.formula_parser import parse_formula
from harvestgym.farm.written_values import parse_plot

Item = tuple[str, str, str, list[Any], Any]
ItemReader = Callable[[Any], list[Item]]


class ObservationPath(NamedTuple):
    """An observation that can be requested: an entity, the key of a variable or group, and a plot (None for all)."""

    where: EntityKey
    key: str
    plot: tuple[int, int] | None

    @classmethod
    def read(cls, names: NameTable, written: Any) -> ObservationPath:
        """Return the path for `(field, entity, name, path)` in any spelling; raise ConfigError if it does not exist."""
        field, entity, key, plot = split_observation(written, "")
        mine = names.entity(field, entity)
        return cls(mine, names.observed(mine, key, plot, "")[0], None if plot is None else tuple(plot))

    @property
    def written(self) -> tuple[str, str, str, list[Any]]:
        """The paper's `(field, entity, name, path)`; the path contains the rest of the key, followed by the plot."""
        name, *path = self.key.split("/")
        return (*self.where, name, path if self.plot is None else [*path, self.plot])

    @property
    def group(self) -> str:
        """The name of its group of variables in `RequestTable.groups`."""
        return "/".join((*self.where, self.key))

    def find(self, names: NameTable) -> Any:
        """Return the variable, or a tree of variables by key."""
        return names.below(self.where, self.key.split("/"), "")[1]


def split_observation(written: Any, where: str) -> tuple[Any, Any, str, Any]:
    """Split `(field, entity, name, path)` into the field, the entity, the key and the plot (None for all)."""
    whole = isinstance(written, (list, tuple)) and len(written) in (3, 4)
    require(whole, where, "(field, entity, name, path)", repr(written))
    field, entity, name, path = written if len(written) == 4 else (*written, [])
    path = [] if path is None or path == WHOLE else path
    require(isinstance(path, (list, tuple)), where, "a path such as [], [(2, 3)] or ['max#°C']", repr(path))
    steps = [parse_plot(step) for step in path if step != WHOLE]
    plots = [step for step in steps if isinstance(step, (tuple, list))]
    words = [step for step in steps if isinstance(step, str)]
    if wrong := [step for step in steps if not isinstance(step, (str, tuple, list))] + plots[1:]:
        raise mismatch(where, "a key, '*' or a plot (x, y) in the path", repr(wrong[0]))
    return field, entity, "/".join((str(name), *words)), plots[0] if plots else None


def write_variable(written: Any, where: str) -> str:
    """Return `(field, entity, name, path)` as the name of a variable, which the farm checks; return text unchanged."""
    if isinstance(written, str):
        return written
    field, entity, key, plot = split_observation(written, where)
    return f"{field}.{entity}.{key}{'' if plot is None else list(plot)}"


def listed_paths(names: NameTable, listed: Sequence[str]) -> list[ObservationPath]:
    """Return the paths for a list of variables and groups in canonical names."""
    return [ObservationPath(*names.split(parse_formula(text), "")) for text in listed]


def requestable_paths(model: FarmModel, farmer: str | None = None) -> list[ObservationPath]:
    """Return the paths that a farmer (None: any farmer) can request: those in the rules, or all, without free ones."""
    if not model.asks:
        return []
    listed = model.spec.rules.requestable(farmer)
    paths = _every_path(model) if listed is None else listed_paths(model.names, listed)
    return [path for path in dict.fromkeys(paths) if not is_free(path, model)]


def is_free(path: ObservationPath, model: FarmModel) -> bool:
    """Return whether all variables of a path are observed every day without a request."""
    items = (ObservedItem(variable, path.plot) for variable in list_leaves(path.find(model.names)))
    return all(model.plan.locate(item) is not None for item in items)


def _every_path(model: FarmModel) -> Iterator[ObservationPath]:
    """Yield every variable and group of variables on all plots, and each variable on each single plot."""
    for name, members in model.requests.groups.items():
        field, entity, *words = name.split("/")
        variable, key = model.variables[members[0]], "/".join(words)
        yield ObservationPath((field, entity), key, None)
        if variable.key == key and variable.per_plot:
            yield from (ObservationPath((field, entity), key, p) for p in np.ndindex(model.names.shapes[field]))


def make_item_reader(paths: Sequence[ObservationPath], names: NameTable, plan: ObservationPlan) -> ItemReader:
    """Return a function that extracts the items of some paths, in order, from any observation by the farm's `plan`."""
    readers = [map_leaves(partial(_make_reader, plan, path.plot), path.find(names)) for path in paths]
    written = [path.written for path in paths]

    def read_items(obs: Any) -> list[Item]:
        values, known = (obs["values"], obs["mask"] > 0) if isinstance(obs, dict) else (obs, None)
        found = [map_leaves(lambda read: read(values, known), tree) for tree in readers]
        pairs = zip(written, found, strict=True)
        return [(field, entity, name, [*path], value) for (field, entity, name, path), value in pairs]

    return read_items


def _make_reader(plan: ObservationPlan, plot: tuple[int, int] | None, variable: Variable) -> Callable[..., Any]:
    """Return a function that reads a variable from an observation; it returns None if a number is unknown."""
    meta, at = variable.meta, plan.locate(ObservedItem(variable, plot))
    words, dtype = np.asarray(meta.labels), np.intp if meta.labels else meta.array_dtype
    if at is None:
        return lambda values, known: None
    where: Any = at.ravel() if at.shape else at.item()
    if at.size > 1 and (np.diff(where) == 1).all():
        where = slice(where[0], where[-1] + 1)  # faster than an array of positions

    def read(values: np.ndarray, known: np.ndarray | None) -> Any:
        if known is not None and not known[where].all():
            return None
        numbers = values[where].astype(dtype)
        found = words[numbers] if meta.labels else numbers
        return found.reshape(at.shape) if at.shape else found.item()

    return read
