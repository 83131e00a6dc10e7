"""The actions in a recorded season: the orders and observations of each step, in words and as marks on the map."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harvestgym.core.loading import group_pairs
from harvestgym.core.view.events import NEWS, WARNING, Event
from harvestgym.core.view.scene import Mark, Sprite, load_sprites
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.actions import Order
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import ObservedItem

from .words import FUTILE, say_action, say_amount, say_tool

COST_NAMES = ("intervention cost", "observation cost", "wages")
TOOL_SIZE = 0.2
"""Size of a tool drawn on a plot, in plots."""


def find_gains(record: Record) -> dict[str, np.ndarray]:
    """Return the reward terms of a record by name, one entry per step."""
    prefix = "info/reward/"
    return {name.removeprefix(prefix): values for name, values in record.items() if name.startswith(prefix)}


class LoggedOrder(NamedTuple):
    """One order in a season.

    Attributes:
        order: the action, its farmer, plot and values.
        price: its cost if it is carried out.
        effective: whether it changed anything.
        refused: the rule or farmer that refused it, and the reason in words; None if it was carried out.
    """

    order: Order
    price: float
    effective: bool
    refused: tuple[str, str] | None

    @property
    def kind(self) -> str:
        """The outcome as a code."""
        return "refused" if self.refused else "done" if self.effective else "no effect"


def is_morning(record: Record, step: int) -> bool:
    """Return whether a step is the observation half-step of mode "ao", in which no day passes."""
    days = record["info/day"]
    return step > 0 and bool(days[step] == days[step - 1])


def logged_orders(env: FarmModel, record: Record, step: int) -> Iterator[LoggedOrder]:
    """Yield the interventions ordered in a step."""
    kinds, prices = record["orders/kind"][step], record["orders/price"][step]
    for i in np.flatnonzero(kinds).tolist():
        row = env.actions.rows[int(kinds[i]) - 1]
        x, y = map(int, record["orders/plot"][step][i])
        values = tuple(record["orders/values"][step][i].tolist()[: len(row.allowed)])
        order = Order(row, int(record["orders/farmer"][step][i]), (x, y) if x >= 0 else None, values)
        refusal = int(record["info/refusal"][step][i])
        refused = env.reasons[refusal - 1] if refusal else None
        yield LoggedOrder(order, float(prices[i]), bool(record["info/effective"][step][i]), refused)


def paid_observations(env: FarmModel, record: Record, step: int) -> list[tuple[ObservedItem, float]]:
    """Return the observations that were requested and made in a morning step, with their prices."""
    if not is_morning(record, step):
        return []
    prices = np.asarray(env.requests.prices(env.params)).tolist()
    # Items shown by another request or by the rules are observed too; the recorded requests show which were paid for.
    requested = record["action/request"][step] if "action/request" in record else np.ones(len(prices))
    offered = zip(env.offered.items, prices, requested, strict=True)
    return [(item, price) for item, price, asked in offered if asked and _was_observed(item, record, step)]


def _was_observed(item: ObservedItem, record: Record, step: int) -> bool:
    mask = np.asarray(record[f"seen/{item.variable.name}"][step])
    return all(bool(mask[at]) for at in item.entries)


def find_morning(record: Record, step: int) -> int:
    """Return the step itself if it is a morning, else the step before, with the observations of the same day."""
    return step if is_morning(record, step) else step - 1


# Marks on the map.


def action_marks(env: FarmModel, record: Record, step: int, field: int, margin: float, crowded: bool) -> list[Mark]:
    """Mark effective actions with a tool: north-west on their plot, or west of the field for the whole field."""
    done = (action.order for action in logged_orders(env, record, step) if action.effective)
    by_plot = group_pairs((order.plot, order) for order in done if order.row.field == field)
    tools = [
        Mark(
            _tool(env, order), *_corner(plot, n, margin, crowded),
            text=say_amount(env, order) if plot and len(orders) == 1 and not crowded else "",
            meaning=f"done: {say_tool(env, order.row)}",
        )
        for plot, orders in by_plot.items() for n, order in enumerate(orders)
    ]  # fmt: skip
    return tools + _observation_marks(env, record, step, field)


def _corner(plot: tuple[int, int] | None, n: int, margin: float, crowded: bool) -> tuple[tuple[float, float], float]:
    """Return the centre and the size of the n-th tool on a plot."""
    if plot is None:
        return (-0.5 * margin, (2.4 + n) * margin), 0.9 * margin
    size = 2.5 * TOOL_SIZE if crowded else TOOL_SIZE
    return (plot[0] + (0.6 + 1.1 * n) * size, plot[1] + 0.6 * size), size


def _observation_marks(env: FarmModel, record: Record, step: int, field: int) -> list[Mark]:
    """Return an eye icon in the north-eastern corner of each plot that was observed today."""
    items = [item for item, _ in paid_observations(env, record, find_morning(record, step))]
    items = [item for item in items if item.variable.field == field and item.variable.per_plot]
    plots = dict.fromkeys(plot for item in items for plot in item.plots)
    return [Mark(_own_sprite("eye"), (x + 0.88, y + 0.11), TOOL_SIZE, meaning="looked at") for x, y in plots]


def _tool(env: FarmModel, order: Order) -> Sprite:
    """Return the sprite for an action: the one defined by its kind, or a hand."""
    kind = env.fields[order.row.field].slots[order.row.entity].kind
    return kind.sprites().get(order.row.action.name) or _own_sprite("hand")


def _own_sprite(name: str) -> Sprite:
    return load_sprites(Path(__file__).with_name("sprites.yaml"))[name]


# Events.


def find_outcomes(env: FarmModel, record: Record, step: int) -> Iterator[Event]:
    """Yield an event for each group of similar interventions in a step, with its cost or the reason for its refusal."""
    logged = logged_orders(env, record, step)
    alike = group_pairs(((say_action(env, action.order), action.kind, action.refused), action) for action in logged)
    for (who, kind, refused), actions in alike.items():
        action = actions[0].order.row.action.name if kind == "no effect" else ""
        words, severity = ("", NEWS) if kind == "done" else (FUTILE.get(action, kind), WARNING)
        cost = None if refused else sum(action.price for action in actions)
        plots = [action.order.plot for action in actions if action.order.plot is not None]
        reason, why = refused or ("", "")
        yield Event(step, kind, who, words, severity, reason, why, plots, cost=cost)


def find_looks(env: FarmModel, record: Record, step: int) -> Iterator[Event]:
    """Yield an event for each variable that was requested in a morning step, with its plots and cost."""
    alike = group_pairs((item.variable, (item, price)) for item, price in paid_observations(env, record, step))
    for variable, items in alike.items():
        where = variable.where if len(env.fields) > 1 else variable.where[1:]
        plots = [item.plot for item, _ in items if item.plot is not None]
        cost = sum(price for _, price in items)
        yield Event(step, "looked", f"looked at {' '.join(where)} {variable.key}", "", plots=plots, cost=cost)
