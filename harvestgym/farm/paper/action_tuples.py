"""The paper's action language (section 3.1): tuples, members of `MultiUnion[m]`, and arrays for compiled code.

In code, an action is a `Request` for an observation or an `Order` for an intervention. Each form can be converted to
these and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from harvestgym.core.errors import ConfigError, locate_errors, mismatch, require
from harvestgym.farm.engine.actions import ActionRow, Order
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import parameter_keys
from harvestgym.farm.learn.action_wrappers import ORDER_WIDTH
from harvestgym.farm.paper.observation_items import (
    Item,
    ItemReader,
    ObservationPath,
    is_free,
    listed_paths,
    make_item_reader,
    requestable_paths,
)
from harvestgym.farm.paper.spaces import MultiUnion

ACTION_FORM = "(farmer, field, entity, name, parameters)"
CACHED_ACTIONS = 4096
"""Maximum number of cached tuples: parsing one takes as long as simulating a day on a small farm."""


class Request(NamedTuple):
    """Request for an observation by a farmer."""

    farmer: int
    path: ObservationPath


FarmerAction = Request | Order


class Language:
    """The forms of a farm's actions and the items of its observations, with conversions between them."""

    def __init__(self, model: FarmModel) -> None:
        self.model, self.names = model, model.names
        self.paths = tuple(requestable_paths(model))
        self._requests = [
            Request(number, path)
            for number, farmer in enumerate(model.actions.farmers)
            for path in requestable_paths(model, farmer)
        ]
        self._rows = [(farmer, model.actions.rows[row]) for farmer, row in model.actions.assignments]
        self._parsed: dict[str, FarmerAction] = {}
        self.is_free = cache(partial(is_free, model=model))
        self.reader = cache(partial(make_item_reader, names=model.names, plan=model.full_plan))
        if not self._requests and not self._rows:
            raise mismatch("rules", "an action", "none", "an intervention or an observation in mode 'ao'")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the farm, because all other attributes are functions and caches."""
        return Language, (self.model,)

    # Members of the Gymnasium space.

    @cached_property
    def space(self) -> MultiUnion:
        """The space of gym actions: each farmer's observations, `Discrete(1)`, followed by the interventions."""
        each = [spaces.Discrete(1)] * len(self._requests) + [_row_space(row) for _, row in self._rows]
        return MultiUnion(each, self.model.schedule)

    def from_pair(self, pair: tuple[Any, Any]) -> FarmerAction:
        """Return the action for a pair (index of a space in the union, member of that space)."""
        number, member = int(pair[0]), pair[1]
        if number < len(self._requests):
            return self._requests[number]
        farmer, row = self._rows[number - len(self._requests)]
        plot = row.plots[int(member["plot"])] if row.action.plot else None
        values = [
            min(max(float(member[p.key]), p.range[0]), p.range[1]) if p.continuous else grid[int(member[p.key])]
            for p, grid in zip(row.allowed, row.grids[1:], strict=True)
        ]
        return Order(row, farmer, plot, tuple(values))

    def to_pair(self, action: FarmerAction) -> tuple[np.int64, Any]:
        """Return the pair for an action."""
        if isinstance(action, Request):
            require(action in self._requests, action.path.group, "a paid observation", "a free one", "removing it")
            return np.int64(self._requests.index(action)), np.int64(0)
        row = action.row
        number = np.int64(len(self._requests) + self.model.actions.assignments.index((action.farmer, row.number)))
        if not parameter_keys(row.action):
            return number, np.int64(0)
        member: dict[str, Any] = {} if action.plot is None else {"plot": np.int64(row.plots.index(action.plot))}
        for p, grid, value in zip(row.allowed, row.grids[1:], action.values, strict=True):
            nearest = np.int64(np.argmin(np.abs(np.asarray(grid) - value)))
            member[p.key] = np.asarray(value, np.float32) if p.continuous else nearest
        return number, {key: member[key] for key in sorted(member)}

    # The paper's tuples.

    def from_tuples(self, schedule: Any) -> list[FarmerAction]:
        """Return the actions for a list of tuples; raise ConfigError unless all are allowed."""
        if not isinstance(schedule, (list, tuple)) or (schedule and isinstance(schedule[0], str)):
            raise mismatch("", f"a list of actions {ACTION_FORM}", repr(schedule))
        most, hint = self.model.schedule, "a larger max_action_schedule_size in the rules"
        require(len(schedule) <= most, "schedule", f"at most {most} actions", len(schedule), hint)
        actions = []
        for i, written in enumerate(schedule):
            with locate_errors(f"schedule > {i}: "):
                actions.append(self.from_tuple(written))
        return actions

    def from_tuple(self, written: Any) -> FarmerAction:
        """Return the action for a tuple, cached by its spelling; raise ConfigError unless it is allowed."""
        key = repr(written)
        if key not in self._parsed:
            if len(self._parsed) == CACHED_ACTIONS:
                self._parsed.clear()
            self._parsed[key] = self._parse(written)
        return self._parsed[key]

    def _parse(self, written: Any) -> FarmerAction:
        require(isinstance(written, (tuple, list)) and len(written) == 5, "", ACTION_FORM, repr(written))
        farmer, field, entity, name, last = written
        if not isinstance(last, (Mapping, type(None), list, tuple, str)):
            raise mismatch("", "a dict of parameters or a path (a list)", repr(last))
        observes = isinstance(last, (list, tuple, str))
        try:
            if observes:
                return self._check_farmer(self.names.farmer(farmer), self._parse_path((field, entity, name, last)))
            return self.model.actions.parse(written)
        except ConfigError as error:
            raise ConfigError(f"{error}{self._hint((field, entity), name, observes)}") from None

    def _check_farmer(self, farmer: int, path: ObservationPath) -> Request:
        farmers, able = self.names.farmers, [who for who, each in self._requests if each == path]
        if able and farmer not in able:
            listed = ", ".join(farmers[who] for who in able)
            raise mismatch(path.group, f"one of the farmers {listed}", repr(farmers[farmer]))
        return Request(farmer, path)

    def _hint(self, where: tuple[Any, Any], name: Any, observes: bool) -> str:
        """Suggest a correction if an intervention has a path, or an observation has parameters."""
        slots = self.names.slots
        if where in slots and observes and name in {action.name for action in slots[where].kind.actions}:
            return "; it is an intervention, so try a dict of its parameters, {} if it has none"
        if where in slots and not observes and name in self.names.tree[where]:
            return "; it is an observation, so try its path as a list, [] for all of it"
        return ""

    def _parse_path(self, observation: tuple[Any, ...]) -> ObservationPath:
        path = ObservationPath.read(self.names, observation)
        if self.is_free(path):
            return path
        require(self.model.asks, path.group, "mode 'ao' for a request", repr(self.model.spec.mode))
        if path not in self.paths:
            *at, wrong = path.written
            near = [near for *name, near in (each.written for each in self.paths) if name == at]
            hint = f"one of {near[:8]}" if near else "another path: this one is free or not in the rules"
            raise mismatch(path.group, "an allowed path", wrong, hint)
        return path

    def to_tuple(self, action: FarmerAction) -> tuple[str, str, str, str, Any]:
        """Return the tuple for an action."""
        if isinstance(action, Order):
            return self.model.actions.write(action)
        return (self.model.actions.farmers[action.farmer], *action.path.written)

    # Arrays for compiled code.

    def to_array(self, actions: Iterable[FarmerAction]) -> np.ndarray:
        """Convert actions to the input of `ScheduleActions`, int32 (schedule slots, 4 + parameters)."""
        array = np.zeros((self.model.schedule, ORDER_WIDTH + self.model.actions.width), np.int32)
        array[:, 2:ORDER_WIDTH] = -1  # the whole field
        for row, numbers, action in zip(array, array.view(np.float32), actions, strict=False):
            if isinstance(action, Order):
                what, plot, values = 1 + action.row.number, action.plot, action.values
            else:
                group = list(self.model.requests.groups).index(action.path.group)
                what, plot, values = -1 - group, action.path.plot, ()
            row[:ORDER_WIDTH] = (what, action.farmer, *(plot or (-1, -1)))
            numbers[ORDER_WIDTH : ORDER_WIDTH + len(values)] = values
        return array

    # Observations.

    def item(self, path: ObservationPath, obs: Any) -> Item:
        """Return the item that a path selects from an observation."""
        return self.reader((path,))(obs)[0]

    @cached_property
    def free_items(self) -> ItemReader:
        """The reader of the items observed without a request: the free observations, or all of them in mode "fo"."""
        free = listed_paths(self.names, self.model.spec.rules.free_observations)
        if self.model.spec.mode == "fo":
            free = [ObservationPath(where, key, None) for where, tree in self.names.tree.items() for key in tree]
        return self.reader(tuple(free))


def _row_space(row: ActionRow) -> spaces.Space[Any]:
    """Return the space of an intervention's parameters; `Discrete(1)` if it has none."""
    if not parameter_keys(row.action):
        return spaces.Discrete(1)
    inside: dict[str, spaces.Space[Any]] = {"plot": spaces.Discrete(len(row.plots))} if row.action.plot else {}
    for p in row.allowed:
        box = spaces.Box(p.range[0], p.range[1], (), np.float32)
        inside[p.key] = box if p.continuous else spaces.Discrete(len(p.choices))
    return spaces.Dict(inside)
