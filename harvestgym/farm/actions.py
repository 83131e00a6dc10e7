"""The one action table of a farm, behind every form in which an action can be written.

The paper's tuples `(farmer, field, entity, name, parameters)`, the integers of the `Discrete` face and
the arrays that compiled code uses are three spellings of an entry of this table.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.errors import ConfigError, unknown
from .entity import Action, Parameter
from .layout import FieldSlots, check_plot, find_entity, find_field, find_name
from .spec import Interval, parse_plot

BINS = 11
"""Values that stand for a continuous parameter in the integer form, both ends included."""

Tuple5 = tuple[str, str, str, str, dict[str, Any]]


class Orders(NamedTuple):
    """A schedule of at most m actions as arrays; a kind of 0 is «nothing».

    Attributes:
        kind: int32 (m,), 1 + the row of the table.
        farmer: int32 (m,).
        plot: int32 (m, 2); (-1, -1) is the whole field.
        values: float32 (m, k), the parameters in the order of the action, zero beyond.
    """

    kind: jax.Array
    farmer: jax.Array
    plot: jax.Array
    values: jax.Array


@dataclass(frozen=True)
class Row:
    """One intervention of one entity, with the plots and values that the rules allow."""

    field: int
    entity: int
    names: tuple[str, str]
    action: Action
    plots: tuple[tuple[int, int], ...]
    allowed: tuple[Parameter, ...]

    def choices(self, farmer: int) -> list[Choice]:
        """Every concrete action of the row, continuous parameters in bins."""
        grids = [_grid(p, whole) for p, whole in zip(self.allowed, self.action.parameters, strict=True)]
        plots: Sequence[tuple[int, int] | None] = self.plots if self.action.plot else (None,)
        return [Choice(self, farmer, plot, v) for plot in plots for v in itertools.product(*grids)]


@dataclass(frozen=True)
class Choice:
    """One concrete action."""

    row: Row
    farmer: int
    plot: tuple[int, int] | None
    values: tuple[float, ...]

    def same(self, other: Choice) -> bool:
        """Whether two choices are one action, up to the rounding of continuous parameters."""
        aim = (self.row, self.farmer, self.plot) == (other.row, other.farmer, other.plot)
        return aim and np.allclose(self.values, other.values, rtol=1e-6)


def _grid(parameter: Parameter, whole: Parameter) -> list[float]:
    if parameter.continuous:
        return [float(v) for v in np.linspace(*parameter.range, BINS)]
    return [_encode(whole, c) for c in parameter.choices]


def _words(whole: Parameter) -> list[str]:
    return [c for c in whole.choices if isinstance(c, str)]


def _encode(whole: Parameter, value: Any) -> float:
    """A number as it is, a word as its place among those of the kind, whatever the rules leave of them."""
    return float(_words(whole).index(value)) if value in _words(whole) else float(value)


@dataclass(frozen=True)
class ActionTable:
    """The allowed interventions of a farm: rows of the table, and the farmers who can do them."""

    farmers: tuple[str, ...]
    rows: tuple[Row, ...]
    fields: tuple[FieldSlots, ...]

    @cached_property
    def choices(self) -> list[Choice | None]:
        """The actions of the integer form; number 0 is to do nothing."""
        listed = [c for f in range(len(self.farmers)) for r in self.rows for c in r.choices(f)]
        return [None, *listed]

    @property
    def width(self) -> int:
        """The largest number of parameters of an action."""
        return max((len(r.allowed) for r in self.rows), default=0)

    @cached_property
    def arrays(self) -> Orders:
        """The integer form spelt out: every choice as one order (NumPy, leading axis = choices)."""
        return Orders(*(np.stack(part) for part in zip(*map(self._encoded, self.choices), strict=True)))  # type: ignore[arg-type]

    def _encoded(self, choice: Choice | None) -> tuple[np.ndarray, ...]:
        kind = 0 if choice is None else 1 + self.rows.index(choice.row)
        plot = (-1, -1) if choice is None or choice.plot is None else choice.plot
        values = np.zeros(self.width, np.float32)
        if choice is not None:
            values[: len(choice.values)] = choice.values
        farmer = 0 if choice is None else choice.farmer
        return np.int32(kind), np.int32(farmer), np.asarray(plot, np.int32), values  # type: ignore[return-value]

    def orders(self, index: jax.Array) -> Orders:
        """The orders of integer actions: `index` of shape (), one action, or (m,), a schedule.

        A number that is no action is the order to do nothing: compiled code cannot raise.
        """
        index = jnp.where((index >= 0) & (index < len(self.choices)), index, 0)
        return jax.tree.map(lambda a: jnp.asarray(a)[jnp.atleast_1d(index)], self.arrays)

    def encode(self, schedule: Sequence[Sequence[Any]], size: int) -> Orders:
        """A schedule of the paper's tuples as orders of length `size`; ConfigError if one is not allowed."""
        if len(schedule) > size:
            raise ConfigError(f"the schedule holds {len(schedule)} actions; at most {size} are allowed a day")
        choices: list[Choice | None] = [self.parse(action) for action in schedule]
        padded = choices + [None] * (size - len(choices))
        return Orders(*(np.stack(part) for part in zip(*map(self._encoded, padded), strict=True)))  # type: ignore[arg-type]

    def index(self, action: Sequence[Any]) -> int:
        """The number of one of the paper's tuples in the integer form."""
        choice = self.parse(action)
        for i, other in enumerate(self.choices):
            if other is not None and other.same(choice):
                return i
        raise ConfigError(f"{self.tuple(choice)}: no such entry among the discrete actions; see `harvestgym show`")

    def parse(self, action: Sequence[Any]) -> Choice:
        """One of the paper's tuples `(farmer, field, entity, name, parameters)` as a checked choice."""
        if (
            not isinstance(action, (tuple, list))
            or len(action) != 5
            or not isinstance(action[4], (Mapping, type(None)))
        ):
            raise ConfigError(f"wanted (farmer, field, entity, name, parameters), found {action!r}")
        farmer, field, entity, name, parameters = action
        who = find_name("farmer", farmer, self.farmers)
        f = find_field(self.fields, field)
        e = find_entity(self.fields[f], entity)
        mine = [r for r in self.rows if (r.field, r.entity) == (f, e)]
        found = [r for r in mine if r.action.name == name]
        if not found:
            raise unknown("action", name, (r.action.name for r in mine), " > ".join((field, entity)))
        return self._fill(found[0], who, dict(parameters or {}))

    def _fill(self, row: Row, farmer: int, given: dict[str, Any]) -> Choice:
        where = " > ".join((*row.names, row.action.name))
        wanted = (["plot"] if row.action.plot else []) + [p.key for p in row.allowed]
        for key in given:
            if key not in wanted:
                raise unknown("parameter", key, wanted, where)
        missing = [key for key in wanted if key not in given]
        if missing:
            raise ConfigError(f"{where}: missing {', '.join(missing)}")
        plot = _allowed_plot(given.get("plot"), row, self.fields[row.field].shape, where)
        pairs = zip(row.allowed, row.action.parameters, strict=True)
        return Choice(row, farmer, plot, tuple(_encode(w, _checked(p, given[p.key], where)) for p, w in pairs))

    def tuple(self, choice: Choice | None) -> Tuple5 | None:
        """A choice in the paper's form; None for nothing."""
        if choice is None:
            return None
        named: dict[str, Any] = {} if choice.plot is None else {"plot": choice.plot}
        for whole, value in zip(choice.row.action.parameters, choice.values, strict=True):
            named[whole.key] = _words(whole)[int(value)] if _words(whole) else value
        return (self.farmers[choice.farmer], *choice.row.names, choice.row.action.name, named)


