"""The stateful forager with the interface of the Forager package: `start()`, then `step(action)` indefinitely.

The compiled host engine runs the world. Before the agent hits an object that overrides `collision`, `reward` or
`regen_delay`, or that was added as a single object, the step stops and these methods are called; if they fail, the step
is not taken. They use separate random streams, so they do not change the map. Without numba, the same code runs as
plain Python, about a hundred times slower.
"""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError, mismatch, require, warn_user
from harvestgym.forager.config import ForagerConfig, Observation, TranslatedConfig
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import collisions, step, view
from harvestgym.forager.host_engine.cells import find_region, find_slot, grow_arrays
from harvestgym.forager.host_engine.collisions import ASK
from harvestgym.forager.host_engine.editable_episode import EditableEpisode
from harvestgym.forager.host_engine.rewards import DelayedRewards, HostContext
from harvestgym.forager.object_kinds import MAX_DELAY, ForagerObject, ReturnPlace, check_color, is_data, overrides
from harvestgym.forager.observations import color_table
from harvestgym.forager.reward_laws import check_reward, read_number
from harvestgym.forager.world import EMPTY, World

_KEPT = ("_words", "_started", "_tints", "met", "reward_rng", "delay_rng")
"""Attributes that are saved, in addition to the arrays, objects and pending rewards."""

_KEPT_ARRAYS = ("head", "regions", "agents", "slots")
"""The arrays that cannot be recomputed from the others."""

_CHANGING = ("_placed", "_things", "_tints", "_delayed", "reward_rng", "delay_rng")
"""Attributes that change during an episode, other than the arrays and plain values."""


_PAYING = ("collision", "reward")
"""Methods that determine the reward of a collision."""

WARNED_OBJECTS = 1024
"""Number of changed objects below which no memory warning is needed."""


def check_action(action: Any) -> int:
    """Return an action as 0-3; raise ConfigError for anything else."""
    whole = read_number(action)
    require(whole in range(4), "action", "0 (north), 1 (east), 2 (south) or 3 (west)", repr(action))
    return int(whole)


