"""Placement of objects in an episode: layers, which take no memory, and single objects with target locations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from harvestgym.core.errors import mismatch, require
from harvestgym.forager.config import ForagerConfig
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import dynamics, step, view
from harvestgym.forager.host_engine.cells import grow_arrays, rebuild_index
from harvestgym.forager.host_engine.episode_view import ReadableEpisode
from harvestgym.forager.object_kinds import ForagerObject, Kind, ReturnPlace, ring_length
from harvestgym.forager.world import AWAY, EMPTY, STANDING, VACANT, World, check_cell, count_objects

PlacedObject = tuple[ForagerObject, type[ForagerObject] | None, dict[str, Any]]
"""A single object, its class unless it is the one in `object_types`, and its initial attributes."""


class EditableEpisode(ReadableEpisode):
    """An episode to which objects can be added, before and after its start."""

    def __init__(self, config: ForagerConfig, world: World | None = None) -> None:
        super().__init__(config, world)
        self._placed: list[PlacedObject] = []

    def generate_objects(self, freq: float, name: str) -> None:
        """Place floor(freq * cells) objects of a kind on free cells, never under the agent, in constant time."""
        kind = self.world.index(name)
        ground = self.world.regions[0]
        count = count_objects(freq, ground.count_room(self.world.start), ground.cells)
        if self._make(kind, None).target_location is not None:
            self._place([self._make(kind, None) for _ in range(count)])
            return
        layered = dataclasses.replace(ground, layers=(*ground.layers, (kind, count)))
        self.world = dataclasses.replace(self.world, regions=(layered, *self.world.regions[1:]))
        self.arrays = self.arrays._replace(layers=col.region_tables(self.world)[1])
        if self._started:
            self._make_way(kind)
            self._bind()
            view.refresh(self.arrays)

    def add_object(self, thing: ForagerObject) -> None:
        """Put one object with a declared name on its `target_location`, or on a random free cell if it has none.

        The object itself is in the world: its own methods and counters are used. If the cell is occupied, it appears
        when the cell is free. At each start it is placed again, with its present attributes.
        """
        require(isinstance(thing, ForagerObject), "add_object", "a ForagerObject", repr(thing))
        cls = type(thing)
        self._place([thing], None if self.config.object_types.get(thing.name) is cls else cls)

    def _place(self, things: Sequence[ForagerObject], cls: type[ForagerObject] | None = None) -> None:
        count = len(self._placed) + len(things)
        if count > self.config.capacity:
            expected = f"at least {count}, one for each object with its own target location"
            raise mismatch("capacity", expected, self.config.capacity)
        for thing in things:
            self._check_object(thing)
        for thing in things:
            thing.current_location = thing.target_location
        new = [(thing, cls, dict(vars(thing))) for thing in things]
        self._placed += new
        if self._started:
            self._insert_all(new)
            self._settle()

    def _check_object(self, thing: ForagerObject) -> None:
        if thing.target_location is not None:
            self._check_cell(thing.target_location, thing.name)
        kind = self.world.kinds[self.world.index(thing.name)]
        own, common = ({"blocking": one.blocking, "collectable": one.collectable} for one in (thing, kind))
        require(own == common, "add_object", f"{common}, as for each {thing.name!r}", own, "another name")

    def _insert_all(self, placed: Sequence[PlacedObject]) -> None:
        """Add objects that appear at their target locations as soon as these are free."""
        first = -2 - sum(home < 0 for home in self._things)
        for i, (thing, _, attributes) in enumerate(placed):
            self._things[first - i] = thing
            vars(thing).clear()
            vars(thing).update(attributes)
            self._insert(first - i, self.world.index(thing.name), thing.target_location)

    def _settle(self) -> None:
        """Let new objects appear in their cells."""
        dynamics.return_objects(self.arrays)
        self._bind()
        slots, width = self.arrays.slots, self.world.width
        for row in slots[(slots[:, col.HOME] < -1) & (slots[:, col.STATE] == STANDING)].tolist():
            self._things[row[col.HOME]].current_location = row[col.AT] % width, row[col.AT] // width

    def _insert(self, home: int, kind: int, target: tuple[int, int] | None) -> None:
        """Fill a slot with an absent object that is due now, in a given cell or anywhere."""
        cell = None if target is None else target[0] + target[1] * self.world.width
        while self.arrays.head[col.USED] >= len(self.arrays.slots):
            self.arrays = grow_arrays(self.arrays, 2 * len(self.arrays.slots))
        slots = self.arrays.slots
        row = int(np.flatnonzero(slots[:, col.STATE] == VACANT)[0])
        slots[row, [col.HOME, col.AT, col.DUE, col.WHAT, col.STATE]] = home, cell or 0, self.clock, kind, AWAY
        slots[row, col.WHERE] = ReturnPlace.ANYWHERE if cell is None else ReturnPlace.FIXED
        slots[row, col.BORN] = -home
        rebuild_index(self.arrays)

    def _make_way(self, kind: int) -> None:
        """Delay the appearance of a layer's object if its cell holds the agent or an object that moved."""
        slots, width = self.arrays.slots, self.world.width
        here = self.position[0] + self.position[1] * width
        taken = {here, *slots[slots[:, col.STATE] == STANDING, col.AT].tolist()}
        emptied = set(slots[slots[:, col.STATE] != VACANT, col.HOME].tolist())
        for cell in taken - emptied:
            place = cell % width, cell // width
            if self.generated_kind_at(*place) != EMPTY:
                self._insert(cell, kind, place)

    def _make(self, kind: int, location: tuple[int, int] | None) -> ForagerObject:
        name = self.world.kinds[kind].name
        factory = self.config.object_types[name]
        thing = factory() if not isinstance(factory, Kind) else ForagerObject()
        thing.name, thing.current_location = name, location
        return thing

    def _check_cell(self, location: tuple[int, int], name: str) -> tuple[int, int]:
        return check_cell(location, self.world.width, self.world.height, f"target_location of {name!r}")

    def _bind(self) -> None:
        """Bind the compiled step to the arrays."""
        self._advance = partial(step.step, *self.arrays)
        at_once = ring_length(self.world.kinds) == 1
        self._plain = self._mode.is_picture and not self.config.hint[0] and at_once
