"""The Farm-Gym paper's spaces: the state, unions, and sets of at most m members of a union (section 3.1.5).

They support sampling, containment, seeding and JSON like any Gymnasium space. A member of a union is the
pair (index of the space, member of that space); a member of a multi-union is a tuple of such pairs, in order of
execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.spaces import OneOf, Sequence

from harvestgym.farm.engine.name_table import NameTable, map_leaves
from harvestgym.farm.engine.variables import Variable


class Union(OneOf):
    """The set-theoretic union of several spaces: Gymnasium's `OneOf` (generic since 1.4), under the paper's name."""

    def __repr__(self) -> str:
        return f"Union({', '.join(map(str, self.spaces))})"

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a pair of an index (of any integer type) and a member of that space."""
        whole = isinstance(x, (tuple, list)) and len(x) == 2 and isinstance(x[0], (int, np.integer))
        return bool(whole and super().contains((int(x[0]), x[1])))

    def to_jsonable(self, sample_n: Iterable[tuple[int, Any]]) -> list[Any]:
        """Convert members to lists for JSON (`OneOf.to_jsonable` fails for a `Dict`, whose batch is not a list)."""
        return [[int(i), self.spaces[int(i)].to_jsonable([x])] for i, x in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Any]:
        """Convert lists read from JSON back to members."""
        return [(np.int64(i), list(self.spaces[i].from_jsonable(x))[0]) for i, x in sample_n]


class MultiUnion(Sequence):
    """`MultiUnion[m]`: sets of at most `m` members of a union of spaces; samples contain no duplicates.

    Args:
        spaces: the spaces in the union.
        most: the maximum number of members, m.
        seed: the seed for sampling.

    Raises:
        ValueError: if there is no space, or `most` is less than 1.
    """

    def __init__(self, spaces: Iterable[gymnasium.Space[Any]], most: int, seed: Any = None):
        if most < 1:
            raise ValueError(f"MultiUnion: expected `most` of 1 or more, got {most}")
        self.union = Union(spaces)
        self.most = int(most)
        super().__init__(self.union, seed)

    @property
    def spaces(self) -> tuple[gymnasium.Space[Any], ...]:
        """The spaces in the union."""
        return self.union.spaces

    def sample(self, mask: tuple[Any, ...] | None = None, probability: tuple[Any, ...] | None = None) -> Any:
        """Sample a set whose size is uniform from 0 to m; duplicates are then removed, so it may be smaller."""
        size = int(self.np_random.integers(0, self.most + 1))
        drawn = [self.union.sample(mask=mask, probability=probability) for _ in range(size)]
        written = self.union.to_jsonable(drawn)
        return tuple(pair for i, pair in enumerate(drawn) if written[i] not in written[:i])

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a sequence of at most m members of the union."""
        return isinstance(x, (tuple, list)) and len(x) <= self.most and all(map(self.union.contains, x))

    def __len__(self) -> int:
        return len(self.union)

    def __getitem__(self, index: int) -> gymnasium.Space[Any]:
        return self.union[index]

    def __repr__(self) -> str:
        return f"MultiUnion[{self.most}]({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiUnion) and (self.union, self.most) == (other.union, other.most)


def state_space(names: NameTable) -> spaces.Tuple:
    """Return a tuple space with a component for each variable, which is a `Dict` for a variable with parts."""
    return spaces.Tuple([_space(below) for tree in names.tree.values() for below in tree.values()])


def _space(found: Any) -> spaces.Space[Any]:
    if not isinstance(found, Variable):
        return spaces.Dict({key: _space(below) for key, below in found.items()})
    if _is_code(found):
        return spaces.Discrete(len(found.meta.labels) or 2)
    return spaces.Box(found.meta.low, found.meta.high, found.shape, _dtype(found))


def state_member(names: NameTable, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the member of `state_space` with these arrays, given by variable name."""

    def member(variable: Variable) -> Any:
        array = np.asarray(values[variable.name], _dtype(variable))
        return np.int64(array) if _is_code(variable) else array

    return tuple(map_leaves(member, below) for tree in names.tree.values() for below in tree.values())


def _is_code(variable: Variable) -> bool:
    """Return whether a variable is a single label or boolean."""
    return not variable.shape and bool(variable.meta.labels or variable.meta.dtype == "bool")


def _dtype(variable: Variable) -> Any:
    return np.float32 if variable.meta.dtype == "float" else np.int32
