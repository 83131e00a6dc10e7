"""Objects put into a world: layers that cost nothing, and single objects with a place of their own."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from functools import partial

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.kinds import Factory, ForagerObject, Kind, Place
from harvestgym.forager.observations import PICTURES
from harvestgym.forager.world import EMPTY, count_of

from . import dynamics, lookup, step, view
from .arrays import AT, AWAY, DUE, HOME, STANDING, STATE, USED, VACANT, WHAT, WHERE, grown, region_tables
from .inspection import Reading


class Placing(Reading):
    """A life into which objects can be put, before it begins and later."""

    _factories: dict[str, Factory | Kind]
    _placed: list[tuple[int, tuple[int, int]]]
    _advance: Callable[..., int]
    _started: bool

    def generate_objects(self, freq: float, name: str) -> None:
        """Put floor(freq * cells) objects of a kind on free cells, never under the agent; at once in any world."""
        kind = self.world.index(name)
        place = self._own_place(name)
        ground = self.world.regions[0]
        count = count_of(freq, self.world.room(ground), ground.cells)
        if place is not None:
            self._place(kind, place, count)
            return
        layered = dataclasses.replace(ground, layers=(*ground.layers, (kind, count)))
        self.world = dataclasses.replace(self.world, regions=(layered, *self.world.regions[1:]))
        self._life = self._life._replace(layers=region_tables(self.world)[1])
        if self._started:
            self._make_way(kind)
            self._bind()
            view.refresh(self._life)

    def _own_place(self, name: str) -> tuple[int, int] | None:
        made = self._factories.get(name)
        if isinstance(made, Kind) or made is None:
            return None
        place = made().target_location
        return None if place is None else self._cell(place, name)

    def _place(self, kind: int, place: tuple[int, int], count: int) -> None:
        if count > self.config.capacity:
            raise ConfigError(f"{count} objects have a place of their own, capacity is {self.config.capacity}")
        new = [(kind, place)] * count
        self._placed += new
        if self._started:
            self._add(new)
            dynamics.come_back(self._life)
            self._bind()

    def _add(self, placed: list[tuple[int, tuple[int, int]]]) -> None:
        """Let objects with a place of their own come to it as soon as it is free."""
        first = -2 - sum(thing < 0 for thing in self._things)
        for i, (kind, place) in enumerate(placed):
            self._things[first - i] = self._make(kind, place)
            self._insert(first - i, kind, place[0] + place[1] * self.world.width)

    def _insert(self, home: int, kind: int, cell: int) -> None:
        """A slot for an object that is away and due now."""
        while self._life.head[USED] >= len(self._life.slots):
            self._life = grown(self._life, 2 * len(self._life.slots))
        slots = self._life.slots
        row = int(np.flatnonzero(slots[:, STATE] == VACANT)[0])
        slots[row, [HOME, AT, DUE, WHAT, STATE]] = home, cell, self.clock, kind, AWAY
        slots[row, WHERE] = Place.FIXED
        lookup.rebuild(self._life)

    def _make_way(self, kind: int) -> None:
        """Where a new layer meets an agent or an object that moved, its own object waits for the cell."""
        slots = self._life.slots
        here = self.position[0] + self.position[1] * self.world.width
        taken = {here, *slots[slots[:, STATE] == STANDING, AT].tolist()}
        emptied = set(slots[slots[:, STATE] != VACANT, HOME].tolist())
        for cell in taken - emptied:
            x, y = cell % self.world.width, cell // self.world.width
            if lookup.base(self._life.regions, self._life.layers, x, y) != EMPTY:
                self._insert(cell, kind, cell)

    def _make(self, kind: int, place: tuple[int, int]) -> ForagerObject:
        name = self.world.kinds[kind].name
        factory = self._factories[name]
        thing = factory() if not isinstance(factory, Kind) else ForagerObject()
        thing.name, thing.current_location = name, place
        return thing

    def _cell(self, place: tuple[int, int], name: str) -> tuple[int, int]:
        x, y = (operator.index(v) for v in place)
        if not (0 <= x < self.world.width and 0 <= y < self.world.height):
            raise ConfigError(f"{name!r}: target_location {place} is outside the world; use 0 <= x < "
                              f"{self.world.width}, 0 <= y < {self.world.height}")  # fmt: skip
        return x, y

    def _bind(self) -> None:
        self._advance = partial(step.step, *self._life)
        later = any(kind.pays_after for kind in self.world.kinds)
        self._plain = self._mode in PICTURES and not self.config.hint[0] and not later
