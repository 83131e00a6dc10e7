"""What can be asked for, and what is seen of it: items `(field, entity, name, path, value)`; None if it is not seen.

A day of an open farm tells some fifty items, so that what reads an observation is made once, and reads alike variables
at one go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.tree import Meta
from harvestgym.farm.config.names import Names, Ref
from harvestgym.farm.engine.variables import Variable

Item = tuple[str, str, str, list[Any], Any]
Part = int | dict[str, "Part"]
"""Where the value of an item stands among all that is read; a dict for a group of variables."""

KINDS = {"float": np.float32, "int": np.int32, "bool": np.bool_}


class Ask(NamedTuple):
    """An observation that can be asked for: its spelling, the group of variables and the plot (None for all)."""

    where: tuple[str, str]
    name: str
    path: tuple[Any, ...]

    @classmethod
    def of(cls, ref: Ref) -> Ask:
        """The ask of `(field, entity, name, path)` in its one spelling."""
        return cls((ref[0], ref[1]), ref[2], tuple(ref[3]))

    @property
    def group(self) -> str:
        """The name of its group of variables in `AskTable.groups`."""
        return "/".join((*self.where, self.name, *(s for s in self.path if isinstance(s, str))))

    @property
    def plot(self) -> tuple[int, int] | None:
        """The plot that is asked about; None for all."""
        return next((s for s in self.path if not isinstance(s, str)), None)

    def found(self, names: Names) -> Any:
        """The variable that is asked for, or a tree of several by their keys."""
        found: Any = names.tree[self.where][self.name]
        for step in self.path:
            found = found[step] if isinstance(step, str) else found
        return found


def every_ask(names: Names) -> list[Ask]:
    """Every variable and every group of them, whole, and each on each plot."""
    out: list[Ask] = []
    for where, tree in names.tree.items():
        shape = next(f.shape for f in names.fields if f.name == where[0])
        out += [Ask(where, path[0], path[1:]) for path in _paths(tree, shape)]
    return out


def _paths(tree: Mapping[str, Any], shape: tuple[int, int]) -> Iterable[tuple[Any, ...]]:
    for key, below in tree.items():
        yield (key,)
        if isinstance(below, Variable):
            yield from ((key, plot) for plot in np.ndindex(shape) if below.per_plot)
        else:
            yield from ((key, *rest) for rest in _paths(below, shape))


class Telling:
    """Tells some asks, in their order, of any observation.

    Args:
        asks: what is told.
        names: of the farm.
        places: of each variable by name where its numbers stand in an observation, -1 where they do not.
    """

    def __init__(self, asks: Sequence[Ask], names: Names, places: Mapping[str, np.ndarray]) -> None:
        found = [(ask, ask.found(names)) for ask in asks]
        alike: dict[str, list[_Leaf]] = {}
        for i, (ask, what) in enumerate(found):
            for variable in _leaves(what):
                at = places[variable.name] if ask.plot is None else places[variable.name][(..., *ask.plot)]
                if (at >= 0).all():
                    leaf = _Leaf((i, variable.name), variable.meta, at)
                    alike.setdefault(leaf.sort, []).append(leaf)
        sorts = [sorted(same, key=lambda leaf: leaf.at.shape) for same in alike.values()]
        leaves = list(itertools.chain(*sorts))
        self._readers = [_reader(same) for same in sorts]
        self._cuts = _cuts([sum(leaf.at.size for leaf in same) for same in sorts])
        self._at = np.concatenate([np.zeros(0, int), *(leaf.at.ravel() for leaf in leaves)])
        self._begins = [cut.start for cut in _cuts([leaf.at.size for leaf in leaves])]
        number = {leaf.key: n for n, leaf in enumerate(leaves)}
        parts = [_part(what, i, number) for i, (_, what) in enumerate(found)]
        self._trees = [part for part in parts if isinstance(part, dict)]
        trees = iter(range(len(number) + 1, len(number) + 1 + len(self._trees)))
        order = [next(trees) if isinstance(part, dict) else part for part in parts]
        self._rows = [(*ask.where, ask.name, ask.path, place) for ask, place in zip(asks, order, strict=True)]

    def __call__(self, obs: Any) -> list[Item]:
        """The items of an observation."""
        values, mask = (obs["values"], obs["mask"]) if isinstance(obs, dict) else (obs, None)
        seen = values.take(self._at)
        told: list[Any] = []
        for read, cut in zip(self._readers, self._cuts, strict=True):
            told += read(seen[cut])
        if mask is not None and told:
            known = np.logical_and.reduceat(mask.take(self._at) > 0, self._begins).tolist()
            told = [one if whether else None for one, whether in zip(told, known, strict=True)]
        told.append(None)
        told += [_tree(tree, told) for tree in self._trees]
        return [(field, entity, name, [*path], told[place]) for field, entity, name, path, place in self._rows]


class _Leaf(NamedTuple):
    """A variable that is told.

    Attributes:
        key: the number of the ask, and the name of the variable.
        meta: what it is.
        at: where its numbers stand in an observation, int, of its shape.
    """

    key: tuple[int, str]
    meta: Meta
    at: np.ndarray

    @property
    def sort(self) -> str:
        """Those of one sort are read together."""
        return "label" if self.meta.labels else self.meta.dtype


Reader = Callable[[np.ndarray], list[Any]]
"""From the numbers of variables, one after the other, to each of them as people read it."""


def _reader(leaves: Sequence[_Leaf]) -> Reader:
    """Of variables of one sort, those of one shape side by side: Python's own of single numbers, arrays of arrays."""
    alike = [(shape, len(list(same))) for shape, same in itertools.groupby(leaf.at.shape for leaf in leaves)]
    cuts, told = _cuts([many * prod(shape) for shape, many in alike]), _told(leaves)
    parts = [(cut, (many, *shape) if shape else ()) for cut, (shape, many) in zip(cuts, alike, strict=True)]

    def read(numbers: np.ndarray) -> list[Any]:
        whole, out = told(numbers), []
        for cut, shape in parts:
            out.extend(whole[cut].reshape(shape) if shape else whole[cut].tolist())
        return out

    return read