def _allowed_plot(plot: Any, row: Row, shape: tuple[int, int], where: str) -> tuple[int, int] | None:
    if not row.action.plot:
        return None
    at = check_plot(plot, shape, where)
    if at not in row.plots:
        raise ConfigError(f"{where}: plot {at} is not allowed; allowed: {list(row.plots)}")
    return at


def _checked(parameter: Parameter, value: Any, where: str) -> Any:
    """A value that the parameter allows, as it is; ConfigError otherwise."""
    if parameter.continuous:
        low, high = parameter.range
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= float(value) <= high:
            raise ConfigError(f"{where} > {parameter.key}: wanted a number in [{low:g}, {high:g}], found {value!r}")
        return float(value)
    if isinstance(value, bool) or not any(value == choice for choice in parameter.choices):
        wanted = ", ".join(map(str, parameter.choices))
        raise ConfigError(f"{where} > {parameter.key}: wanted one of {wanted}; found {value!r}")
    return value


def table_of(farmers: Sequence[str], fields: Sequence[FieldSlots], allowed: Mapping[str, Any] | None) -> ActionTable:
    """The action table of a farm, all actions or those of a restriction (the `interventions` of the rules)."""
    rows = [row for f, field in enumerate(fields) for row in _rows(f, field)]
    if allowed is not None:
        rows = [r for field, of_field in allowed.items() for r in _restricted(rows, fields, field, of_field)]
    return ActionTable(tuple(farmers), tuple(rows), tuple(fields))


