"""Farm orders as three small numbers (what, where, how much), and their conversion to action-table numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector.utils import batch_space
from jax import Array

from harvestgym.core.errors import ConfigError, mismatch
from harvestgym.core.loading import group_pairs
from harvestgym.farm.engine.model import FarmModel

STOP = 0
"""The number of the order that ends a day's orders."""

NOWHERE = 0
"""The place of an order that is not for a single plot."""


@dataclass(frozen=True, eq=False)
class MapTable:
    """All orders on a farm: stop, then the observations to request, then each intervention by each farmer.

    Attributes:
        names: the name of each order.
        places: "no plot", and then each map cell, such as `Field-0 (1, 2)`.
        position: int (orders, places), the index of a place among the places of an order; -1 if the order has no such
        place.
        item: int (orders, places), the offered observation that is requested; -1 if there is none.
        first: int (orders,), the action-table number of an intervention's first variant; 0 for other orders.
        amounts: int (orders,), the number of amounts of an order: combinations of its parameters' values, the last
            varying fastest.
    """

    names: tuple[str, ...]
    places: tuple[str, ...]
    position: np.ndarray
    item: np.ndarray
    first: np.ndarray
    amounts: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of orders, places and amounts."""
        return (*self.position.shape, int(self.amounts.max()))

    @property
    def valid(self) -> dict[str, np.ndarray]:
        """The mask from the rules: "what" (orders,), "where" (orders, places), "amount" (orders, amounts)."""
        amount = np.arange(self.shape[2]) < self.amounts[:, None]
        return {"what": np.ones(len(self.names), bool), "where": self.position >= 0, "amount": amount}

    @cached_property
    def numbers(self) -> np.ndarray:
        """The action-table numbers, int32 (orders, places, amounts); 0 for stop, requests and invalid orders."""
        first, count, position = self.first[:, None, None], self.amounts[:, None, None], self.position[:, :, None]
        amount = np.arange(self.shape[2], dtype=np.int32)
        return np.where((first > 0) & (position >= 0) & (amount < count), first + position * count + amount, 0)

    def number(self, action: Any) -> Array:
        """Return the entry of `numbers` for an order, int32; 0 for an order that is not in the table."""
        what, where, amount = jnp.asarray(action, jnp.int32)
        return jnp.asarray(self.numbers).at[what, where, amount].get(mode="fill", fill_value=0)

    def request(self, action: Any) -> Array:
        """Return the index of the requested observation, int32; -1 for none."""
        what, where, amount = jnp.asarray(action, jnp.int32)
        return jnp.where(amount == 0, jnp.asarray(self.item)[what, where], -1).astype(jnp.int32)

    def order(self, number: Any) -> Array:
        """Return the order, int32 (3,), for a number in the action table; stop for 0."""
        number = jnp.asarray(number, jnp.int32)
        starts = np.append(np.int32(0), self.first[1 + self.requests :])  # of stop and of each intervention
        what = jnp.where(number > 0, (number >= starts).sum(dtype=jnp.int32) - 1 + self.requests, STOP)
        position, amount = jnp.divmod(number - jnp.asarray(self.first)[what], jnp.asarray(self.amounts)[what])
        where = jax.lax.argmax(jnp.asarray(self.position)[what] == position, 0, jnp.int32)
        return jnp.where(number > 0, jnp.stack([what, where, amount]), 0).astype(jnp.int32)

    def request_of(self, item: int) -> np.ndarray:
        """Return the order that requests an offered observation, int32 (3,)."""
        what, where = np.argwhere(self.item == item)[0]
        return np.asarray([what, where, 0], np.int32)

    @property
    def requests(self) -> int:
        """The number of orders that request an observation."""
        return int((self.item >= 0).any(1).sum())

    @property
    def interventions(self) -> np.ndarray:
        """Each intervention with each of its amounts, on each of its plots, int (n, 3)."""
        return np.argwhere(self.numbers)


def build_map_table(model: FarmModel) -> MapTable:
    """Make the table of a farm's orders from its action table and the observations that it offers."""
    cells = list(np.ndindex(plot_cells(model).shape))
    index = {cell: 1 + i for i, cell in enumerate(cells)}
    rows: list[tuple[str, dict[int, int], dict[int, int], int, int]] = [("stop", {NOWHERE: 0}, {}, 0, 1)]
    offered = group_pairs((item.variable.name, (i, item)) for i, item in enumerate(model.offered.items))
    for name, items in offered.items():
        at = {index[item.variable.field, *item.plot] if item.plot else NOWHERE: i for i, item in items}
        rows.append((f"request {name}", dict.fromkeys(at, 0), at, 0, 1))
    table = model.actions
    for farmer, number in table.assignments:
        row, who = table.rows[number], () if len(table.farmers) == 1 else (table.farmers[farmer],)
        at = {index[row.field, *p]: i for i, p in enumerate(row.plots)} if row.action.plot else {NOWHERE: 0}
        words = (*who, *row.names, row.action.name)
        rows.append(("/".join(words), at, {}, table.numbers(row, farmer).start, row.count // len(row.grids[0])))
    position, item = (np.full((len(rows), 1 + len(cells)), -1, np.int32) for _ in range(2))
    for r, (_, places, items, _, _) in enumerate(rows):
        position[r, list(places)] = list(places.values())
        item[r, list(items)] = list(items.values())
    places = ("no plot", *(f"{model.fields[f].name} ({x}, {y})" for f, x, y in cells))
    first, amounts = (np.asarray([row[i] for row in rows], np.int32) for i in (3, 4))
    return MapTable(tuple(row[0] for row in rows), places, position, item, first, amounts)


def plot_cells(model: FarmModel) -> np.ndarray:
    """Return which map cells are plots, bool (fields, X, Y); smaller fields are padded."""
    shapes = [field.shape for field in model.fields]
    cells = np.zeros((len(shapes), *np.max(shapes, axis=0)), bool)
    for f, (x, y) in enumerate(shapes):
        cells[f, :x, :y] = True
    return cells


class MapSpace(gymnasium.spaces.MultiDiscrete):
    """`MultiDiscrete` space over what, where and amount, whose samples are orders that the rules allow.

    `sample(mask=obs["mask"])` draws an order that is also possible now.
    """

    def __init__(self, table: MapTable, batch: tuple[int, ...] = (), seed: Any = None) -> None:
        self.table, self.batch = table, batch
        super().__init__(np.broadcast_to(np.asarray(table.shape), (*batch, 3)).copy(), seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw an order; `mask` is the mask in an observation."""
        if probability is not None:
            raise ConfigError("sample > probability: expected None; try mask=obs['mask']")
        rows = [self._draw(_row(mask, i)) for i in range(int(np.prod(self.batch, dtype=int)))]
        return np.asarray(rows, self.dtype).reshape(*self.batch, 3)

    def _draw(self, mask: Any) -> tuple[int, int, int]:
        mask = self.table.valid if mask is None else mask
        what = self.np_random.choice(np.flatnonzero(mask["what"]))
        where, amount = (self.np_random.choice(np.flatnonzero(mask[name][what])) for name in ("where", "amount"))
        return int(what), int(where), int(amount)


def _row(mask: Any, i: int) -> Any:
    """Return one row of a batch's mask; return a single environment's mask unchanged."""
    if mask is None or np.ndim(mask["what"]) == 1:
        return mask
    return {name: rows[i] for name, rows in mask.items()}


@batch_space.register(MapSpace)
def _batch(space: MapSpace, n: int = 1) -> MapSpace:
    return MapSpace(space.table, (n, *space.batch))


def explain_refusal(table: MapTable, mask: dict[str, np.ndarray], action: np.ndarray, name: str) -> ConfigError:
    """Return the error for the first part of an order that the mask forbids."""
    what, order = action[0], table.names[action[0]]
    names, places = ([f"{i}, {name}" for i, name in enumerate(each)] for each in (table.names, table.places))
    parts = (
        ("an order that is possible now", mask["what"], names),
        (f"a place of {order}", mask["where"][what], places),
        (f"an amount of {order}", mask["amount"][what], [str(amount) for amount in range(table.shape[2])]),
    )
    i = next(i for i, (_, allowed, _) in enumerate(parts) if not allowed[action[i]])
    expected, allowed, words = parts[i]
    possible = [words[number] for number in np.flatnonzero(allowed)]
    listed = "; ".join(possible[:6]) + "; …" * (len(possible) > 6)
    return mismatch(f"{name}[{i}]", expected, words[action[i]], f"one of: {listed}; nothing was changed")
