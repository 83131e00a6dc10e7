"""The stateful forager, as in the seed: `start()`, then `step(action)` without end.

The compiled host engine moves the world; an object that overrides `reward` or `regen_delay` is called when the
agent meets it. Rewards and delays of such objects draw from streams of their own, so neither moves the map.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.forager.config import Color, ForagerConfig, Observation, world_of
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.kinds import ForagerObject, Place
from harvestgym.forager.numba_support import FAST
from harvestgym.forager.observations import check_aperture, check_mode, codes
from harvestgym.forager.reward_context import HostMoment
from harvestgym.forager.senses import check_hint
from harvestgym.forager.world import EMPTY, World

from . import dynamics, lookup, step, view
from .arrays import (
    AT,
    BOUND,
    GENERATION,
    HIT_CELL,
    HIT_HOME,
    HIT_SLOT,
    STATE,
    USED,
    VACANT,
    WHERE,
    Life,
    grown,
    new_life,
)
from .checks import finite, not_started, whole_action, whole_delay
from .placement import Placing
from .rewards import worth

_KEPT = ("_words", "_started", "_placed", "_tints", "_owed", "_met", "reward_rng", "delay_rng")
"""What a life remembers beside its arrays and its objects."""


class ForagerEnv(Placing):
    """A world without end and one agent in it; never terminates."""

    def __init__(self, config: ForagerConfig, world: World | None = None) -> None:
        if not FAST:
            raise ConfigError("this engine needs numba; install harvestgym[fast], or use forager.traced_env")
        self.config = config
        self._factories = dict(config.object_types)
        self.world = world or world_of(config)
        check_mode(config.observation_mode, self.world)
        check_hint(config.hint)
        self._placed: list[tuple[int, tuple[int, int]]] = []
        self._mode = config.observation_mode
        aperture = (1, 1) if self._mode == "world" else check_aperture(config.aperture, self.world)
        self._table = codes(self.world, self._mode)
        self._shape = (*aperture, self._table.shape[2])
        self._type = np.dtype(np.uint8 if self._mode == "colors" else np.bool_)
        self._fast = [kind.constant for kind in self.world.kinds]
        self._words = seed_words(config.seed)
        self._life = new_life(self.world, self._table, aperture)
        self._advance: Callable[..., int] = not_started
        self._forget()

    # -- living --------------------------------------------------------------------------------------------

    def start(self, seed: int | tuple[int, int] | None = None) -> Observation:
        """Begin again in the same world, or with `seed` in another; what the agent sees first."""
        if seed is not None:
            self._words = seed_words(seed)
        self._forget()
        step.begin(self._life, *self._words, *self.world.start)
        self._started = True
        self._add(self._placed)
        dynamics.come_back(self._life)
        self._bind()
        return self._see()

    def _forget(self) -> None:
        self._started = False
        self._things: dict[int, ForagerObject] = {}
        self._tints: dict[int, Color] = {}
        self._owed: dict[int, float] = {}
        self._met = EMPTY
        self.reward_rng = np.random.default_rng([*self._words, 1])
        self.delay_rng = np.random.default_rng([*self._words, 2])

    def step(self, action: int) -> tuple[Observation, float]:
        """Go north (0), east (1), south (2) or west (3): what is seen then, and the reward."""
        if action.__class__ is not int or action < 0 or action > 3:
            action = whole_action(action)
        obs = np.empty(self._shape, np.uint8)
        self._met = kind = self._advance(action, obs)
        reward = 0.0
        if kind >= 0:
            constant = self._fast[kind]
            reward = self._meet(kind) if constant is None else constant
            if self._life.head[USED] >= len(self._life.slots):
                self._grow()
        if not self._plain or self._tints:
            return self._special(obs, reward)
        return (obs if self._type == np.uint8 else obs.view(np.bool_)), reward

    def _special(self, obs: np.ndarray, reward: float) -> tuple[Observation, float]:
        if any(kind.pays_after for kind in self.world.kinds):
            reward = self._settle_debts(reward)
        return self._shown(obs), reward

    def _settle_debts(self, reward: float) -> float:
        """Keep what is paid later, pay what is due now."""
        clock = self.clock - 1
        if self._met >= 0 and self.world.kinds[self._met].pays_after:
            due = clock + self.world.kinds[self._met].pays_after
            self._owed[due] = self._owed.get(due, 0.0) + reward
            reward = 0.0
        return reward + self._owed.pop(clock, 0.0)

    def _grow(self) -> None:
        if self._life.head[USED] < self._life.head[BOUND]:
            self._life = grown(self._life, 2 * len(self._life.slots))
            self._bind()

    def _meet(self, kind: int) -> float:
        """The reward of a collision that is not a constant, and what an object of Python does."""
        row, clock = self.world.kinds[kind], self.clock - 1
        if not row.python:
            return self._law(kind, clock)
        home, slot = int(self._life.head[HIT_HOME]), int(self._life.head[HIT_SLOT])
        thing = self._things.setdefault(home, self._make(kind, self._ahead)) if home not in self._things else (
            self._things[home])  # fmt: skip
        delay: int | None = 0
        try:
            reward = finite(thing.reward(self.reward_rng, clock), row.name)
            thing.last_collision = clock
            delay = whole_delay(thing.regen_delay(self.delay_rng, clock), row.name) if slot >= 0 else 0
            self._route(thing, slot)
        finally:
            if slot >= 0:
                dynamics.schedule(self._life, slot, -1 if delay is None else delay)
        self._recolor(home, thing)
        return reward

    def _law(self, kind: int, clock: int) -> float:
        return worth(self.world.kinds[kind], HostMoment(clock, self._words, kind, self._generation()))

    def _generation(self) -> int:
        """The generation of the region of the last collision."""
        region = lookup.region_of(self._life.regions, *self._ahead)
        return int(self._life.regions[region, GENERATION])

    def _route(self, thing: ForagerObject, slot: int) -> None:
        """Write down where a taken object returns."""
        if slot < 0:
            return
        thing.current_location = None
        row = self._life.slots[slot]
        row[WHERE] = Place.ANYWHERE
        if thing.target_location is not None:
            x, y = self._cell(thing.target_location, thing.name)
            row[AT], row[WHERE] = x + y * self.world.width, Place.FIXED

    @property
    def _ahead(self) -> tuple[int, int]:
        cell = int(self._life.head[HIT_CELL])
        return cell % self.world.width, cell // self.world.width

    # -- keeping -------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_life", "_advance")} | {"_saved": self._saved()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state.pop("_saved")
        vars(self).update(state)
        self._take_up(*saved)

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        return {"config": self.config, "world": self.world}

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        things = [[home, thing.name, dict(vars(thing))] for home, thing in self._things.items()]
        return {name: vars(self)[name] for name in _KEPT} | {"things": things, "life": self._saved()}

    def restore(self, kept: dict[str, Any]) -> ForagerEnv:
        """This life, where the one that was kept stood; ConfigError, and nothing is changed, if it is of another."""
        regions = kept["life"][1]
        if regions.shape != self._life.regions.shape:
            raise ConfigError(f"wanted a world of {len(self.world.regions)} regions, found {len(regions)}")
        things = {home: self._make(self.world.index(name), (0, 0)) for home, name, _ in kept["things"]}
        for home, _, remembers in kept["things"]:
            vars(things[home]).update(remembers)
        vars(self).update({name: kept[name] for name in _KEPT} | {"_things": things})
        self._take_up(*kept["life"])
        return self

    def _saved(self) -> tuple[np.ndarray, ...]:
        """The arrays of the life that cannot be found again from the others."""
        life = self._life
        return life.head, life.regions, life.agents, life.slots[life.slots[:, STATE] != VACANT]

    def _take_up(self, head: np.ndarray, regions: np.ndarray, agents: np.ndarray, slots: np.ndarray) -> None:
        """Go on from the arrays of a life."""
        room = 64
        while room < len(slots) + 1:
            room *= 2
        life = new_life(self.world, self._table, (self._shape[0], self._shape[1]), room=room)
        for mine, kept in ((life.head, head), (life.regions, regions), (life.agents, agents)):
            mine[:] = kept
        life.slots[: len(slots)] = slots
        self._life = life
        self._advance = not_started
        if self._started:
            lookup.rebuild(life)
            view.refresh(life)
            self._bind()

    def copy(self) -> ForagerEnv:
        """A twin in mid-life, sharing nothing that changes."""
        return copy.deepcopy(self)

    def save(self, path: str | Path) -> None:
        """Write this life to a file whose size grows with what the agent changed only."""
        Path(path).write_bytes(pickle.dumps(self, protocol=5))

    @classmethod
    def load(cls, path: str | Path) -> ForagerEnv:
        """A life from a file that `save` wrote. It is a pickle: open only files that you trust."""
        env = pickle.loads(Path(path).read_bytes())
        if not isinstance(env, cls):
            raise ConfigError(f"{path}: wanted a saved ForagerEnv, found {type(env).__name__}")
        return env


def host_twin(model: Any, seed: int | tuple[int, int] = 0) -> ForagerEnv:
    """The stateful face, on the host engine, of a functional `Forager`."""
    world = model.world
    kinds = {kind.name: kind for kind in world.kinds}
    size = world.width, world.height
    config = ForagerConfig(size, kinds, model.mode, model.aperture, 0, world.edge, model.capacity, model.hint)
    env = ForagerEnv(config, world)
    env._words = seed_words(seed)
    return env


def life_of(env: ForagerEnv) -> Life:
    """The arrays of the life, for tests and tools."""
    return env._life
