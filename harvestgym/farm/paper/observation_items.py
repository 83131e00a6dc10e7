"""The paper's observations as items `(field, entity, name, path, value)`; the value is None if it was not observed.

A day in mode "fo" has about fifty items, so an `ItemReader` is made once and converts similar variables together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.tree import Meta
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import WHOLE, EntityKey, NameTable, list_leaves, map_variables
from harvestgym.farm.engine.observations import ObservationPlan, ObservedItem
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.formula_parser import parse_formula
from harvestgym.farm.schema import parse_plot

Item = tuple[str, str, str, list[Any], Any]


class ObservationPath(NamedTuple):
    """An observation that can be requested: its entity, its variable, and the rest of its path (keys, then a plot)."""

    where: tuple[str, str]
    name: str
    path: tuple[Any, ...]

    @classmethod
    def of(cls, entity: EntityKey, key: str, plot: Any) -> ObservationPath:
        """Return the path for an entity's variable or group, on a plot or (None) on all plots, in canonical names."""
        name, *keys = key.split("/")
        return cls(entity, name, (*keys, *([] if plot is None else [tuple(plot)])))

    @classmethod
    def read(cls, names: NameTable, written: Any) -> ObservationPath:
        """Return the path for `(field, entity, name, path)` in any spelling; ConfigError if it does not exist."""
        field, entity, key, plot = split_observation(written, "")
        mine = names.entity(field, entity)
        return cls.of(mine, names.observed(mine, key, plot, "")[0], plot)

    @property
    def group(self) -> str:
        """The name of its group of variables in `RequestTable.groups`."""
        return "/".join((*self.where, self.name, *(s for s in self.path if isinstance(s, str))))

    @property
    def plot(self) -> tuple[int, int] | None:
        """The plot; None for all plots."""
        return next((s for s in self.path if not isinstance(s, str)), None)

    def find(self, names: NameTable) -> Any:
        """Return the variable, or a tree of variables by key."""
        found: Any = names.tree[self.where][self.name]
        for step in self.path:
            found = found[step] if isinstance(step, str) else found
        return found


def split_observation(written: Any, where: str) -> tuple[Any, Any, str, Any]:
    """Split `(field, entity, name, path)` into the field, the entity, the key and the plot (None for all)."""
    place = f"{where}: " if where else ""
    if not isinstance(written, (list, tuple)) or len(written) not in (3, 4):
        raise ConfigError(f"{place}expected (field, entity, name, path), got {written!r}")
    field, entity, name, path = written if len(written) == 4 else (*written, [])
    path = [] if path is None or path == WHOLE else path
    if not isinstance(path, (list, tuple)):
        raise ConfigError(f"{place}expected a path such as [], [(2, 3)] or ['max#°C'], got {path!r}")
    steps = [parse_plot(step) for step in path if step != WHOLE]
    plots = [step for step in steps if isinstance(step, (tuple, list))]
    words = [step for step in steps if isinstance(step, str)]
    if wrong := [step for step in steps if not isinstance(step, (str, tuple, list))] + plots[1:]:
        raise ConfigError(f"{place}expected a key, '*' or a plot (x, y) in the path, got {wrong[0]!r}")
    return field, entity, "/".join((str(name), *words)), plots[0] if plots else None


def write_variable(written: Any, where: str) -> str:
    """Return `(field, entity, name, path)` as variable text, which the farm checks; return text unchanged."""
    if isinstance(written, str):
        return written
    field, entity, key, plot = split_observation(written, where)
    return f"{field}.{entity}.{key}{'' if plot is None else list(plot)}"


def listed_paths(names: NameTable, listed: Sequence[str]) -> list[ObservationPath]:
    """Return the paths for a list of variables and groups in canonical names."""
    return [ObservationPath.of(*names.split(parse_formula(text), "")) for text in listed]


def requestable_paths(model: FarmModel) -> list[ObservationPath]:
    """Return the observations that can be requested: those listed in the rules, or all, except the free ones."""
    if not model.asks:
        return []
    listed, names = model.spec.rules.observations, model.names
    paths = _every_path(names) if listed is None else listed_paths(names, listed)
    return [path for path in dict.fromkeys(paths) if not is_free(path, model)]


def is_free(path: ObservationPath, model: FarmModel) -> bool:
    """Return whether everything that a path names is observed every day without a request."""
    free = {(item.variable.name, item.plot) for item in model.plan.items}
    keys = [variable.name for variable in list_leaves(path.find(model.names))]
    return all((key, None) in free or (key, path.plot) in free for key in keys)


def _every_path(names: NameTable) -> Iterator[ObservationPath]:
    """Yield every variable and every group of variables, whole, and each variable on each plot."""
    for where, tree in names.tree.items():
        yield from (ObservationPath(where, path[0], path[1:]) for path in _paths(tree, names.shapes[where[0]]))