def check_delay(delay: Any, name: str) -> int | None:
    """Return a delay as a whole number of steps, or None for never; raise ConfigError for anything else."""
    if delay is None:
        return None
    steps = read_number(delay)
    if not (0 <= steps <= MAX_DELAY and steps.is_integer()):
        raise mismatch(f"regen_delay of {name!r}", "whole steps from 0 to 2^30, or None for never", reprlib.repr(delay))
    return int(steps)


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
        """Start again in the same world, or in a new one if `seed` is given; return the first observation.

        If no step has been taken, the world is not changed, so objects that were removed stay removed.
        """
        if seed is not None:
            self.reseed(seed)
        elif self._started and not self.clock and self._words == (*self.arrays.head[[col.KEY_0, col.KEY_1]].tolist(),):
            return self.observe()
        self._forget()
        step.begin(self.arrays, *self._words, *self.world.start)
        self._started = True
        self._insert_all(self._placed)
        self._settle()
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
        """Move north (0), east (1), south (2) or west (3); return the next observation and the reward.

        The first step starts the world if `start` was not called.
        """
        if action.__class__ is not int or action < 0 or action > 3:
            action = check_action(action)
        cells = np.empty(self._shape, np.uint8)
        kind, reward = self._advance(action, cells), 0.0
        if kind != EMPTY:
            if kind >= 0:
                reward = self._find_reward(kind)
            else:
                kind, reward = self._ask(ASK - kind, action, cells)
            if self.arrays.head[col.USED] >= len(self.arrays.slots):
                self._grow()
        self.met = kind
        if not self._plain or self._tints:
            hits, clocks = np.array([kind]), np.array([self.clock - 1])
            due = self._delayed.settle(hits, clocks, np.array([reward]))
            return self._observe_cells(cells), float(due[0])
        return cells.view(self._table.dtype), reward

    def _advance(self, action: int, cells: np.ndarray) -> int:
        """Start the world at its first step; `_bind` replaces this method by the compiled step."""
        self.start()
        return self._advance(action, cells)

    def _grow(self) -> None:
        if self.arrays.head[col.USED] < self.arrays.head[col.BOUND]:
            self.arrays = grow_arrays(self.arrays, 2 * len(self.arrays.slots))
            self._bind()
            self._warn_of_capacity()

    def _warn_of_capacity(self) -> None:
        """Warn once per episode, when the number of changed objects reaches half the limit."""
        memory = self.memory
        if memory["changed"] < WARNED_OBJECTS or not 1 <= 2 * memory["changed"] / memory["capacity"] < 2:
            return
        warn_user(
            f"forager: {memory['changed']} objects have changed and use {memory['bytes'] / 1e6:.0f} MB of at "
            f"most {memory['most_bytes'] / 1e6:.0f} MB; once {memory['capacity']} have changed, the "
            "others cannot be collected; try a higher `capacity`, or objects that return to their own cells"
        )

    def _find_reward(self, kind: int, clock: int | None = None) -> float:
        """Return the reward of a collision by the law of its kind; `clock` defaults to the time of the last step."""
        constant = self._constants[kind]
        if constant is not None:
            return constant
        region = find_region(self.arrays.regions, *self._cell_ahead)
        generation = int(self.arrays.regions[region, col.GENERATION])
        now = HostContext(self.clock - 1 if clock is None else clock, self._words, kind, generation)
        row = self.world.kinds[kind]
        return check_reward(row.expect(now), row.name) + row.noise * now.noise()

    def _ask(self, kind: int, action: int, cells: np.ndarray) -> tuple[int, float]:
        """Get the reward from the object ahead or from its law, then step; return the kind hit and the reward."""
        home, cell = int(self.arrays.head[col.HIT_HOME]), self._cell_ahead
        thing = self._find_thing(home, kind, cell)
        meet = partial(self._meet, home, cell)
        steady = self._constants[kind] is not None and not self.world.kinds[kind].collectable
        harmless = steady and is_data(thing)  # such as the walls of a maze
        reward, back = meet(kind, thing) if harmless else self._call(meet, kind, thing)
        self.arrays.head[col.ANSWERED] = True
        kind = self._advance(action, cells)
        self.arrays.head[col.ANSWERED] = False
        if back is not None:
            self._schedule_return(int(self.arrays.head[col.HIT_SLOT]), kind, *back)
        return kind, reward

    def _meet(self, home: int, cell: tuple[int, int], kind: int, thing: Any) -> tuple[float, Any]:
        """Call the methods of an object, or its law; return the reward and, if it is taken, the plan of its return."""
        row = self.world.kinds[kind]
        if thing is None:
            return self._find_reward(kind, self.clock), None
        thing.current_location = cell
        by_law = thing.row.reward == row.reward if is_data(thing) else not overrides(thing, ForagerObject, *_PAYING)
        if by_law and not row.python:
            reward, thing.last_collision = self._find_reward(kind, self.clock), self.clock
        else:
            reward = check_reward(thing.collision(self.reward_rng, self.clock), row.name)
        back = self._plan_return(kind, thing) if row.collectable else None
        self._remember(home, thing)
        return reward, back

    def _call(self, function: Callable[..., Any], kind: int, thing: ForagerObject | None) -> Any:
        """Call a method of an object; if it fails, name the object, and restore it and the random streams."""
        attributes = {} if thing is None else vars(thing)
        rewards, delays = self.reward_rng.bit_generator, self.delay_rng.bit_generator
        before, states = dict(attributes), (rewards.state, delays.state)
        try:
            return function(kind, thing)
        except Exception as error:
            attributes.clear()
            attributes.update(before)
            rewards.state, delays.state = states
            error.add_note(f"forager: raised for the object {self.names[kind]!r}; nothing was changed")
            raise

    def remove_object(self, location: tuple[int, int]) -> None:
        """Remove the object in a cell without giving a reward; it returns as if it had been collected."""
        x, y = self._check_cell(location, "remove_object")
        if not self._started:
            self.start()
        kind, cell = self.kind_at(x, y), x + y * self.world.width
        require(kind != EMPTY, "remove_object", "a cell with an object", repr(location))
        slot = find_slot(self.arrays, x, y)
        home = int(self.arrays.slots[slot, col.HOME]) if slot >= 0 else cell
        thing = self._find_thing(home, kind, (x, y))
        back = None if thing is None else self._call(self._plan_return, kind, thing)
        slot = collisions.take(self.arrays, slot, cell, kind)
        if slot < 0:
            bound = self.world.capacity
            raise ConfigError(f"remove_object: expected fewer than {bound} changed objects; try a higher capacity")
        if thing is not None and back is not None:
            self._remember(home, thing)
            self._schedule_return(slot, kind, *back)
        if self.arrays.head[col.USED] >= len(self.arrays.slots):
            self._grow()

    def _find_thing(self, home: int, kind: int, cell: tuple[int, int]) -> ForagerObject | None:
        """Return the Python object from a cell, or None for an object that is only data."""
        if home in self._things:
            return self._things[home]
        return self._make(kind, cell) if self.world.kinds[kind].python else None

    def _remember(self, home: int, thing: ForagerObject) -> None:
        """Store an object and its colour; beyond `capacity` objects, the oldest one is dropped."""
        if self._mode.table is color_table and vars(thing).get("color") is not None:
            self._tints[home] = check_color(thing.color, thing.name)
        if home not in self._things and len(self._things) >= self.config.capacity:
            first = next((key for key in self._things if key >= 0), home)
            self._things.pop(first, None)
            self._tints.pop(first, None)
        self._things[home] = thing

    def _plan_return(self, kind: int, thing: ForagerObject) -> tuple[int, int]:
        """Return the steps until an object returns (-1 for never) and its cell (-1 for the place of its kind)."""
        target = thing.target_location
        if self.world.kinds[kind].python or overrides(thing, ForagerObject, "regen_delay"):
            given, target = thing.regen_delay(self.delay_rng, self.clock), thing.target_location
            delay = check_delay(given, thing.name)
        else:
            delay = collisions.draw_delay(self.arrays, kind, self.arrays.head[col.EVENTS])
        x, y = (-1, 0) if target is None else self._check_cell(target, thing.name)
        return -1 if delay is None else delay, x + y * self.world.width

    def _schedule_return(self, slot: int, kind: int, delay: int, cell: int) -> None:
        """Store when and where a taken object returns."""
        if cell >= 0:
            self.arrays.slots[slot, col.AT] = cell
        self.arrays.slots[slot, col.WHERE] = self.world.kinds[kind].place if cell < 0 else ReturnPlace.FIXED
        collisions.schedule_return(self.arrays, slot, delay)

    @property
    def _cell_ahead(self) -> tuple[int, int]:
        cell = int(self.arrays.head[col.HIT_CELL])
        return cell % self.world.width, cell // self.world.width

    # -- saving ----------------------------------------------------------------------------------------------

    def recipe(self) -> dict[str, Any]:
        """Return the arguments that recreate this environment, for `core.saving.checkpoint`."""
        return {"config": self.config, "world": self.world}

    def kept(self) -> dict[str, Any]:
        """Return the mutable state for `core.saving.checkpoint`."""
        things = [[home, thing.name, dict(vars(thing))] for home, thing in self._things.items()]
        placed = [[thing.name, *more] for thing, *more in self._placed]
        arrays = {name: getattr(self.arrays, name) for name in _KEPT_ARRAYS}
        own = {name: vars(self)[name] for name in _KEPT}
        return own | {"things": things, "placed": placed, "arrays": arrays, "owed": self._delayed.owed}

    def restore(self, kept: dict[str, Any]) -> ForagerEnv:
        """Continue a saved episode; raise ConfigError without a change if it belongs to a different world."""
        arrays = self.arrays._replace(**{name: array.copy() for name, array in kept["arrays"].items()})
        if arrays.regions.shape != self.arrays.regions.shape:
            raise mismatch("", f"a world of {len(self.world.regions)} regions", len(arrays.regions))
        self._placed = [(self._remake_object(*one), *one[1:]) for one in kept["placed"]]
        things: dict[int, ForagerObject] = {}
        for home, name, attributes in kept["things"]:
            things[home] = self._placed[-2 - home][0] if home < -1 else self._remake_object(name, None, {})
            vars(things[home]).update(attributes)
        vars(self).update({name: kept[name] for name in _KEPT} | {"_things": things})
        self.arrays = grow_arrays(arrays, len(arrays.slots))
        self._delayed.owed[:] = kept["owed"]
        if self._started:
            view.refresh(self.arrays)
            self._bind()
        return self

    def _remake_object(self, name: str, cls: type[ForagerObject] | None, attributes: dict[str, Any]) -> ForagerObject:
        thing = self._make(self.world.index(name), None) if cls is None else object.__new__(cls)
        vars(thing).update(attributes)
        return thing

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.recipe()), (), self.kept()

    __setstate__ = restore

    def copy(self) -> ForagerEnv:
        """Return a copy in the middle of an episode, without shared mutable state; it takes tens of microseconds."""
        twin = object.__new__(type(self))
        changing = copy.deepcopy({name: vars(self)[name] for name in _CHANGING})
        arrays = self.arrays._replace(**{name: getattr(self.arrays, name).copy() for name in col.CHANGING})
        vars(twin).update(vars(self) | changing | {"arrays": arrays})
        if self._started:
            twin._bind()
        return twin


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
