"""What can be asked for, and what is seen of it: items `(field, entity, name, path, value)`; None if it is not seen.

A day of an open farm tells some fifty items, so that what reads an observation is made once, and reads alike variables
at one go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tree import Meta
from .layout import Variable
from .names import Names, Ref

Item = tuple[str, str, str, list[Any], Any]
Part = int | dict[str, "Part"]
"""Where the value of an item stands among all numbers and arrays that are read; a dict for a group of variables."""

KINDS = {"float": np.float32, "int": np.int32, "bool": np.bool_}
PLAIN: dict[str, Callable[[float], Any]] = {"float": float, "int": int, "bool": bool}


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


class Block(NamedTuple):
    """Variables that are read together: single numbers, or arrays of one type or of the same labels.

    Attributes:
        dtype: of the numbers.
        words: of labels, what each number means; else None.
        at: where they all stand in the observation, one after the other, int (numbers,).
        begins: where each begins in `at`, for what is masked.
        casts: of single numbers, what makes of each what people read; else empty.
        cuts: of arrays, where those of one shape lie in `at`, and the shape of them together; else empty.
    """

    dtype: str
    words: np.ndarray | None
    at: np.ndarray
    begins: np.ndarray
    casts: tuple[Callable[[float], Any], ...]
    cuts: tuple[tuple[slice, tuple[int, ...]], ...]

    @classmethod
    def of(cls, metas: Sequence[Meta], at: Sequence[np.ndarray]) -> Block:
        """The block of variables that stand there, those of one shape side by side."""
        ends = np.cumsum([0, *(each.size for each in at)]).tolist()
        words = np.asarray(metas[0].labels) if metas[0].labels else None
        cuts, first = [], 0
        for shape, same in itertools.groupby(each.shape for each in at):
            last = first + len(list(same))
            cuts.append((slice(ends[first], ends[last]), (last - first, *shape)))
            first = last
        single = at[0].ndim == 0
        flat, casts = np.concatenate([each.ravel() for each in at]), tuple(map(_cast, metas)) if single else ()
        return cls(metas[0].dtype, words, flat, np.array(ends[:-1]), casts, () if single else tuple(cuts))

    def read(self, values: np.ndarray, mask: np.ndarray | None) -> list[Any]:
        """Each of them as people read it: words for labels, whole numbers for counts; arrays of their own."""
        seen = values.take(self.at)
        if self.casts:
            told = [cast(number) for cast, number in zip(self.casts, seen.tolist(), strict=True)]
        else:
            if self.words is not None:
                seen = self.words[seen.astype(np.intp)]
            elif self.dtype != "float":
                seen = seen.astype(KINDS[self.dtype])
            told = [one for cut, shape in self.cuts for one in seen[cut].reshape(shape)]
        if mask is None:
            return told
        known = np.logical_and.reduceat(mask.take(self.at) > 0, self.begins).tolist()
        return [one if whether else None for one, whether in zip(told, known, strict=True)]


class Telling:
    """Tells some asks, in their order, of any observation.

    Args:
        asks: what is told.
        names: of the farm.
        places: of each variable by name where its numbers stand in an observation, -1 where they do not.
    """

    def __init__(self, asks: Sequence[Ask], names: Names, places: Mapping[str, np.ndarray]) -> None:
        found = [(ask, ask.found(names)) for ask in asks]
        alike: dict[Any, list[tuple[Meta, np.ndarray, Any]]] = {}
        for i, (ask, what) in enumerate(found):
            for variable in _leaves(what):
                at = places[variable.name] if ask.plot is None else places[variable.name][(..., *ask.plot)]
                if (at >= 0).all():
                    meta = variable.meta
                    sort = (meta.dtype, meta.labels) if at.shape else ()
                    alike.setdefault(sort, []).append((meta, at, (i, variable.name)))
        for same in alike.values():
            same.sort(key=lambda one: one[1].shape)
        self._blocks = [Block.of([m for m, _, _ in same], [at for _, at, _ in same]) for same in alike.values()]
        number = {key: n for n, key in enumerate(key for same in alike.values() for _, _, key in same)}
        parts = [_part(what, i, number) for i, (_, what) in enumerate(found)]
        self._heads = [((*ask.where, ask.name), ask.path) for ask in asks]
        self._trees = [part for part in parts if isinstance(part, dict)]
        trees = iter(range(len(number) + 1, len(number) + 1 + len(self._trees)))
        self._order = [next(trees) if isinstance(part, dict) else part for part in parts]

    def __call__(self, obs: Any) -> list[Item]:
        """The items of an observation."""
        values, mask = (obs["values"], obs["mask"]) if isinstance(obs, dict) else (obs, None)
        told = [one for block in self._blocks for one in block.read(values, mask)]
        told.append(None)
        told += [_tree(tree, told) for tree in self._trees]
        return [(*head, [*path], told[i]) for (head, path), i in zip(self._heads, self._order, strict=True)]


def _cast(meta: Meta) -> Callable[[float], Any]:
    """What makes of a number a word, for a label, a whole number for a count, or leaves it."""
    return (lambda number: meta.labels[int(number)]) if meta.labels else PLAIN[meta.dtype]


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
