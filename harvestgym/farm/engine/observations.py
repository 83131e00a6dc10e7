"""What a farmer sees: a plan fixed when the farm is built, a flat vector of fixed shape every day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from .variables import FieldSlots, Variable, find_variables


@dataclass(frozen=True)
class ObservedItem:
    """One variable seen whole (`plot=None`) or on one plot."""

    variable: Variable
    plot: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """How many numbers it shows, which is what a per-entry cost counts."""
        if self.plot is None:
            return int(np.prod(self.variable.shape, dtype=int))
        return int(np.prod(self.variable.shape[:-2], dtype=int))

    @property
    def labels(self) -> list[str]:
        """The name of each number."""
        name, shape = self.variable.name, self.variable.shape
        if self.plot is not None:
            lead = np.ndindex(shape[:-2])
            return [f"{name}/{(*(int(i) for i in at), *self.plot)}" for at in lead]
        return [name if not shape else f"{name}/{tuple(int(i) for i in at)}" for at in np.ndindex(shape)]

    @property
    def entries(self) -> list[tuple[int, ...]]:
        """The place of each number in the variable's array."""
        lead = np.ndindex(self.variable.shape if self.plot is None else self.variable.shape[:-2])
        return [(*at, *(self.plot or ())) for at in lead]

    @property
    def plots(self) -> list[tuple[int, int]]:
        """The plot of each number; (-1, -1) where the variable is of no plot."""
        return [(at[-2], at[-1]) if self.variable.per_plot else (-1, -1) for at in self.entries]

    def take(self, array: jax.Array) -> jax.Array:
        """The seen numbers of the variable's array, flat float32."""
        seen = array if self.plot is None else array[..., self.plot[0], self.plot[1]]
        return jnp.ravel(seen).astype(jnp.float32)


@dataclass(frozen=True)
class ObservationPlan:
    """What is seen, in order; the whole observation is one flat float32 vector."""

    looks: tuple[ObservedItem, ...]

    @property
    def size(self) -> int:
        """Length of the observation."""
        return sum(look.size for look in self.looks)

    @property
    def labels(self) -> list[str]:
        """The name of each entry of the observation."""
        return [label for look in self.looks for label in look.labels]

    @property
    def space(self) -> gymnasium.spaces.Box:
        """The box of all observations, from the ranges of the variables."""
        low, high = (
            [getattr(k.variable.meta, end) for k in self.looks for _ in range(k.size)] for end in ("low", "high")
        )
        return gymnasium.spaces.Box(np.asarray(low, np.float32), np.asarray(high, np.float32), dtype=np.float32)

    def see(self, values: Any) -> jax.Array:
        """The observation; `values` maps a `Variable` to its array."""
        seen = [look.take(values(look.variable)) for look in self.looks]
        return jnp.concatenate(seen) if seen else jnp.zeros(0, jnp.float32)

    def entries(self, look: ObservedItem) -> np.ndarray:
        """The entries of the observation that a look is (KeyError unless the plan shows it)."""
        start = 0
        for mine in self.looks:
            if mine.variable == look.variable and mine.plot in (None, look.plot):
                return self._within(mine, look, start)
            start += mine.size
        raise KeyError(look.variable.name)

    @staticmethod
    def _within(mine: ObservedItem, look: ObservedItem, start: int) -> np.ndarray:
        at = np.arange(start, start + mine.size)
        if mine.plot == look.plot or look.plot is None:
            return at
        return at.reshape(mine.variable.shape)[..., look.plot[0], look.plot[1]].ravel()


def plan_of(fields: Sequence[FieldSlots], table: Sequence[Variable], refs: Sequence[Sequence[Any]]) -> ObservationPlan:
    """The plan of a list of observations `(field, entity, name, path)`, each variable once."""
    looks: dict[ObservedItem, None] = {}
    for field, entity, name, path in refs:
        found, plot = find_variables(fields, table, field, entity, name, path)
        looks.update(dict.fromkeys(ObservedItem(v, plot) for v in found))
    return ObservationPlan(tuple(looks))


def plan_of_all(table: Sequence[Variable]) -> ObservationPlan:
    """Everything."""
    return ObservationPlan(tuple(ObservedItem(v) for v in table))
