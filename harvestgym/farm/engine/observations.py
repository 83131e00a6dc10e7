"""Observations: the items of the flat observation vector, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from jax import Array

from .variables import Variable


@dataclass(frozen=True)
class ObservedItem:
    """One variable: all its numbers (`at=None`), those of one plot, or one number of a row, such as a forecast's."""

    variable: Variable
    at: tuple[int, ...] | None = None

    @property
    def plot(self) -> tuple[int, int] | None:
        """The plot, if it is only one."""
        return (self.at[0], self.at[1]) if self.at and self.variable.per_plot else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its numbers."""
        return self.variable.shape if self.at is None else self.variable.shape[: -len(self.at)]

    @property
    def size(self) -> int:
        """The number of entries; each entry has a cost."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def entries(self) -> list[tuple[int, ...]]:
        """The index of each number in the variable's array."""
        return [(*map(int, at), *(self.at or ())) for at in np.ndindex(self.shape)]

    @property
    def labels(self) -> list[str]:
        """The name of each number."""
        return [f"{self.variable.name}/{at}" if at else self.variable.name for at in self.entries]

    @property
    def plots(self) -> list[tuple[int, int]]:
        """The plot of each number; (-1, -1) if the variable belongs to no plot."""
        return [(at[-2], at[-1]) if self.variable.per_plot else (-1, -1) for at in self.entries]

    def take(self, array: Array) -> Array:
        """Return the observed numbers of the variable's array, float32."""
        return (array if self.at is None else array[..., *self.at]).astype(jnp.float32)


@dataclass(frozen=True)
class ObservationPlan:
    """The items of an observation, in order; the whole observation is one flat float32 vector."""

    items: tuple[ObservedItem, ...]

    @property
    def size(self) -> int:
        """Length of the observation."""
        return sum(item.size for item in self.items)

    @property
    def labels(self) -> list[str]:
        """The name of each entry of the observation."""
        return [label for item in self.items for label in item.labels]

    @property
    def space(self) -> gymnasium.spaces.Box:
        """The space of observations: the variables' ranges, extended to include 0, which libraries use for padding."""
        metas = [item.variable.meta for item in self.items for _ in range(item.size)]
        low = np.asarray([min(meta.low, 0) for meta in metas], np.float32)
        high = np.asarray([max(meta.high, 0) for meta in metas], np.float32)
        return gymnasium.spaces.Box(low, high, dtype=np.float32)

    def see(self, values: Any) -> Array:
        """Return the observation, clipped to the space; `values` maps a `Variable` to its array."""
        seen, space = [jnp.ravel(item.take(values(item.variable))) for item in self.items], self.space
        return jnp.clip(jnp.concatenate(seen), space.low, space.high) if seen else jnp.zeros(0, jnp.float32)

    @cached_property
    def positions(self) -> dict[str, np.ndarray]:
        """The positions of each observed variable's numbers, as int arrays; -1 for a number that is not observed."""
        out: dict[str, np.ndarray] = {}
        starts = np.cumsum([0, *(item.size for item in self.items)])
        for item, start in reversed(list(zip(self.items, starts, strict=False))):
            numbers = out.setdefault(item.variable.name, np.full(item.variable.shape, -1, np.int32))
            at = ... if item.at is None else (..., *item.at)
            numbers[at] = np.arange(start, start + item.size).reshape(numbers[at].shape)
        return out

    def locate(self, item: ObservedItem) -> np.ndarray | None:
        """Return the positions of an item's numbers, in its shape; None if some of them are not observed."""
        found = self.positions.get(item.variable.name, np.full(item.variable.shape, -1, np.int32))
        at = found if item.at is None else found[(..., *item.at)]
        return at if np.all(at >= 0) else None
