"""The action table of a farm, which converts actions between tuples, integers and arrays.

The Farm-Gym paper's tuples `(farmer, field, entity, name, parameters)`, the integers of the `Discrete` interface and
the arrays in compiled code are three forms of the same table entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import check_value
from harvestgym.core.errors import mismatch, require, unknown
from harvestgym.core.pytree import Meta
from harvestgym.farm.entities.base import Action, Parameter

from .name_table import NameTable, parameter_keys
from .variables import FieldSlots, check_plot

BINS = 11
"""Number of values that a continuous parameter has in the integer form, including both ends."""

DURATION = "duration#min"
"""The name of the parameter that gives the duration of an action."""

ActionTuple = tuple[str, str, str, str, dict[str, Any]]


class Orders(NamedTuple):
    """A schedule of at most m orders as arrays; kind 0 means no order.

    Attributes:
        kind: int32 (m,), 1 + the table row.
        farmer: int32 (m,).
        plot: int32 (m, 2); (-1, -1) for the whole field.
        values: float32 (m, k), the action's parameters in order, padded with zeros.
    """

    kind: Array
    farmer: Array
    plot: Array
    values: Array

    @classmethod
    def of_rows(cls, acts: Array, farmer: Any, row: Any, plot: Any, values: Any) -> Orders:
        """Return orders for table rows (m,) where `acts` is True, and orders to do nothing elsewhere."""
        return cls(
            kind=jnp.where(acts, 1 + row, 0),
            farmer=jnp.where(acts, farmer, 0),
            plot=jnp.where(acts[:, None], plot, -1),
            values=jnp.where(acts[:, None], values, 0.0),
        )


@dataclass(frozen=True)
class ActionRow:
    """One intervention on one entity, with its row number and the plots, values and farmers that the rules allow."""

    number: int
    field: int
    entity: int
    names: tuple[str, str]
    action: Action
    plots: tuple[tuple[int, int], ...]
    allowed: tuple[Parameter, ...]
    farmers: tuple[int, ...]

    @cached_property
    def grids(self) -> tuple[Sequence[Any], ...]:
        """The values in the integer form: the plots, then the values of each parameter; the last varies fastest."""
        values = [_grid(p, whole) for p, whole in zip(self.allowed, self.action.parameters, strict=True)]
        return (self.plots if self.action.plot else (None,), *values)

    @property
    def count(self) -> int:
        """The number of concrete actions in the row, for one farmer."""
        return math.prod(len(grid) for grid in self.grids)

    def place(self, order: Order) -> int | None:
        """Return the index of an order among the row's concrete actions; None if it is not one of them."""
        plots, *grids = self.grids
        at = plots.index(order.plot)
        for grid, value in zip(grids, order.values, strict=True):
            near = np.flatnonzero(np.isclose(grid, value, rtol=1e-6))
            if not len(near):
                return None
            at = at * len(grid) + int(near[0])
        return at


@dataclass(frozen=True)
class Order:
    """One action requested from a farmer: the table row, the farmer, the plot and the parameter values."""

    row: ActionRow
    farmer: int
    plot: tuple[int, int] | None
    values: tuple[float, ...]


def _grid(parameter: Parameter, whole: Parameter) -> list[float]:
    if parameter.continuous:
        return [float(v) for v in np.linspace(*parameter.range, BINS)]
    return [_encode(whole, c) for c in parameter.choices]


def _words(whole: Parameter) -> list[str]:
    return [c for c in whole.choices if isinstance(c, str)]


def _encode(whole: Parameter, value: Any) -> float:
    """Return a number unchanged, and a word as its index among all choices, even if the rules allow only some."""
    return float(_words(whole).index(value)) if value in _words(whole) else float(value)