def _paths(tree: Mapping[str, Any], shape: tuple[int, int]) -> Iterator[tuple[Any, ...]]:
    for key, below in tree.items():
        yield (key,)
        if isinstance(below, Variable):
            yield from ((key, plot) for plot in np.ndindex(shape) if below.per_plot)
        else:
            yield from ((key, *rest) for rest in _paths(below, shape))


class _Leaf(NamedTuple):
    """A variable in an item.

    Attributes:
        key: the item's number and the variable's name.
        meta: the variable's metadata.
        at: the positions of its numbers in an observation, an int array of its shape.
    """

    key: tuple[int, str]
    meta: Meta
    at: np.ndarray

    @property
    def sort(self) -> str:
        """The key by which variables are converted together; a single reshape handles those of the same shape."""
        return "label" if self.meta.labels else self.meta.dtype


class ItemReader:
    """Reader that extracts the items of some paths, in order, from any observation.

    Args:
        paths: the items' paths.
        names: the farm's names.
        plan: the plan of the whole observation.
    """

    def __init__(self, paths: Sequence[ObservationPath], names: NameTable, plan: ObservationPlan) -> None:
        found = [path.find(names) for path in paths]
        leaves = []
        for i, (path, below) in enumerate(zip(paths, found, strict=True)):
            for variable in list_leaves(below):
                at = plan.locate(ObservedItem(variable, path.plot))
                if at is not None:
                    leaves.append(_Leaf((i, variable.name), variable.meta, at))
        leaves.sort(key=lambda leaf: (leaf.sort, leaf.at.shape))
        self._at = np.concatenate([np.zeros(0, int), *(leaf.at.ravel() for leaf in leaves)])
        self._starts = np.cumsum([0, *(leaf.at.size for leaf in leaves)])[:-1]
        self._readers, start = [], 0
        for _, group in itertools.groupby(leaves, key=lambda leaf: leaf.sort):
            alike = list(group)
            stop = start + sum(leaf.at.size for leaf in alike)
            self._readers.append((slice(start, stop), _group_reader(alike)))
            start = stop
        number = {leaf.key: n for n, leaf in enumerate(leaves)}
        self._rows = []
        for i, (path, below) in enumerate(zip(paths, found, strict=True)):
            # A value that is never observed maps to the None after the last leaf.
            numbered = map_variables(lambda v: number.get((i, v.name), len(number)), below)  # noqa: B023
            self._rows.append((*path.where, path.name, path.path, numbered))

    def __call__(self, obs: Any) -> list[Item]:
        """Return the items in an observation."""
        values, mask = (obs["values"], obs["mask"]) if isinstance(obs, dict) else (obs, None)
        taken = values.take(self._at)
        read: list[Any] = []
        for cut, reader in self._readers:
            read += reader(taken[cut])
        if mask is not None and read:
            known = np.logical_and.reduceat(mask.take(self._at) > 0, self._starts).tolist()
            read = [value if observed else None for value, observed in zip(read, known, strict=True)]
        read.append(None)
        return [
            (field, entity, name, [*path], read[at] if type(at) is int else _fill_tree(at, read))
            for field, entity, name, path, at in self._rows
        ]


def _group_reader(leaves: Sequence[_Leaf]) -> Callable[[np.ndarray], list[Any]]:
    """Return a function that converts the numbers of similar variables to a Python value or an array for each."""
    convert, parts, start = _converter(leaves), [], 0
    for shape, group in itertools.groupby(leaf.at.shape for leaf in leaves):
        many = len(list(group))
        stop = start + many * prod(shape)
        parts.append((slice(start, stop), (many, *shape) if shape else ()))
        start = stop

    def read(numbers: np.ndarray) -> list[Any]:
        values, out = convert(numbers), []
        for cut, shape in parts:
            out.extend(values[cut].reshape(shape) if shape else values[cut].tolist())
        return out

    return read


def _converter(leaves: Sequence[_Leaf]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that converts the numbers of similar variables to values of their type, labels as words."""
    meta = leaves[0].meta
    if not meta.labels:
        return lambda numbers: numbers.astype(meta.array_dtype, copy=False)
    words = np.asarray([word for leaf in leaves for word in leaf.meta.labels])
    starts = np.cumsum([0, *(len(leaf.meta.labels) for leaf in leaves)])[:-1]
    start = np.repeat(starts, [leaf.at.size for leaf in leaves])
    return lambda numbers: words[start + numbers.astype(np.intp)]


def _fill_tree(tree: dict[str, Any], values: Sequence[Any]) -> dict[str, Any]:
    return {key: values[below] if type(below) is int else _fill_tree(below, values) for key, below in tree.items()}