def _rows(f: int, field: FieldSlots) -> list[Row]:
    plots = tuple((x, y) for x in range(field.shape[0]) for y in range(field.shape[1]))
    return [
        Row(f, e, (field.name, slot.name), action, plots, action.parameters)
        for e, slot in enumerate(field.slots)
        for action in slot.kind.actions
    ]


def _restricted(rows: list[Row], fields: Sequence[FieldSlots], field: str, of_field: Mapping[str, Any]) -> list[Row]:
    f = find_field(fields, field, "interventions")
    out: list[Row] = []
    for entity, of_entity in of_field.items():
        e = find_entity(fields[f], entity, f"interventions > {field}")
        mine = {r.action.name: r for r in rows if (r.field, r.entity) == (f, e)}
        for name, limits in (of_entity or {}).items():
            where = f"interventions > {field} > {entity}"
            if name not in mine:
                raise unknown("action", name, mine, where)
            out.append(_narrowed(mine[name], limits or {}, fields[f].shape, f"{where} > {name}"))
    return out


def _narrowed(row: Row, limits: Mapping[str, Any], shape: tuple[int, int], where: str) -> Row:
    wanted = (["plot"] if row.action.plot else []) + [p.key for p in row.action.parameters]
    for key in limits:
        if key not in wanted:
            raise unknown("parameter", key, wanted, where)
    plots = row.plots
    if "plot" in limits:
        plots = tuple(check_plot(parse_plot(p), shape, f"{where} > plot") for p in limits["plot"])
    allowed = tuple(_narrow(p, limits.get(p.key), where) for p in row.action.parameters)
    return Row(row.field, row.entity, row.names, row.action, plots, allowed)


def _narrow(parameter: Parameter, limit: Any, where: str) -> Parameter:
    if limit is None:
        return parameter
    if isinstance(limit, Interval):
        if not parameter.continuous:
            raise ConfigError(
                f"{where} > {parameter.key}: wanted a list of {list(parameter.choices)}, found an interval"
            )
        ends = (limit.low, limit.high)
        for end in ends:
            _checked(parameter, end, where)
        if ends[0] > ends[1]:
            raise ConfigError(f"{where} > {parameter.key}: wanted low <= high, found ({ends[0]:g}, {ends[1]:g})")
        return Parameter(parameter.key, (), ends)
    if not limit:
        raise ConfigError(f"{where} > {parameter.key}: wanted at least one value, found none")
    for value in limit:
        _checked(parameter, value, where)
    return Parameter(parameter.key, tuple(limit), parameter.range)
