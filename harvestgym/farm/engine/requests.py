"""Observations asked for, in list order, as arrays: what compiled code makes of the paper's observation tuples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .observations import ObservationPlan
from .variables import Variable


class Requests(NamedTuple):
    """At most m observations asked for; a group of 0 is «nothing».

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
        each = [self.variables.index(look.variable) for look in self.offered.looks]
        return np.repeat(np.asarray(each, int), [look.size for look in self.offered.looks])

    @cached_property
    def plots(self) -> np.ndarray:
        """The plot of each entry, int (entries, 2); (-1, -1) for one that is of no plot."""
        return np.asarray([plot for look in self.offered.looks for plot in look.plots], int).reshape(-1, 2)

    @cached_property
    def weight(self) -> np.ndarray:
        """One over how often each entry is offered (whole, and on its plot), float32 (entries,)."""
        entries = [(look.variable, at) for look in self.offered.looks for at in look.entries]
        times = Counter(entries)
        return np.asarray([1 / times[entry] for entry in entries], np.float32)

    @cached_property
    def _members(self) -> np.ndarray:
        """Which variables each group holds, bool (1 + groups, variables)."""
        held = np.zeros((1 + len(self.groups), len(self.variables)), bool)
        for row, members in enumerate(self.groups.values(), start=1):
            held[row, list(members)] = True
        return held

    def covered(self, asks: Requests) -> jax.Array:
        """Which entries each of the asks is for, bool (m, entries)."""
        of_group = jnp.asarray(self._members[:, self.owner])[asks.group]
        plot = jnp.asarray(asks.plot)[:, None]
        return of_group & ((plot[..., 0] < 0) | (jnp.asarray(self.plots) == plot).all(-1))

    def asks(self, wanted: Sequence[tuple[int, str, tuple[int, int] | None]], size: int) -> Requests:
        """`(farmer, group, plot)` of each observation as arrays of length `size`."""
        farmer, group, plot = np.zeros(size, np.int32), np.zeros(size, np.int32), np.full((size, 2), -1, np.int32)
        for i, (who, name, at) in enumerate(wanted):
            farmer[i], group[i] = who, 1 + self._number[name]
            plot[i] = (-1, -1) if at is None else at
        return Requests(farmer, group, plot)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.groups)}
