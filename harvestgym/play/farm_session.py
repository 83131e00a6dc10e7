"""A farm season played by a user: known values, paid observations, the orders of the day and the end of the day."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError, mismatch, require
from harvestgym.core.view.events import WARNING, say_event
from harvestgym.core.view.scene import Scene
from harvestgym.core.view.tables import round_number
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.actions import Order
from harvestgym.farm.view.action_log import COST_NAMES, find_gains, find_outcomes
from harvestgym.farm.view.events import day_name
from harvestgym.farm.view.recorder import LastObserved, known, last_observed
from harvestgym.farm.view.words import code_labels, key_unit, key_words, name_things, say_order, unit_words, value_text

from .session import Session

Plot = tuple[int, int]


class Fact(NamedTuple):
    """A known value: its name, text, and the days since it was observed."""

    name: str
    value: str
    age: int


class FarmSession(Session):
    """A season. In mode "ao", the morning's observations are one step, and the end of the day is another."""

    unit = "day"

    def __init__(self, *episode: Any) -> None:
        super().__init__(*episode)
        self.orders: list[Order] = []
        """The orders on the list of the current day."""
        self.yesterday: list[Order] = []
        self.setbacks: list[str] = []
        """Yesterday's orders that were refused or had no effect, one line each."""

    def act(self, action: Any) -> float:
        for cached in ("known", "picture"):
            vars(self).pop(cached, None)
        return super().act(action)

    # The game.

    def when(self, step: int) -> str:
        return day_name(self.env, self.record, step)

    # Known values.

    @property
    def time(self) -> int:
        return int(self.info["day"])

    @property
    def days(self) -> int:
        """Length of the longest season in days."""
        return int(self.env.params.horizon)

    @property
    def looked(self) -> bool:
        """Return whether the observations of this morning have been made."""
        return self.steps % 2 == 1 and self.env.asks

    @cached_property
    def prices(self) -> np.ndarray:
        """The price of each offered observation."""
        return np.asarray(self.env.requests.prices(self.env.params))

    @cached_property
    def known(self) -> dict[str, LastObserved]:
        """The last observed value of each number in each variable, and the step of the observation (-1 for never)."""
        record = self.record
        last = {v.name: last_observed(record, v) for v in self.env.variables}
        return {name: LastObserved(values[-1], steps[-1]) for name, (values, steps) in last.items()}

    @cached_property
    def picture(self) -> Scene:
        """The scene of the farm as the farmer knows it or, at the end, as it is."""
        return self.scene(self.record if self.over else self.beliefs)

    @property
    def beliefs(self) -> Record:
        """The record as the farmer knows it: each number as last observed, NaN before the first observation."""
        return known(self.env, self.record)

    def facts(self, field: int, plot: Plot | None) -> list[Fact]:
        """Return the known values for a plot in a field or, if `plot` is None, for the whole field."""
        facts, steps_per_day = [], self.env.steps_per_day
        for variable in self.env.variables:
            if variable.field != field or variable.per_plot != (plot is not None):
                continue
            values, steps = (part[... if plot is None else (..., *plot)] for part in self.known[variable.name])
            if (steps < 0).any():
                continue
            text = ", ".join(value_text(value, variable.meta) for value in np.ravel(values))
            unit = "" if code_labels(variable.meta) else unit_words(key_unit(variable.key), text)
            age = self.steps // steps_per_day - int(np.max(steps)) // steps_per_day
            facts.append(Fact(self.label(variable), f"{text} {unit}".strip(), age))
        return facts

    def label(self, variable: Any) -> str:
        """Return the noun of a variable's entity, capitalised, and the variable's key in words."""
        return f"{name_things(self.env)[variable.where].capitalize()} {key_words(variable.key)}"

    def value(self, field: int, key: str) -> np.ndarray | None:
        """Return the known value of a field's variable, such as `rain/amount#mm`; None if it was never observed."""
        for variable in self.env.variables:
            if variable.field == field and variable.key == key:
                values, steps = self.known[variable.name]
                return values if (steps >= 0).all() else None
        return None

    # Actions.

    def look(self, which: list[int]) -> float:
        """Buy the offered observations with the given numbers, once a day; return their cost."""
        require(self.env.asks, "look", "a farm with paid observations", "one whose observations are free")
        require(not self.looked, "look", "one request per day", "a second one")
        request = np.zeros(len(self.prices), np.int8)
        for number in which:
            require(0 <= number < len(request), "look", f"a number from 0 to {len(request) - 1}", number)
            request[number] = 1
        self.act(self.env.make_action(request, self.idle["order"]))
        return float(self.info["observation cost"])

    def order(self, row: int, plot: Plot | None = None, values: tuple[int, ...] = ()) -> Order:
        """Add an intervention to the list, given by a row of the action table, a plot and the index of each value."""
        rows = self.env.actions.rows
        require(0 <= row < len(rows), "order", f"an action from 0 to {len(rows) - 1}", row)
        plots, *grids = rows[row].grids
        sizes = [len(grid) for grid in grids]
        if plot not in plots or tuple(values) not in np.ndindex(*sizes):
            expected = f"a plot among {list(plots)} and a choice for each of {sizes}"
            raise ConfigError(f"order: {rows[row].action.name} expected {expected}, got {plot} and {values}")
        chosen = tuple(grid[at] for grid, at in zip(grids, values, strict=True))
        return self.add(Order(rows[row], rows[row].farmers[0], plot, chosen))

    def add(self, order: Order) -> Order:
        """Add an order to the list."""
        require(not self.over, "order", "a running season", "one that has ended")
        if len(self.orders) >= self.env.schedule:
            raise mismatch("order", f"at most {self.env.schedule} per day", "one more", "removing one")
        self.orders.append(order)
        return order

    def say(self, order: Order) -> str:
        """Return an order in words, with its cost now and the cost at the end of the water or substance it uses."""
        cost = float(np.asarray(self.env.params.score.intervention_costs)[order.row.number])
        later = self.env.spec.scoring.resource * self._used(order)
        return f"{say_order(self.env, order)}, costs {cost:g}" + f", and {later:.3g} at the end" * (later > 0)

    def _used(self, order: Order) -> float:
        """Return the litres of water or kilograms of a substance that an order uses; 0 for other orders."""
        field = self.env.params.fields[order.row.field]
        sizes = {"L": 1.0, "kg": 1.0, "bag": getattr(field.entities[order.row.entity], "bag", 0.0)}
        used = (sizes.get(key_unit(p.key), 0.0) * v for p, v in zip(order.row.allowed, order.values, strict=True))
        return float(sum(used) * field.place.surface)

    def remove(self, at: int) -> None:
        """Remove an order from the list."""
        require(0 <= at < len(self.orders), "remove", f"an order from 0 to {len(self.orders) - 1}", at)
        del self.orders[at]

    def repeat(self) -> None:
        """Add yesterday's orders to the list."""
        self.orders += self.yesterday[: self.env.schedule - len(self.orders)]

    def end_day(self) -> float:
        """Execute the orders on the list and end the day; return its reward."""
        before = self.total
        if self.env.asks and not self.looked:
            self.look([])
        numbers = np.zeros(self.env.schedule, np.int64)
        numbers[: len(self.orders)] = [*map(self.env.actions.number, self.orders)]
        order = numbers if self.env.schedule > 1 else numbers[0]
        self.act(self.env.make_action(np.zeros(len(self.prices), np.int8), order))
        outcomes = find_outcomes(self.env, self.record, self.steps)
        self.setbacks = [say_event(event) for event in outcomes if event.severity == WARNING]
        self.yesterday, self.orders = self.orders, []
        return round_number(self.total - before)

    @property
    def accounts(self) -> dict[str, float]:
        """Gains and costs so far, by name; costs are negative, and the sum is the score."""
        terms = find_gains(self.record) | {name: -self.record[f"info/{name}"] for name in COST_NAMES}
        return {name: round_number(values.sum()) for name, values in terms.items()}
