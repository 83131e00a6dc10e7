"""The language of section 3.1: farm-gym tuples, gym actions of `MultiUnion[m]`, and the arrays of compiled code.

A `Move` is one observation or intervention, behind all three spellings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from harvestgym.core.errors import ConfigError
from harvestgym.core.spaces import MultiUnion
from harvestgym.farm.config.names import Names, keys_of
from harvestgym.farm.engine.actions import ActionRow, Choice
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable

from .action_wrappers import HEAD
from .observation_items import Ask, Item, Telling

Tuple5 = tuple[str, str, str, str, Any]

MANY = 4096
"""Spellings that are remembered: to understand one takes as long as the day of a small farm."""


class Move(NamedTuple):
    """One observation (`what` is an Ask), or one intervention (a row number, with its plot and values)."""

    farmer: int
    what: Ask | int
    plot: tuple[int, int] | None = None
    values: tuple[float, ...] = ()


class Language:
    """The three spellings of the actions of a farm, and the list form of what is seen.

    Args:
        model: the farm.
        asks: what may be asked for; nothing where observations are no actions.
    """

    def __init__(self, model: FarmModel, asks: Sequence[Ask]) -> None:
        self.model, self.asks = model, tuple(asks)
        self.names = Names(model.actions.farmers, model.fields, model.variables)
        farmers, rows = range(len(model.actions.farmers)), range(len(model.actions.rows))
        self._moves: Sequence[tuple[int, Ask | int]] = [
            *((f, ask) for f in farmers for ask in self.asks), *((f, row) for f in farmers for row in rows)
        ]  # fmt: skip
        self._index: dict[tuple[int, Ask | int], int] = {move: i for i, move in enumerate(self._moves)}
        self._tellings: dict[Ask, Telling] = {}
        self._known: dict[str, Move] = {}
        if not self._moves:
            raise ConfigError("the farm has no action: allow an intervention, or an observation in mode 'ao'")

    @cached_property
    def space(self) -> MultiUnion:
        """The gym actions: for each farmer the observations, `Discrete(1)`, and then the interventions."""
        look, rows = spaces.Discrete(1), [_row_space(row) for row in self.model.actions.rows]
        each = [look if isinstance(what, Ask) else rows[what] for _, what in self._moves]
        return MultiUnion(each, self.model.schedule)

    def from_pair(self, pair: tuple[Any, Any]) -> Move:
        """The move of a member of the union."""
        farmer, what = self._moves[int(pair[0])]
        if isinstance(what, Ask):
            return Move(farmer, what)
        row, member = self.model.actions.rows[what], pair[1]
        plot = row.plots[int(member["plot"])] if row.action.plot else None
        values = [
            min(max(float(member[p.key]), p.range[0]), p.range[1]) if p.continuous else grid[int(member[p.key])]
            for p, grid in zip(row.allowed, row.grids[1:], strict=True)
        ]
        return Move(farmer, what, plot, tuple(values))

    def to_pair(self, move: Move) -> tuple[np.int64, Any]:
        """The member of the union that a move is."""
        at = np.int64(self._index[move.farmer, move.what])
        if isinstance(move.what, Ask):
            return at, np.int64(0)
        row = self.model.actions.rows[move.what]
        if not keys_of(row.action):
            return at, np.int64(0)
        member: dict[str, Any] = {"plot": np.int64(row.plots.index(move.plot))} if move.plot is not None else {}
        for p, grid, value in zip(row.allowed, row.grids[1:], move.values, strict=True):
            near = np.int64(np.argmin(np.abs(np.asarray(grid) - value)))
            member[p.key] = np.asarray(value, np.float32) if p.continuous else near
        return at, {key: member[key] for key in sorted(member)}

    def from_tuple(self, action: Any) -> Move:
        """The move of a farm-gym tuple, remembered by how it was written; ConfigError unless it is allowed."""
        written = repr(action)
        if written not in self._known:
            if len(self._known) == MANY:
                self._known.clear()
            self._known[written] = self._move(action)
        return self._known[written]

    def _move(self, action: Any) -> Move:
        if not isinstance(action, (tuple, list)) or len(action) != 5:
            raise ConfigError(f"wanted (farmer, field, entity, name, parameters), found {action!r}")
        farmer, field, entity, name, last = action
        if not isinstance(last, (Mapping, type(None), list, tuple, str)):
            raise ConfigError(f"wanted a dict of parameters, or a list that is a path, found {last!r}")
        path = isinstance(last, (list, tuple, str))
        try:
            if path:
                return Move(self.names.farmer(farmer), self._ask((field, entity, name, last)))
            number, choice = self.model.actions.read(action)
            return Move(choice.farmer, number, choice.plot, choice.values)
        except ConfigError as error:
            raise ConfigError(f"{error}{self._mixed_up((field, entity), name, path)}") from None

    def _mixed_up(self, where: tuple[Any, Any], name: Any, path: bool) -> str:
        """What to write instead, where an intervention was given a path or an observation parameters."""
        slots = {(f.name, slot.name): slot for f in self.names.fields for slot in f.slots}
        if where in slots and path and name in {action.name for action in slots[where].kind.actions}:
            return "; it is an intervention: write its parameters as a dict, {} if it has none"
        if where in slots and not path and name in self.names.tree[where]:
            return "; it is an observation: write its path as a list, [] for the whole"
        return ""

    def _ask(self, observation: tuple[Any, ...]) -> Ask:
        ask = Ask.of(self.names.ref(observation))
        if not isinstance(self.model, ActiveFarm):
            raise ConfigError(f"{ask.group}: observations are given, not asked for, in mode {self.model.spec.mode!r}")
        if ask not in self._allowed:
            near = [list(a.path) for a in self.asks if (a.where, a.name) == (ask.where, ask.name)]
            told = f"; allowed paths: {near[:8]}" if near else "; it is free, or the rules leave it out"
            raise ConfigError(f"{ask.group}: cannot be asked for with the path {list(ask.path)}{told}")
        return ask

    @cached_property
    def _allowed(self) -> frozenset[Ask]:
        return frozenset(self.asks)

    def to_tuple(self, move: Move) -> Tuple5:
        """The farm-gym tuple of a move."""
        table = self.model.actions
        if isinstance(move.what, Ask):
            return (table.farmers[move.farmer], *move.what.where, move.what.name, list(move.what.path))
        told = table.tuple(Choice(table.rows[move.what], move.farmer, move.plot, move.values))
        assert told is not None, "a move is never nothing"
        return told

    def schedule(self, actions: Any) -> list[Move]:
        """The moves of a list of farm-gym tuples."""
        if not isinstance(actions, (list, tuple)) or (actions and isinstance(actions[0], str)):
            raise ConfigError(f"wanted a list of actions (farmer, field, entity, name, parameters), found {actions!r}")
        if len(actions) > self.model.schedule:
            raise ConfigError(
                f"the schedule holds {len(actions)} actions; at most {self.model.schedule} are allowed "
                "(max_action_schedule_size in the rules)"
            )
        return [self._told(action, i) for i, action in enumerate(actions)]

    def _told(self, action: Any, at: int) -> Move:
        try:
            return self.from_tuple(action)
        except ConfigError as error:
            raise ConfigError(f"schedule > {at}: {error}") from None

    def sheet(self, moves: Iterable[Move]) -> np.ndarray:
        """Moves as `faces.Listed` takes them, int32 (places of the schedule, 4 + parameters)."""
        sheet = self._blank.copy()
        for row, numbers, move in zip(sheet, sheet.view(np.float32), moves, strict=False):
            if isinstance(move.what, Ask):
                what, plot = -1 - self._groups[move.what.group], move.what.plot
            else:
                what, plot = 1 + move.what, move.plot
            row[:HEAD] = (what, move.farmer, *(plot or (-1, -1)))
            numbers[HEAD : HEAD + len(move.values)] = move.values
        return sheet

    @cached_property
    def _blank(self) -> np.ndarray:
        """The sheet of no moves."""
        sheet = np.zeros((self.model.schedule, HEAD + self.model.actions.width), np.int32)
        sheet[:, 2:HEAD] = -1
        return sheet

    @cached_property
    def _groups(self) -> dict[str, int]:
        """The number of each group of variables that can be asked for."""
        groups = self.model.asking.groups if isinstance(self.model, ActiveFarm) else ()
        return {name: number for number, name in enumerate(groups)}

    @cached_property
    def _places(self) -> dict[str, np.ndarray]:
        """Where each variable stands in the observation, -1 where it does not, by the name of the variable."""
        looks = self.model.plan.looks + (self.model.offered.looks if isinstance(self.model, ActiveFarm) else ())
        out = {v.name: np.full(v.shape, -1) for v in self.model.variables}
        starts = np.cumsum([0, *(look.size for look in looks)])
        for look, start in reversed(list(zip(looks, starts, strict=False))):
            at = ... if look.plot is None else (..., *look.plot)
            out[look.variable.name][at] = np.arange(start, start + look.size).reshape(out[look.variable.name][at].shape)
        return out

    def telling(self, asks: Sequence[Ask]) -> Telling:
        """What tells some asks of any observation, to be made once."""
        return Telling(asks, self.names, self._places)

    def item(self, ask: Ask, obs: Any) -> Item:
        """What is seen of an ask in an observation; None where it is not."""
        if ask not in self._tellings:
            self._tellings[ask] = self.telling([ask])
        return self._tellings[ask](obs)[0]


def _row_space(row: ActionRow) -> spaces.Space[Any]:
    """The parameters of an intervention; `Discrete(1)` for one that has none."""
    if not keys_of(row.action):
        return spaces.Discrete(1)
    inside: dict[str, spaces.Space[Any]] = {"plot": spaces.Discrete(len(row.plots))} if row.action.plot else {}
    for p in row.allowed:
        box = spaces.Box(p.range[0], p.range[1], (), np.float32)
        inside[p.key] = box if p.continuous else spaces.Discrete(len(p.choices))
    return spaces.Dict(inside)


def state_space(names: Names) -> spaces.Tuple:
    """A component for each variable of each entity of each field; a `Dict` for one that has parts."""
    return spaces.Tuple([_space(below) for tree in names.tree.values() for below in tree.values()])


def _space(found: Any) -> spaces.Space[Any]:
    if not isinstance(found, Variable):
        return spaces.Dict({key: _space(below) for key, below in found.items()})
    meta = found.meta
    if not found.shape and (meta.labels or meta.dtype == "bool"):
        return spaces.Discrete(len(meta.labels) or 2)
    return spaces.Box(meta.low, meta.high, found.shape, np.float32 if meta.dtype == "float" else np.int32)


def state_of(names: Names, read: Mapping[str, Any]) -> tuple[Any, ...]:
    """The member of `state_space` that a state is; `read` has the array of each variable by name."""

    def part(found: Any) -> Any:
        if not isinstance(found, Variable):
            return {key: part(below) for key, below in found.items()}
        dtype = np.float32 if found.meta.dtype == "float" else np.int32
        array = np.asarray(read[found.name]).astype(dtype)
        plain = not found.shape and (found.meta.labels or found.meta.dtype == "bool")
        return np.int64(array) if plain else array

    return tuple(part(below) for tree in names.tree.values() for below in tree.values())
