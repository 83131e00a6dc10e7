"""The action spaces of the Farm-Gym paper, section 3.1.5: a union of spaces, and the sets of at most m of its members.

Both support sampling, membership, seeding, flattening and JSON like any Gymnasium space. A member of a union is the
pair (index of the space, member of that space); a member of a multi-union is a tuple of such pairs, in the order of
execution.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import OneOf, flatdim, flatten, flatten_space, unflatten

Pair = tuple[int, Any]


def summarise_space(space: gymnasium.Space[Any], most: int = 120) -> str:
    """Return a space as Gymnasium prints it, or its kind and sizes if that is longer than `most` characters."""
    text = " ".join(str(space).split())
    if len(text) <= most:
        return text
    if isinstance(space, gymnasium.spaces.Box):
        return f"Box({space.low.min():g}, {space.high.max():g}, {space.shape}, {space.dtype})"
    if isinstance(space, gymnasium.spaces.MultiDiscrete | gymnasium.spaces.MultiBinary):
        numbers = np.ravel(space.nvec if isinstance(space, gymnasium.spaces.MultiDiscrete) else space.n)
        text = f"{type(space).__name__} of {space.shape}: {', '.join(map(str, dict.fromkeys(numbers.tolist())))}"
        return textwrap.shorten(text, most, placeholder=" …")
    inside = getattr(space, "spaces", {})
    names = inside if isinstance(inside, dict) else [type(part).__name__ for part in inside]
    return textwrap.shorten(f"{type(space).__name__} of {len(inside)}: {', '.join(names)}", most, placeholder=" …")


class Union(OneOf):
    """The set-theoretic union of several spaces: Gymnasium's `OneOf` (generic since 1.4), under the paper's name."""

    def __repr__(self) -> str:
        return f"Union({', '.join(map(str, self.spaces))})"

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a pair of an index (of any integer type) and a member of that space."""
        whole = isinstance(x, (tuple, list)) and len(x) == 2 and isinstance(x[0], (int, np.integer))
        return bool(whole and super().contains((int(x[0]), x[1])))

    def to_jsonable(self, sample_n: Iterable[Pair]) -> list[Any]:
        """Convert members to lists for JSON (the method of `OneOf` fails for a `Dict`, whose batch is not a list)."""
        return [[int(i), self.spaces[int(i)].to_jsonable([x])] for i, x in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Any]:
        """Convert lists from JSON to members."""
        return [(np.int64(i), list(self.spaces[i].from_jsonable(x))[0]) for i, x in sample_n]


class MultiUnion(gymnasium.Space[tuple[Pair, ...]]):
    """`MultiUnion[m]`: the sets of at most `m` members of a union of spaces, without duplicates in a sample.

    Args:
        spaces: the spaces of the union.
        most: the number m.
        seed: seed of the samples.

    Raises:
        ValueError: if there is no space, or `most` is less than 1.
    """

    def __init__(self, spaces: Iterable[gymnasium.Space[Any]], most: int, seed: Any = None):
        if most < 1:
            raise ValueError(f"MultiUnion: expected `most` of 1 or more, got {most}")
        self.union = Union(spaces)
        self.most = int(most)
        super().__init__(None, None, seed)

    @property
    def spaces(self) -> tuple[gymnasium.Space[Any], ...]:
        """The spaces of the union."""
        return self.union.spaces

    @property
    def is_np_flattenable(self) -> bool:
        """Return whether its members can be flattened to a vector."""
        return self.union.is_np_flattenable

    def seed(self, seed: Any = None) -> tuple[Any, ...]:
        """Seed the sizes of samples and, from the same seed, their members; `(own, *union)` seeds each part."""
        if isinstance(seed, (tuple, list)):
            return (super().seed(seed[0]), *self.union.seed(tuple(seed[1:])))
        first = super().seed(seed)
        inner = None if seed is None else int(self.np_random.integers(np.iinfo(np.int32).max))
        return (first, *self.union.seed(inner))

    def sample(self, mask: tuple[Any, ...] | None = None, probability: tuple[Any, ...] | None = None) -> Any:
        """Return a set with a uniform size from 0 to m of members of the union (fewer if some are drawn twice)."""
        size = int(self.np_random.integers(0, self.most + 1))
        drawn: list[Pair] = []
        for _ in range(size):
            pair = self.union.sample(mask=mask, probability=probability)
            if not any(_same(pair, other) for other in drawn):
                drawn.append(pair)
        return tuple(drawn)

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a sequence of at most m members of the union."""
        return isinstance(x, (tuple, list)) and len(x) <= self.most and all(map(self.union.contains, x))

    def to_jsonable(self, sample_n: Iterable[Any]) -> list[Any]:
        """Convert members to lists for JSON."""
        return [self.union.to_jsonable(sample) for sample in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[Any]:
        """Convert lists from JSON to members."""
        return [tuple(self.union.from_jsonable(sample)) for sample in sample_n]

    def __len__(self) -> int:
        return len(self.union)

    def __getitem__(self, index: int) -> gymnasium.Space[Any]:
        return self.union[index]

    def __repr__(self) -> str:
        return f"MultiUnion[{self.most}]({', '.join(map(str, self.spaces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MultiUnion) and (self.union, self.most) == (other.union, other.most)


def noop_action(space: gymnasium.Space[Any]) -> Any:
    """Return the action that does nothing: 0 in every part; None if the space has none."""
    match space:
        case gymnasium.spaces.Discrete():
            return np.int32(0)
        case gymnasium.spaces.MultiDiscrete() | gymnasium.spaces.MultiBinary():
            return np.zeros(space.shape, np.int32)
        case gymnasium.spaces.Dict():
            parts = {name: noop_action(inside) for name, inside in space.items()}
            return None if any(part is None for part in parts.values()) else parts
    return None


def _same(a: Pair, b: Pair) -> bool:
    if a[0] != b[0]:
        return False
    return _plain(a[1]) == _plain(b[1])


def _plain(x: Any) -> Any:
    """Return a member as nested tuples, for comparison."""
    if isinstance(x, dict):
        return tuple((key, _plain(value)) for key, value in x.items())
    if isinstance(x, (tuple, list)):
        return tuple(map(_plain, x))
    return np.asarray(x).tolist()


@flatdim.register(MultiUnion)
def _flatdim(space: MultiUnion) -> int:
    return space.most * (1 + flatdim(space.union))


@flatten.register(MultiUnion)
def _flatten(space: MultiUnion, x: Any) -> np.ndarray:
    """Return m blocks, each a 1 and the flat member, or zeros without a member."""
    blocks = np.zeros((space.most, 1 + flatdim(space.union)), np.float64)
    for block, pair in zip(blocks, x, strict=False):
        block[0] = 1
        block[1:] = np.asarray(flatten(space.union, (int(pair[0]), pair[1])), np.float64)
    return blocks.ravel()


@unflatten.register(MultiUnion)
def _unflatten(space: MultiUnion, x: Any) -> Any:
    blocks = np.asarray(x).reshape(space.most, -1)
    return tuple(unflatten(space.union, block[1:]) for block in blocks if block[0] > 0)


@flatten_space.register(MultiUnion)
def _flatten_space(space: MultiUnion) -> gymnasium.spaces.Box:
    inner = flatten_space(space.union)
    assert isinstance(inner, gymnasium.spaces.Box)
    low = np.concatenate([[0.0], np.minimum(inner.low, 0)])
    high = np.concatenate([[1.0], np.maximum(inner.high, 0)])
    return gymnasium.spaces.Box(np.tile(low, space.most), np.tile(high, space.most), dtype=np.float64)