@dataclass(frozen=True)
class ActionTable:
    """The interventions that a farm allows, one per table row, and the farmers who can carry them out."""

    farmers: tuple[str, ...]
    rows: tuple[ActionRow, ...]
    fields: tuple[FieldSlots, ...]

    @cached_property
    def size(self) -> int:
        """The number of actions in the integer form; action 0 does nothing."""
        return 1 + int(self.starts[-1])

    @cached_property
    def width(self) -> int:
        """The largest number of parameters of any action."""
        return max((len(r.allowed) for r in self.rows), default=0)

    @cached_property
    def assignments(self) -> tuple[tuple[int, int], ...]:
        """The pairs of a farmer and a row that this farmer may carry out, ordered by farmer."""
        return tuple((f, row.number) for f in range(len(self.farmers)) for row in self.rows if f in row.farmers)

    @cached_property
    def starts(self) -> np.ndarray:
        """The index of each assignment's first action, followed by the number of actions."""
        return np.cumsum([0, *(self.rows[row].count for _, row in self.assignments)]).astype(np.int32)

    @cached_property
    def rows_of_fields(self) -> tuple[tuple[ActionRow, ...], ...]:
        """The rows of each field."""
        return tuple(tuple(row for row in self.rows if row.field == f) for f in range(len(self.fields)))

    def numbers(self, row: ActionRow, farmer: int | None = None) -> range:
        """Return the numbers of a row's actions in the integer form, by default for the first of the row's farmers."""
        at = self.assignments.index((row.farmers[0] if farmer is None else farmer, row.number))
        return range(*(1 + int(end) for end in self.starts[at : at + 2]))

    @cached_property
    def on_first_plot(self) -> np.ndarray:
        """For each action number, the same action's number on its row's first plot; unchanged if it has no plot."""
        numbers = np.arange(self.size)
        for farmer, number in self.assignments:
            row = self.rows[number]
            mine, values = self.numbers(row, farmer), row.count // len(row.grids[0])
            numbers[mine.start : mine.stop] = mine.start + np.arange(row.count) % values
        return numbers

    def order(self, number: int) -> Order | None:
        """Return the order with a given number; None for 0, which does nothing."""
        if number == 0:
            return None
        which = int(np.searchsorted(self.starts, number - 1, side="right")) - 1
        farmer, r = self.assignments[which]
        row = self.rows[r]
        at = np.unravel_index(number - 1 - int(self.starts[which]), [len(grid) for grid in row.grids])
        plot, *values = (grid[int(i)] for grid, i in zip(row.grids, at, strict=True))
        return Order(row, farmer, plot, tuple(values))

    def list_orders(self) -> list[Order | None]:
        """Return the order for each number."""
        return [self.order(number) for number in range(self.size)]

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For all rows, numbers of plots and values (rows, 1 + k), plots (rows, n, 2) and values (rows, k, n)."""
        rows = max(len(self.rows), 1)
        sizes = np.ones((rows, 1 + self.width), np.int32)
        plots = np.full((rows, max((len(r.grids[0]) for r in self.rows), default=1), 2), -1, np.int32)
        longest = max((len(g) for r in self.rows for g in r.grids[1:]), default=1)
        values = np.zeros((rows, self.width, longest), np.float32)
        for i, row in enumerate(self.rows):
            sizes[i, : len(row.grids)] = [len(grid) for grid in row.grids]
            if row.action.plot:
                plots[i, : len(row.plots)] = row.plots
            for k, grid in enumerate(row.grids[1:]):
                values[i, k, : len(grid)] = grid
        return sizes, plots, values

    def orders(self, index: Array | Orders) -> Orders:
        """Return the orders for integer actions of shape () or, for a schedule, (m,); `Orders` are returned unchanged.

        An invalid number becomes the order to do nothing, since compiled code cannot raise errors.
        """
        if isinstance(index, Orders):
            return index
        index = jnp.atleast_1d(index).astype(jnp.int32)
        acts = (index > 0) & (index < self.size)
        rest = jnp.where(acts, index - 1, 0)
        which = (rest[:, None] >= self.starts[1:-1]).sum(1, dtype=jnp.int32)
        farmer, row = jnp.asarray(self.assignments or [(0, 0)], jnp.int32)[which].T
        rest = rest - jnp.asarray(self.starts)[which]
        sizes, plots, values = map(jnp.asarray, self.tables)
        at = []
        for k in reversed(range(sizes.shape[1])):
            rest, found = jnp.divmod(rest, sizes[row, k])
            at.insert(0, found)
        chosen = [values[row, k, at[1 + k]] for k in range(self.width)]
        numbers = jnp.stack(chosen, axis=1) if chosen else jnp.zeros((len(index), 0), jnp.float32)
        return Orders.of_rows(acts, farmer, row, plots[row, at[0]], numbers)

    def parameter(self, key: str, orders: Orders) -> Array:
        """Return the parameter `key` of each order, such as `duration#min`, float32 (m,); 0 if an order has none."""
        keys = [[p.key for p in row.allowed] for row in self.rows]
        column = np.asarray([-1, *(of.index(key) if key in of else -1 for of in keys)], np.int32)
        at = jnp.asarray(column)[orders.kind]
        mine = jnp.arange(self.width, dtype=jnp.int32) == at[:, None]
        return jnp.sum(jnp.where(mine, orders.values, 0.0), axis=1)

    def encode(self, schedule: Sequence[Sequence[Any]], size: int) -> Orders:
        """Convert a schedule of the paper's tuples to orders of length `size`; ConfigError if one is not allowed."""
        require(len(schedule) <= size, "schedule", f"at most {size} actions a day", len(schedule))
        kind, farmer = np.zeros(size, np.int32), np.zeros(size, np.int32)
        plot, values = np.full((size, 2), -1, np.int32), np.zeros((size, self.width), np.float32)
        for i, order in enumerate(map(self.parse, schedule)):
            kind[i], farmer[i] = 1 + order.row.number, order.farmer
            plot[i], values[i, : len(order.values)] = order.plot or (-1, -1), order.values
        return Orders(kind, farmer, plot, values)  # type: ignore[arg-type]

    def index(self, action: Sequence[Any]) -> int:
        """Return the integer form of one of the paper's tuples."""
        return self.number(self.parse(action))

    def number(self, order: Order) -> int:
        """Return the integer form of an order; raise ConfigError if it has none."""
        at = order.row.place(order)
        if at is None:
            raise mismatch("", "a discrete action", self.write(order), "`harvestgym show ID actions`")
        return self.numbers(order.row, order.farmer)[at]

    def parse(self, action: Sequence[Any]) -> Order:
        """Parse and check the paper's `(farmer, field, entity, name, parameters)`, in any spelling."""
        whole = isinstance(action, (tuple, list)) and len(action) == 5
        if not whole or not isinstance(action[4], (Mapping, type(None))):
            raise mismatch("", "(farmer, field, entity, name, parameters)", repr(action))
        farmer, field, entity, name, parameters = action
        who, key = self._names.farmer(farmer), self._names.entity(field, entity)
        known = self._names.action(key, name, " > ".join(key))
        return self._filled(self.row(*key, known.name), who, parameters or {})

    @cached_property
    def _names(self) -> NameTable:
        return NameTable(self.farmers, self.fields, ())

    def row(self, field: str, entity: str, name: str) -> ActionRow:
        """Return the row for an action given by canonical names; raise ConfigError if it is not allowed."""
        if (field, entity, name) not in self.row_numbers:
            allowed = [action for *where, action in self.row_numbers if where == [field, entity]]
            raise unknown("action", name, allowed, f"{field} > {entity}")
        return self.rows[self.row_numbers[field, entity, name]]

    @cached_property
    def row_numbers(self) -> dict[tuple[str, str, str], int]:
        """The number of each row, by field, entity and action name."""
        return {(*row.names, row.action.name): row.number for row in self.rows}

    def _filled(self, row: ActionRow, who: int, parameters: Mapping[str, Any]) -> Order:
        where = " > ".join((*row.names, row.action.name))
        given = self._names.parameters(row.action, parameters, where)
        if who not in row.farmers:
            able = [self.farmers[f] for f in row.farmers]
            raise mismatch(where, f"one of the farmers {', '.join(able)}", repr(self.farmers[who]))
        missing = [key for key in parameter_keys(row.action) if key not in given]
        require(not missing, where, ", ".join(missing), "nothing")
        plot = check_plot(given["plot"], self.fields[row.field].shape, where) if row.action.plot else None
        if row.action.plot and plot not in row.plots:
            raise mismatch(where, "an allowed plot", plot, f"one of {list(row.plots)}")
        pairs = zip(row.allowed, row.action.parameters, strict=True)
        return Order(row, who, plot, tuple(_encode(w, check_parameter(p, given[p.key], where)) for p, w in pairs))

    def write(self, order: Order) -> ActionTuple:
        """Return an order in the paper's form."""
        named: dict[str, Any] = {} if order.plot is None else {"plot": order.plot}
        for whole, value in zip(order.row.action.parameters, order.values, strict=True):
            named[whole.key] = _words(whole)[int(value)] if _words(whole) else value
        return (self.farmers[order.farmer], *order.row.names, order.row.action.name, named)


def check_parameter(parameter: Parameter, value: Any, where: str) -> Any:
    """Return a value unchanged if the parameter allows it; raise ConfigError otherwise."""
    where = f"{where} > {parameter.key}"
    if parameter.continuous:
        low, high = parameter.range
        return check_value(Meta("par", (parameter.key,), "", low=low, high=high), value, where)
    if isinstance(value, bool) or value not in parameter.choices:
        raise mismatch(where, f"one of {', '.join(map(str, parameter.choices))}", repr(value))
    return value
