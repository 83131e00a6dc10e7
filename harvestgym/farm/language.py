"""The language of section 3.1: farm-gym tuples, gym actions of `MultiUnion[m]`, and the arrays of compiled code.

A `Move` is one observation or intervention, behind all three spellings. Observations are told as items
`(field, entity, name, path, value)`; what was not seen is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from ..core.errors import ConfigError
from ..core.spaces import MultiUnion
from ..core.tree import Meta
from .actions import Choice, Orders, Row
from .active import ActiveFarm
from .layout import Variable
from .model import FarmModel
from .names import Names, Ref

Tuple5 = tuple[str, str, str, str, Any]
Item = tuple[str, str, str, list[Any], Any]
Reader = Callable[[np.ndarray, np.ndarray | None], Any]
"""From the values and the mask of an observation to what is told of an ask."""


class Ask(NamedTuple):
    """An observation that can be asked for: its spelling, the group of variables and the plot (None for all)."""

    where: tuple[str, str]
    name: str
    path: tuple[Any, ...]

    @classmethod
    def of(cls, ref: Ref) -> Ask:
        """The ask of `(field, entity, name, path)` in its one spelling."""
        return cls((ref[0], ref[1]), ref[2], tuple(ref[3]))

    @property
    def group(self) -> str:
        """The name of its group of variables in `AskTable.groups`."""
        return "/".join((*self.where, self.name, *(s for s in self.path if isinstance(s, str))))

    @property
    def plot(self) -> tuple[int, int] | None:
        """The plot that is asked about; None for all."""
        return next((s for s in self.path if not isinstance(s, str)), None)


class Move(NamedTuple):
    """One observation (`what` is an Ask), or one intervention (a row number, with its plot and values)."""

    farmer: int
    what: Ask | int
    plot: tuple[int, int] | None = None
    values: tuple[float, ...] = ()


def every_ask(names: Names) -> list[Ask]:
    """Every variable and every group of them, whole, and each on each plot."""
    out: list[Ask] = []
    for where, tree in names.tree.items():
        shape = next(f.shape for f in names.fields if f.name == where[0])
        out += [Ask(where, path[0], path[1:]) for path in _paths(tree, shape)]
    return out


def _paths(tree: Mapping[str, Any], shape: tuple[int, int]) -> Iterable[tuple[Any, ...]]:
    for key, below in tree.items():
        yield (key,)
        if isinstance(below, Variable):
            yield from ((key, plot) for plot in np.ndindex(shape) if below.per_plot)
        else:
            yield from ((key, *rest) for rest in _paths(below, shape))


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
        self._readers: dict[Ask, Reader] = {}
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
        if not _wanted(row):
            return at, np.int64(0)
        member: dict[str, Any] = {"plot": np.int64(row.plots.index(move.plot))} if move.plot is not None else {}
        for p, grid, value in zip(row.allowed, row.grids[1:], move.values, strict=True):
            near = np.int64(np.argmin(np.abs(np.asarray(grid) - value)))
            member[p.key] = np.asarray(value, np.float32) if p.continuous else near
        return at, {key: member[key] for key in sorted(member)}

    def from_tuple(self, action: Any, where: str = "") -> Move:
        """The move of a farm-gym tuple; ConfigError unless it is one of those allowed."""
        if not isinstance(action, (tuple, list)) or len(action) != 5:
            raise ConfigError(f"{where}wanted (farmer, field, entity, name, parameters), found {action!r}")
        farmer, field, entity, name, parameters = action
        who, at = self.names.farmer(farmer), self.names.entity(field, entity, "")
        if isinstance(parameters, (list, tuple, str)):
            return Move(who, self._asked((*self.names.where(at), name, parameters)))
        if not isinstance(parameters, (Mapping, type(None))):
            raise ConfigError(f"{where}wanted a dict of parameters, or a list that is a path, found {parameters!r}")
        table, mine = self.model.actions, self.names.where(at)
        known = self.names.action(at, name, " > ".join(mine))
        row = table.row(*at, known.name)
        given = self.names.parameters(known, parameters or {}, " > ".join((*mine, known.name)))
        choice = table.parse((table.farmers[who], *mine, known.name, given))
        return Move(who, table.rows.index(row), choice.plot, choice.values)

    def _asked(self, observation: tuple[Any, ...]) -> Ask:
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
        return [self.from_tuple(action, f"schedule > {i}: ") for i, action in enumerate(actions)]

    def sheet(self, moves: Iterable[Move]) -> Any:
        """Moves as the model takes them: `Orders`, with `Asks` where observations are asked for."""
        moves = list(moves)
        orders = self._orders([move for move in moves if not isinstance(move.what, Ask)])
        if not isinstance(self.model, ActiveFarm):
            return orders
        asked = [(move.farmer, move.what.group, move.what.plot) for move in moves if isinstance(move.what, Ask)]
        return {"request": self.model.asking.asks(asked, self.model.schedule), "order": orders}

    def _orders(self, moves: Sequence[Move]) -> Any:
        size = self.model.schedule
        kind, farmer = np.zeros(size, np.int32), np.zeros(size, np.int32)
        plot, values = np.full((size, 2), -1, np.int32), np.zeros((size, self.model.actions.width), np.float32)
        for i, (who, row, at, numbers) in enumerate(moves):
            kind[i], farmer[i], values[i, : len(numbers)] = 1 + row, who, numbers  # type: ignore[operator]
            plot[i] = (-1, -1) if at is None else at
        return Orders(kind, farmer, plot, values)  # type: ignore[arg-type]

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

    def item(self, ask: Ask, obs: Any) -> Item:
        """What is seen of an ask in an observation; None where it is not."""
        values, mask = (obs["values"], obs["mask"]) if isinstance(obs, dict) else (obs, None)
        return (*ask.where, ask.name, list(ask.path), self._reader(ask)(values, mask))

    def _reader(self, ask: Ask) -> Reader:
        """What reads an ask, made once: a day of an open farm tells each of its variables."""
        reader = self._readers.get(ask)
        if reader is None:
            found: Any = self.names.tree[ask.where][ask.name]
            for step in ask.path:
                found = found[step] if isinstance(step, str) else found
            reader = self._readers[ask] = self._reads(found, ask.plot)
        return reader

    def _reads(self, found: Any, plot: tuple[int, int] | None) -> Reader:
        if not isinstance(found, Variable):
            below = {key: self._reads(part, plot) for key, part in found.items()}
            return lambda values, mask: {key: read(values, mask) for key, read in below.items()}
        places = self._places[found.name]
        at = places if plot is None else places[(..., *plot)]
        if (at < 0).any():
            return lambda values, mask: None
        return _one(int(at), found.meta) if at.ndim == 0 else _many(at, found.meta)


def _one(at: int, meta: Meta) -> Reader:
    """A number of an observation as people read it: a word for a label, a whole number for a count."""
    kind = meta.labels.__getitem__ if meta.labels else {"float": float, "int": int, "bool": bool}[meta.dtype]
    cast: Any = (lambda number: kind(int(number))) if meta.labels else kind
    return lambda values, mask: None if mask is not None and mask.item(at) <= 0 else cast(values.item(at))


def _many(at: np.ndarray, meta: Meta) -> Reader:
    """As `_one`, of several numbers."""
    words, shape = np.asarray(meta.labels), at.shape
    kind = {"float": np.float32, "int": np.int32, "bool": np.bool_}[meta.dtype]
    first = int(at.flat[0])
    row = np.array_equal(at.ravel(), np.arange(first, first + at.size))
    where: Any = slice(first, first + at.size) if row else at.ravel()  # a slice is read several times as fast

    def read(values: np.ndarray, mask: np.ndarray | None) -> Any:
        if mask is not None and (mask[where] <= 0).any():
            return None
        seen = values[where].reshape(shape)
        return words[seen.astype(int)] if meta.labels else seen.astype(kind)

    return read


def _wanted(row: Row) -> bool:
    return bool(row.allowed) or row.action.plot


def _row_space(row: Row) -> spaces.Space[Any]:
    """The parameters of an intervention; `Discrete(1)` for one that has none."""
    if not _wanted(row):
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
