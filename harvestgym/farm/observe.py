"""What a farmer sees: a plan fixed when the farm is built, a flat vector of fixed shape every day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from .layout import FieldSlots, Variable, find_variables

FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Look:
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
            return [f"{name}/{self.plot}"] * self.size if self.size > 1 else [f"{name}/{self.plot}"]
        return [name if not shape else f"{name}/{tuple(int(i) for i in at)}" for at in np.ndindex(shape)]

    def take(self, array: jax.Array) -> jax.Array:
        """The seen numbers of the variable's array, flat float32."""
        seen = array if self.plot is None else array[..., self.plot[0], self.plot[1]]
        return jnp.ravel(seen).astype(jnp.float32)


@dataclass(frozen=True)
class Plan:
    """What is seen, in order; the whole observation is one flat float32 vector."""

    looks: tuple[Look, ...]

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
        low = [max(look.variable.meta.low, -FLOAT32_MAX) for look in self.looks for _ in range(look.size)]
        high = [min(look.variable.meta.high, FLOAT32_MAX) for look in self.looks for _ in range(look.size)]
        low = [-np.inf if v == -FLOAT32_MAX else v for v in low]
        high = [np.inf if v == FLOAT32_MAX else v for v in high]
        return gymnasium.spaces.Box(np.asarray(low, np.float32), np.asarray(high, np.float32), dtype=np.float32)

    def see(self, values: Any) -> jax.Array:
        """The observation; `values` maps a `Variable` to its array."""
        seen = [look.take(values(look.variable)) for look in self.looks]
        return jnp.concatenate(seen) if seen else jnp.zeros(0, jnp.float32)

    def slice(self, look: Look) -> slice:
        """Where a look stands in the observation (it must be part of the plan)."""
        start = 0
        for mine in self.looks:
            if mine.variable == look.variable and mine.plot in (None, look.plot):
                return self._within(mine, look, start)
            start += mine.size
        raise KeyError(look.variable.name)

    @staticmethod
    def _within(mine: Look, look: Look, start: int) -> slice:
        if mine.plot == look.plot:
            return slice(start, start + mine.size)
        assert look.plot is not None
        width = mine.variable.shape[-1]
        at = start + look.plot[0] * width + look.plot[1]
        return slice(at, at + 1)


def plan_of(fields: Sequence[FieldSlots], table: Sequence[Variable], refs: Sequence[Sequence[Any]]) -> Plan:
    """The plan of a list of observations `(field, entity, name, path)`, each variable once."""
    looks: dict[Look, None] = {}
    for field, entity, name, path in refs:
        found, plot = find_variables(fields, table, field, entity, name, path)
        looks.update(dict.fromkeys(Look(v, plot) for v in found))
    return Plan(tuple(looks))


def plan_of_all(table: Sequence[Variable]) -> Plan:
    """Everything."""
    return Plan(tuple(Look(v) for v in table))
