"""A season in the hands of a farmer: what is known, looks that cost, orders for the day, the end of the day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import load_object
from harvestgym.core.timeline import Record

from .session import Session

Plot = tuple[int, int]
KNOWN = "harvestgym.farm.view.recorder:known"
COSTS = ("intervention cost", "wages", "observation cost")


class Known(NamedTuple):
    """What the farmer knows of a variable: the last seen value of each entry, and when (-1 for never)."""

    values: np.ndarray
    step: np.ndarray


class Fact(NamedTuple):
    """A number that is known, for people: what it is, its value in words, and how many days ago it was seen."""

    name: str
    value: str
    age: int


@dataclass(frozen=True)
class Order:
    """One intervention as the farmer asked for it: its number in the action table, and its words."""

    number: int
    words: str
    field: int
    plot: Plot | None
    cost: float


class FarmerSession(Session):
    """A season. In mode "ao" the morning's looks are a step of their own; the end of the day is the other."""

    unit = "day"

    def __init__(self, id: str, env: Env[Any, Any], seed: int) -> None:
        super().__init__(id, env, seed)
        self.model: Any = env
        self.orders: list[Order] = []
        self.yesterday: list[Order] = []
        self.refused: list[str] = []
        self.known = {v.name: Known(np.zeros(v.shape), np.full(v.shape, -1)) for v in self.model.variables}
        self._learn()

    # What is known.

    @property
    def day(self) -> int:
        """Days since the start."""
        return int(self.info["day"])

    @property
    def days(self) -> int:
        """Days of the longest season."""
        return int(self.model.params.horizon)

    @property
    def looked(self) -> bool:
        """Whether this morning's looks are over, in a season where they cost."""
        return self.steps % 2 == 1 and bool(self.asks)

    @property
    def asks(self) -> bool:
        """Whether looking is a step of its own."""
        return hasattr(self.model, "offered")

    @property
    def _halves(self) -> int:
        return getattr(self.model, "steps_per_day", 1)

    @cached_property
    def looks(self) -> tuple[Any, ...]:
        """What can be asked for."""
        return self.model.offered.items if self.asks else ()

    @cached_property
    def prices(self) -> np.ndarray:
        """What each of the looks costs."""
        if not self.looks:
            return np.zeros(0)
        return np.asarray(self.model.params.score.observation_prices(self.model.offered, self.model.variables))

    def _learn(self) -> None:
        """Take in what is seen in this step."""
        for name, known in self.known.items():
            mask = self.last.get(f"seen/{name}")
            if mask is not None:
                known.values[mask] = self.last[name][mask]
                known.step[mask] = self.steps

    def facts(self, field: int, plot: Plot | None) -> list[Fact]:
        """What is known of a plot of a field or, without a plot, of the field as a whole."""
        out = []
        for variable in self.model.variables:
            if variable.field != field or variable.per_plot != (plot is not None):
                continue
            known = self.known[variable.name]
            at = ... if plot is None else (..., *plot)
            if (known.step[at] < 0).any():
                continue
            told = ", ".join(worded(value, variable.meta) for value in np.ravel(known.values[at]))
            age = self.steps // self._halves - int(np.max(known.step[at])) // self._halves
            out.append(Fact(self.label(variable), told + ("" if _coded(variable.meta) else unit(variable.key)), age))
        return out

    @cached_property
    def called(self) -> dict[tuple[str, str], str]:
        """What people call each entity: `Soil`, or where there are several of a kind, `Plant 0 (corn)`."""
        out = {}
        for field, described in zip(self.model.fields, self.model.spec.fields.values(), strict=True):
            kinds = [slot.name.partition("-")[0] for slot in field.slots]
            for slot, kind, (_, which) in zip(field.slots, kinds, described.entities, strict=True):
                made = f" ({which.replace('_', ' ')})" if isinstance(which, str) else ""
                several = kinds.count(kind) > 1
                out[field.name, slot.name] = slot.name.replace("-", " ") + made if several else kind
        return out

    def label(self, variable: Any) -> str:
        """What people call a variable: its entity, and its key without the unit."""
        return f"{self.called[variable.where]} {named(variable.key)}"

    def value(self, field: int, key: str) -> np.ndarray | None:
        """What is known of a variable of a field by its key, `rain/amount#mm`; None if it was never seen."""
        for variable in self.model.variables:
            if variable.field == field and variable.key == key:
                known = self.known[variable.name]
                return known.values if (known.step >= 0).all() else None
        return None

    @property
    def beliefs(self) -> Record:
        """The record as the farmer knows it: each number as it was when last seen, NaN before that."""
        return load_object(KNOWN)(self.model, self.record)

    # What is done.

    def look(self, which: list[int]) -> float:
        """Ask for some of the looks, by number, once a day; what they cost."""
        if not self.asks or self.looked:
            raise ConfigError("look: today's looks are over" if self.asks else "look: everything is seen for nothing")
        request = np.zeros(len(self.looks), np.int8)
        for number in which:
            if not 0 <= number < len(self.looks):
                raise ConfigError(f"look: wanted a number from 0 to {len(self.looks) - 1}, found {number}")
            request[number] = 1
        action = self.idle | ({"request": request} if len(request) else {})
        self.act(action)
        self._learn()
        return float(self.info["observation cost"])

    def order(self, row: int, plot: Plot | None = None, values: tuple[int, ...] = (), farmer: int = 0) -> Order:
        """Put an intervention on today's list: a row of the action table, a plot, and the place of each value."""
        if self.over:
            raise ConfigError("order: the season is over")
        if len(self.orders) >= self.model.schedule:
            raise ConfigError(f"order: at most {self.model.schedule} a day; take one off the list first")
        order = self._ordered(row, plot, values, farmer)
        self.orders.append(order)
        return order

    def _ordered(self, row: int, plot: Plot | None, values: tuple[int, ...], farmer: int) -> Order:
        rows = self.model.actions.rows
        if not 0 <= row < len(rows):
            raise ConfigError(f"order: wanted an action from 0 to {len(rows) - 1}, found {row}")
        mine, grids = rows[row], rows[row].grids
        if plot not in grids[0]:
            raise ConfigError(f"order: {mine.action.name} wants a plot among {list(grids[0])}, found {plot}")
        sizes = [len(grid) for grid in grids[1:]]
        if len(values) != len(sizes) or any(not 0 <= v < n for v, n in zip(values, sizes, strict=True)):
            raise ConfigError(f"order: {mine.action.name} wants a choice for each of {sizes}, found {values}")
        at = int(np.ravel_multi_index((grids[0].index(plot), *values), [len(g) for g in grids]))
        number = self.model.actions.numbers(mine, farmer)[at]
        cost = float(np.asarray(self.model.params.score.intervention_costs)[row])
        return Order(number, self.words(number), mine.field, plot, cost)

    def words(self, number: int) -> str:
        """An intervention as people say it: `Soil: watering discrete, plot (0, 0), amount 10 L`."""
        choice = self.model.actions.choices[number]
        _, field, entity, name, given = self.model.actions.tuple(choice)
        settled = {p.key for p, grid in zip(choice.row.allowed, choice.row.grids[1:], strict=True) if len(grid) == 1}
        values = "".join(f", {named(key)} {_short(v)}{unit(key)}" for key, v in given.items() if key not in settled)
        where = f"{field} " if len(self.model.fields) > 1 else ""
        return f"{where}{self.called[field, entity]}: {name.replace('_', ' ')}{values}"

    def remove(self, at: int) -> None:
        """Take an order off today's list."""
        if not 0 <= at < len(self.orders):
            raise ConfigError(f"remove: wanted an order from 0 to {len(self.orders) - 1}, found {at}")
        del self.orders[at]

    def repeat(self) -> None:
        """Put on the list what was on yesterday's."""
        for order in self.yesterday[: self.model.schedule - len(self.orders)]:
            self.orders.append(order)

    def end_day(self) -> float:
        """Do what is on the list and let the day pass; its reward."""
        before = self.total
        if self.asks and not self.looked:
            self.look([])
        numbers = np.zeros(self.model.schedule, np.int64)
        numbers[: len(self.orders)] = [order.number for order in self.orders]
        order = numbers if self.model.schedule > 1 else numbers[0]
        self.act(self.idle | {"order": order} if self.asks else order)
        accepted = self.info["accepted"][: len(self.orders)]
        self.refused = [o.words for o, yes in zip(self.orders, accepted, strict=True) if not yes]
        self.yesterday, self.orders = self.orders, []
        self._learn()
        return self.total - before

    # What came of it.

    @property
    def books(self) -> dict[str, float]:
        """Gains and costs so far by name, costs as negative numbers; they sum to the score."""
        record = self.record
        gains = {name.removeprefix("info/reward/"): float(values.sum())
                 for name, values in record.items() if name.startswith("info/reward/")}  # fmt: skip
        return gains | {name: -float(record[f"info/{name}"].sum()) for name in COSTS}


def _coded(meta: Any) -> bool:
    return bool(meta.labels) or meta.dtype == "bool"


def worded(value: float, meta: Any) -> str:
    """A value as people read it."""
    if meta.labels:
        return meta.labels[int(value)]
    if meta.dtype == "bool":
        return "yes" if value else "no"
    return _short(round(float(value), 2))


def named(key: str) -> str:
    """A key in words: `rain/amount#mm` is `rain amount`."""
    return " ".join(part.partition("#")[0] for part in key.split("/")).replace("_", " ")


def unit(key: str) -> str:
    """The unit of a key after a space; nothing for a count."""
    found = key.partition("#")[2]
    return f" {found}" if found and found != "nb" else ""


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (int, float, np.number)) else str(value)
