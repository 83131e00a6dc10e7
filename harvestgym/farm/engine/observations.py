"""Observations: the fixed plan of the flat observation vector, and the table of what can be requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from .variables import Variable


@dataclass(frozen=True)
class ObservedItem:
    """One variable seen whole (`plot=None`) or on one plot."""

    variable: Variable
    plot: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its numbers."""
        return self.variable.shape if self.plot is None else self.variable.shape[:-2]

    @property
    def size(self) -> int:
        """The number of entries; each has a cost."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def entries(self) -> list[tuple[int, ...]]:
        """The place of each number in the variable's array."""
        return [(*map(int, at), *(self.plot or ())) for at in np.ndindex(self.shape)]

    @property
    def labels(self) -> list[str]:
        """The name of each number."""
        return [f"{self.variable.name}/{at}" if at else self.variable.name for at in self.entries]

    @property
    def plots(self) -> list[tuple[int, int]]:
        """The plot of each number; (-1, -1) where the variable is of no plot."""
        return [(at[-2], at[-1]) if self.variable.per_plot else (-1, -1) for at in self.entries]

    def take(self, array: jax.Array) -> jax.Array:
        """Return the seen numbers of the variable's array, float32."""
        seen = array if self.plot is None else array[..., self.plot[0], self.plot[1]]
        return seen.astype(jnp.float32)


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
        """The box of all observations, from the ranges of the variables, and 0, with which libraries fill gaps."""
        metas = [item.variable.meta for item in self.items for _ in range(item.size)]
        low = np.asarray([min(meta.low, 0) for meta in metas], np.float32)
        high = np.asarray([max(meta.high, 0) for meta in metas], np.float32)
        return gymnasium.spaces.Box(low, high, dtype=np.float32)

    def see(self, values: Any) -> jax.Array:
        """Return the observation, clipped to the space; `values` maps a `Variable` to its array."""
        seen, space = [jnp.ravel(item.take(values(item.variable))) for item in self.items], self.space
        return jnp.clip(jnp.concatenate(seen), space.low, space.high) if seen else jnp.zeros(0, jnp.float32)

    @cached_property
    def positions(self) -> dict[str, np.ndarray]:
        """The position of each number of each variable that is observed, int of its shape; -1 for one that is not."""
        out: dict[str, np.ndarray] = {}
        starts = np.cumsum([0, *(item.size for item in self.items)])
        for item, start in reversed(list(zip(self.items, starts, strict=False))):
            numbers = out.setdefault(item.variable.name, np.full(item.variable.shape, -1, np.int32))
            at = ... if item.plot is None else (..., *item.plot)
            numbers[at] = np.arange(start, start + item.size).reshape(numbers[at].shape)
        return out

    def locate(self, item: ObservedItem) -> np.ndarray | None:
        """Return the positions of the numbers of an item, of its shape; None if not all of them are observed."""
        found = self.positions.get(item.variable.name, np.full(item.variable.shape, -1, np.int32))
        at = found if item.plot is None else found[(..., *item.plot)]
        return at if np.all(at >= 0) else None


def find_items(variables: Sequence[Variable], reference: Sequence[Any]) -> list[ObservedItem]:
    """Return the variables of an observation `(field, entity, name, path)` in canonical names, whole or on one plot."""
    field, entity, name, path = reference
    key = "/".join((name, *(step for step in path if isinstance(step, str))))
    plot = next((tuple(step) for step in path if not isinstance(step, str)), None)
    mine = [v for v in variables if v.where == (field, entity)]
    return [ObservedItem(v, plot) for v in mine if v.key == key or v.key.startswith(f"{key}/")]


def plan_observations(variables: Sequence[Variable], references: Sequence[Sequence[Any]] | None) -> ObservationPlan:
    """Plan a list of observations `(field, entity, name, path)`, each item once; None stands for everything."""
    if references is None:
        return ObservationPlan(tuple(ObservedItem(v) for v in variables))
    found = [item for reference in references for item in find_items(variables, reference)]
    return ObservationPlan(tuple(dict.fromkeys(found)))


class Requests(NamedTuple):
    """At most m observations asked for; a group of 0 is no request.

    Attributes:
        farmer: int32 (m,).
        group: int32 (m,), 1 + the place in `RequestTable.groups`.
        plot: int32 (m, 2); (-1, -1) is the whole field.
    """

    farmer: jax.Array | np.ndarray
    group: jax.Array | np.ndarray
    plot: jax.Array | np.ndarray


@dataclass(frozen=True)
class RequestTable:
    """The groups of variables that one can ask for, and the entries of what is offered.

    Attributes:
        variables: every variable of the farm.
        offered: what can be seen by asking, in the order of the observation.
    """

    variables: tuple[Variable, ...]
    offered: ObservationPlan

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Each variable, and each beginning that several share (`Field-0/Weather-0/wind`), to its variables."""
        found: dict[str, list[int]] = {}
        for i, variable in enumerate(self.variables):
            words = variable.key.split("/")
            for n in range(1, 1 + len(words)):
                found.setdefault("/".join((*variable.where, *words[:n])), []).append(i)
        return {name: tuple(members) for name, members in found.items()}

    @cached_property
    def owner(self) -> np.ndarray:
        """The variable of each entry, int (entries,)."""
        each = [self.variables.index(item.variable) for item in self.offered.items]
        return np.repeat(np.asarray(each, np.int32), [item.size for item in self.offered.items])

    @cached_property
    def plots(self) -> np.ndarray:
        """The plot of each entry, int (entries, 2); (-1, -1) for one that is of no plot."""
        return np.asarray([plot for item in self.offered.items for plot in item.plots], np.int32).reshape(-1, 2)

    @cached_property
    def weight(self) -> np.ndarray:
        """One over how often each entry is offered (whole, and on its plot), float32 (entries,)."""
        entries = [(item.variable, at) for item in self.offered.items for at in item.entries]
        times = Counter(entries)
        return np.asarray([1 / times[entry] for entry in entries], np.float32)

    @cached_property
    def _members(self) -> np.ndarray:
        """Return which variables each group holds, bool (1 + groups, variables)."""
        held = np.zeros((1 + len(self.groups), len(self.variables)), bool)
        for row, members in enumerate(self.groups.values(), start=1):
            held[row, list(members)] = True
        return held

    def covered(self, requests: Requests) -> jax.Array:
        """Return which entries each request is for, bool (m, entries)."""
        of_group = jnp.asarray(self._members[:, self.owner])[requests.group]
        plot = jnp.asarray(requests.plot)[:, None]
        return of_group & ((plot[..., 0] < 0) | (jnp.asarray(self.plots) == plot).all(-1))

    def encode(self, requests: Sequence[tuple[int, str, tuple[int, int] | None]], size: int) -> Requests:
        """`(farmer, group, plot)` of each observation as arrays of length `size`."""
        farmer, group, plot = np.zeros(size, np.int32), np.zeros(size, np.int32), np.full((size, 2), -1, np.int32)
        for i, (who, name, at) in enumerate(requests):
            farmer[i], group[i] = who, 1 + self._number[name]
            plot[i] = (-1, -1) if at is None else at
        return Requests(farmer, group, plot)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.groups)}
