"""Requests for paid observations (AO-MDP, section 2): the items that can be requested, and the answer each morning.

A day on such a farm has two half-steps. In the first, the farmer chooses what to observe and pays for each entry seen.
In the second, the farmer chooses an intervention based on these observations, and the day passes. Unobserved values are
masked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.loading import group_pairs

from .farmers import Work, WorkResult, delegate
from .observations import ObservationPlan
from .state import FarmParams, FarmState
from .variables import Variable


class Requests(NamedTuple):
    """At most m requested observations; group 0 means no request.

    Attributes:
        farmer: int32 (m,).
        group: int32 (m,), 1 + the index in `RequestTable.groups`.
        plot: int32 (m, 2); (-1, -1) is the whole field.
    """

    farmer: Array | np.ndarray
    group: Array | np.ndarray
    plot: Array | np.ndarray


@dataclass(frozen=True)
class RequestTable:
    """The groups of variables that can be requested, and the offered entries.

    Attributes:
        variables: every variable of the farm.
        offered: the items that can be requested, in observation order.
        observers: which offered entries each farmer can request; () if all farmers can request all of them.
    """

    variables: tuple[Variable, ...]
    offered: ObservationPlan
    observers: tuple[tuple[bool, ...], ...] = ()

    @cached_property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """The variables of each group: a single variable, or those with the same prefix (`Field-0/Weather-0/wind`)."""
        words = [(*variable.where, *variable.key.split("/")) for variable in self.variables]
        found = group_pairs(("/".join(path[:n]), i) for i, path in enumerate(words) for n in range(3, 1 + len(path)))
        return {name: tuple(members) for name, members in found.items()}

    @cached_property
    def owner(self) -> np.ndarray:
        """The variable of each entry, int (entries,)."""
        return self._variables[self._item]

    @cached_property
    def plots(self) -> np.ndarray:
        """The plot of each entry, int (entries, 2); (-1, -1) for an entry that belongs to no plot."""
        return np.asarray([plot for item in self.offered.items for plot in item.plots], np.int32).reshape(-1, 2)

    @cached_property
    def _members(self) -> np.ndarray:
        """Return which variables each group contains, bool (1 + groups, variables)."""
        held = np.zeros((1 + len(self.groups), len(self.variables)), bool)
        for row, members in enumerate(self.groups.values(), start=1):
            held[row, list(members)] = True
        return held

    def covered(self, requests: Requests) -> Array:
        """Return which entries each request covers, bool (m, entries): those that its farmer can request."""
        of_group = jnp.asarray(self._members[:, self.owner])[requests.group]
        plot = jnp.asarray(requests.plot)[:, None]
        able = jnp.asarray(self.observers)[requests.farmer] if self.observers else True
        return able & of_group & ((plot[..., 0] < 0) | (jnp.asarray(self.plots) == plot).all(-1))

    @cached_property
    def observer(self) -> np.ndarray:
        """For each offered item, the first farmer who can request all of it, int32 (items,)."""
        if not self.observers or not self.offered.items:
            return np.zeros(len(self.offered.items), np.int32)
        starts = np.cumsum(self._sizes) - self._sizes
        return np.logical_and.reduceat(np.asarray(self.observers), starts, axis=1).argmax(0).astype(np.int32)

    def prices(self, params: FarmParams) -> Array:
        """Return the price of each offered item: its variable's unit cost times the number of entries seen."""
        return jnp.asarray(params.score.observation_costs)[self._variables] * np.asarray(self._sizes, np.float32)

    @cached_property
    def _variables(self) -> np.ndarray:
        """Return the index of the variable of each offered item, int32."""
        return np.asarray([self.variables.index(item.variable) for item in self.offered.items], np.int32)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Return the number of entries in each offered item, int32."""
        return np.asarray([item.size for item in self.offered.items], np.int32)

    @cached_property
    def _item(self) -> np.ndarray:
        """Return the item number of each offered entry, int32."""
        return np.repeat(np.arange(len(self._sizes), dtype=np.int32), self._sizes)

    def answer(self, state: FarmState, request: Any, params: FarmParams) -> tuple[WorkResult, Array]:
        """Make the observations for which the farmers have time, in the order of the list or of the offered items.

        Returns the work, whose `done` (entries,) marks the offered entries that were shown, and their cost.
        """
        if isinstance(request, Requests):
            covered, unit = self.covered(request), jnp.asarray(params.score.observation_costs)[self.owner]
            prices, numbers = (jnp.sum(jnp.where(covered, each, 0.0), axis=1) for each in (unit, jnp.float32(1.0)))
            wanted, farmer = jnp.asarray(request.group) > 0, request.farmer
        else:
            prices, numbers = self.prices(params), jnp.asarray(self._sizes, jnp.float32)
            wanted, farmer, covered = jnp.asarray(request).astype(bool), self.observer, None
        work = Work(wanted, jnp.zeros(wanted.shape, jnp.float32), prices, numbers, state.day)
        result = delegate("look", params.farmers, state.farmers, farmer, work)
        taken = result.done
        shown = taken[self._item] if covered is None else jnp.any(covered & taken[:, None], axis=0)
        return result._replace(done=shown), jnp.sum(jnp.where(taken, prices, 0.0))

    def news(self, state: FarmState, params: FarmParams) -> Array:
        """Return which offered items would show entries not yet observed if requested in `state`, bool (items,)."""
        number = len(self.offered.items)
        if not number:
            return jnp.zeros(0, bool)
        known = ~((self._item == np.arange(number)[:, None]) & ~state.asked).any(1)
        shown = jax.vmap(lambda wanted: self.answer(state, wanted, params)[0].done.any())(np.eye(number, dtype=bool))
        return shown & ~known
