"""The stateful forager with the interface of the Forager package: `start()`, then `step(action)` indefinitely.

The compiled host engine runs the world; if an object overrides `reward` or `regen_delay`, these methods are called when
the agent hits it. They use separate random streams, so they do not change the map. Without numba, the same code runs as
plain Python, about a hundred times slower.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.forager.config import ForagerConfig, Observation, TranslatedConfig
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import collisions, dynamics, lookup, step, view
from harvestgym.forager.host_engine.editable_episode import EditableEpisode
from harvestgym.forager.host_engine.rewards import DelayedRewards, HostContext, check_reward, draw_reward
from harvestgym.forager.object_kinds import MAX_DELAY, ForagerObject, ReturnPlace
from harvestgym.forager.world import EMPTY, World

_KEPT = ("_words", "_started", "_placed", "_tints", "met", "reward_rng", "delay_rng")
"""Attributes that are saved, other than the arrays, objects and pending rewards."""

_KEPT_ARRAYS = ("head", "regions", "agents", "slots")
"""The arrays that cannot be recomputed from the others."""

_CHANGING = ("_placed", "_things", "_tints", "_delayed", "reward_rng", "delay_rng")
"""Attributes that change during an episode, other than the arrays and plain values."""


WARNED_OBJECTS = 1024
"""Number of changed objects below which no memory warning is needed."""


def check_action(action: Any) -> int:
    """Return an action as 0-3; ConfigError for anything else."""
    try:
        whole = int(action)
    except (TypeError, ValueError):
        whole = -1
    if not 0 <= whole <= 3 or whole != action:
        raise ConfigError(f"action: expected 0 (north), 1 (east), 2 (south) or 3 (west), got {action!r}")
    return whole


def check_delay(delay: Any, name: str) -> int | None:
    """Return a delay as a whole number of steps, or None for never; ConfigError for anything else."""
    if delay is None:
        return None
    whole = int(delay) if isinstance(delay, int | float | np.number) and math.isfinite(delay) else -1
    if whole != delay or not 0 <= whole <= MAX_DELAY:
        expected = "whole steps from 0 to 2^30, or None for never"
        raise ConfigError(f"regen_delay of {name!r}: expected {expected}, got {delay!r}")
    return whole


class ForagerEnv(EditableEpisode):
    """An endless world with one agent; episodes never terminate."""

    @check_arguments
    def __init__(self, config: ForagerConfig, world: World | None = None) -> None:
        super().__init__(config, world)
        self._constants = [kind.constant for kind in self.world.kinds]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.world.summary}; {self.config.observation_mode} in view>"

    # -- stepping --------------------------------------------------------------------------------------------

    def start(self, seed: int | tuple[int, int] | None = None) -> Observation:
        """Start again in the same world, or in a new one if `seed` is given; return the first observation."""
        if seed is not None:
            self.reseed(seed)
        self._forget()
        step.begin(self.arrays, *self._words, *self.world.start)
        self._started = True
        self._insert_all(self._placed)
        dynamics.return_objects(self.arrays)
        self._bind()
        return self.observe()

    def reseed(self, seed: int | tuple[int, int]) -> None:
        """Set the seed for the next start."""
        self._words = seed_words(seed)

    def _forget(self) -> None:
        super()._forget()
        self._delayed = DelayedRewards(self.world.kinds, len(self.arrays.agents))
        self.reward_rng = np.random.default_rng([*self._words, 1])
        self.delay_rng = np.random.default_rng([*self._words, 2])

    def step(self, action: int) -> tuple[Observation, float]:
        """Go north (0), east (1), south (2) or west (3); return the next observation and the reward."""
        if action.__class__ is not int or action < 0 or action > 3:
            action = check_action(action)
        cells = np.empty(self._shape, np.uint8)
        self.met = kind = self._advance(action, cells)
        reward = 0.0
        if kind >= 0:
            reward = self._find_reward(kind)
            if self.arrays.head[col.USED] >= len(self.arrays.slots):
                self._grow()
        if not self._plain or self._tints:
            hits, clocks = np.array([kind]), np.array([self.clock - 1])
            due = self._delayed.settle(hits, clocks, np.array([reward]))
            return self._observe_cells(cells), float(due[0])
        return cells.view(self._table.dtype), reward

    def _grow(self) -> None:
        if self.arrays.head[col.USED] < self.arrays.head[col.BOUND]:
            self.arrays = lookup.grow_arrays(self.arrays, 2 * len(self.arrays.slots))
            self._bind()
            self._warn_of_capacity()

    def _warn_of_capacity(self) -> None:
        """Warn once per episode, when the number of changed objects reaches half the limit."""
        memory = self.memory
        if memory["changed"] < WARNED_OBJECTS or not 1 <= 2 * memory["changed"] / memory["capacity"] < 2:
            return
        warnings.warn(
            f"forager: {memory['changed']} objects are changed, in {memory['bytes'] / 1e6:.0f} MB of at most "
            f"{memory['most_bytes'] / 1e6:.0f} MB; at {memory['capacity']} an object that is met for the first time "
            "stays and pays nothing; try another `capacity`, or objects that return to their own place",
            stacklevel=4,
        )

    def _find_reward(self, kind: int) -> float:
        """Return the reward of a collision; call the methods of a Python object."""
        constant = self._constants[kind]
        if constant is not None:
            return constant
        row, clock = self.world.kinds[kind], self.clock - 1
        if not row.python:
            region = lookup.find_region(self.arrays.regions, *self._cell_ahead)
            generation = int(self.arrays.regions[region, col.GENERATION])
            return draw_reward(row, HostContext(clock, self._words, kind, generation))
        home, slot = int(self.arrays.head[col.HIT_HOME]), int(self.arrays.head[col.HIT_SLOT])
        thing = self._find_thing(home, kind, self._cell_ahead)
        try:
            reward = check_reward(thing.reward(self.reward_rng, clock), row.name)
            thing.last_collision = clock
        finally:
            if slot >= 0:
                self._schedule_return(thing, slot, clock)
        self._recolor(home, thing)
        return reward

    def remove_object(self, location: tuple[int, int]) -> None:
        """Remove the object in a cell without a reward; it returns as if it had been collected."""
        x, y = self._check_cell(location, "remove_object")
        kind, cell = self.kind_at(x, y), x + y * self.world.width
        if not self._started or kind == EMPTY:
            raise ConfigError(f"remove_object: expected a cell with an object, got {location!r}; try after start()")
        slot = lookup.find_slot(self.arrays, x, y)
        home = int(self.arrays.slots[slot, col.HOME]) if slot >= 0 else cell
        slot = collisions.take(self.arrays, slot, cell, kind)
        if slot < 0:
            bound = self.world.capacity
            raise ConfigError(f"remove_object: expected fewer than {bound} changed objects; try a higher capacity")
        if self.world.kinds[kind].python:
            self._schedule_return(self._find_thing(home, kind, (x, y)), slot, self.clock)
        if self.arrays.head[col.USED] >= len(self.arrays.slots):
            self._grow()

    def _find_thing(self, home: int, kind: int, cell: tuple[int, int]) -> ForagerObject:
        """Return the Python object from a cell; beyond `capacity` objects, the earliest one is forgotten."""
        if home not in self._things:
            if len(self._things) >= self.config.capacity:
                first = next((key for key in self._things if key >= 0), home)
                self._things.pop(first, None)
                self._tints.pop(first, None)
            self._things[home] = self._make(kind, cell)
        return self._things[home]

    def _schedule_return(self, thing: ForagerObject, slot: int, clock: int) -> None:
        """Store when and where a taken object returns; if its methods raise an error, it returns at once."""
        delay: int | None = 0
        try:
            delay = check_delay(thing.regen_delay(self.delay_rng, clock), thing.name)
            thing.current_location = None
            row = self.arrays.slots[slot]
            row[col.WHERE] = ReturnPlace.ANYWHERE
            if thing.target_location is not None:
                x, y = self._check_cell(thing.target_location, thing.name)
                row[col.AT], row[col.WHERE] = x + y * self.world.width, ReturnPlace.FIXED
        finally:
            collisions.schedule_return(self.arrays, slot, -1 if delay is None else delay)

    @property
    def _cell_ahead(self) -> tuple[int, int]:
        cell = int(self.arrays.head[col.HIT_CELL])
        return cell % self.world.width, cell // self.world.width

    # -- saving ----------------------------------------------------------------------------------------------

    def recipe(self) -> dict[str, Any]:
        """Return the arguments that recreate it, for `core.saving.checkpoint`."""
        return {"config": self.config, "world": self.world}

    def kept(self) -> dict[str, Any]:
        """Return the mutable state for `core.saving.checkpoint`."""
        things = [[home, thing.name, dict(vars(thing))] for home, thing in self._things.items()]
        arrays = {name: getattr(self.arrays, name) for name in _KEPT_ARRAYS}
        own = {name: vars(self)[name] for name in _KEPT}
        return own | {"things": things, "arrays": arrays, "owed": self._delayed.owed}

    def restore(self, kept: dict[str, Any]) -> ForagerEnv:
        """Continue the saved episode; ConfigError, with nothing changed, if it belongs to a different world."""
        arrays = self.arrays._replace(**{name: array.copy() for name, array in kept["arrays"].items()})
        if arrays.regions.shape != self.arrays.regions.shape:
            raise ConfigError(f"expected a world of {len(self.world.regions)} regions, got {len(arrays.regions)}")
        things = {home: self._make(self.world.index(name), (0, 0)) for home, name, _ in kept["things"]}
        for home, _, attributes in kept["things"]:
            vars(things[home]).update(attributes)
        vars(self).update({name: kept[name] for name in _KEPT} | {"_things": things})
        self.arrays = lookup.grow_arrays(arrays, len(arrays.slots))
        self._delayed.owed[:] = kept["owed"]
        if self._started:
            view.refresh(self.arrays)
            self._bind()
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (type(self), self.recipe(), self.kept())

    def copy(self) -> ForagerEnv:
        """Return a copy in mid-episode that shares no mutable state, in tens of microseconds."""
        twin = object.__new__(type(self))
        changing = {name: copy.deepcopy(vars(self)[name]) for name in _CHANGING}
        arrays = self.arrays._replace(**{name: getattr(self.arrays, name).copy() for name in col.CHANGING})
        vars(twin).update(vars(self) | changing | {"arrays": arrays})
        if self._started:
            twin._bind()
        return twin


def _remake(cls: type[ForagerEnv], recipe: dict[str, Any], kept: dict[str, Any]) -> ForagerEnv:
    return cls(**recipe).restore(kept)


def twin_config(model: Any) -> ForagerConfig:
    """Return the configuration with the world and the mode of a functional `Forager`."""
    world = model.world
    kinds = {kind.name: kind for kind in world.kinds}
    size = world.width, world.height
    return TranslatedConfig(size, kinds, model.mode, model.aperture, 0, world.edge, model.capacity, model.hint)


def host_twin(model: Any, seed: int | tuple[int, int] = 0) -> ForagerEnv:
    """Return a `ForagerEnv` with the world and the mode of a functional `Forager`."""
    env = ForagerEnv(twin_config(model), model.world)
    env.reseed(seed)
    return env