def _told(leaves: Sequence[_Leaf]) -> Callable[[np.ndarray], np.ndarray]:
    """Makes of numbers of one sort what people read: words of labels, whole numbers of counts."""
    meta = leaves[0].meta
    if not meta.labels:
        return lambda numbers: numbers.astype(KINDS[meta.dtype], copy=False)
    words = np.asarray([word for leaf in leaves for word in leaf.meta.labels])
    begins = [cut.start for cut in _cuts([len(leaf.meta.labels) for leaf in leaves])]
    begin = np.repeat(begins, [leaf.at.size for leaf in leaves])
    return lambda numbers: words[begin + numbers.astype(np.intp)]


def _cuts(sizes: Sequence[int]) -> list[slice]:
    """Where parts of these sizes lie, one after the other."""
    ends = list(itertools.accumulate(sizes, initial=0))
    return [slice(*ends_of) for ends_of in itertools.pairwise(ends)]


def _leaves(found: Any) -> Iterator[Variable]:
    if isinstance(found, Variable):
        yield found
    else:
        for below in found.values():
            yield from _leaves(below)


def _part(found: Any, ask: int, number: Mapping[Any, int]) -> Part:
    """What is read of an ask; behind the last of what is read, which is None, for a variable that is never seen."""
    if isinstance(found, Variable):
        return number.get((ask, found.name), len(number))
    return {key: _part(below, ask, number) for key, below in found.items()}


def _tree(part: dict[str, Part], told: Sequence[Any]) -> dict[str, Any]:
    return {key: told[below] if type(below) is int else _tree(below, told) for key, below in part.items()}  # type: ignore[arg-type]
