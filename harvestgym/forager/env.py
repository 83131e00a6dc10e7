"""The stateful forager, as in the seed: `start()`, then `step(action)` without end.

The compiled host engine moves the world; an object that overrides `reward` or `regen_delay` is called when the
agent meets it. Rewards and delays of such objects draw from streams of their own, so neither moves the map.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import operator
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import ConfigError
from . import host, overlay, sight
from .compiled import FAST
from .hashing import seed_words
from .life import (
    AGENT_X,
    AGENT_Y,
    AT,
    AWAY,
    BOUND,
    CLOCK,
    DUE,
    EATEN_ALL,
    GENERATION,
    HIT_CELL,
    HIT_HOME,
    HIT_SLOT,
    HOME,
    PENDING,
    REFUSED,
    SIDE,
    STANDING,
    STATE,
    USED,
    VACANT,
    WHAT,
    WHERE,
    Life,
    grown,
    nbytes,
    new_life,
    region_tables,
)
from .moment import HostMoment
from .objects import MAX_DELAY, Factory, ForagerObject, Kind, Place, TableObject, check_color
from .observe import AGENT, Mode, check_aperture, check_mode, codes
from .world import EMPTY, Edge, Region, World, count_of

Observation = np.ndarray
Color = tuple[int, int, int]


@dataclass(frozen=True)
class ForagerConfig:
    """What a person says about a forager.

    Attributes:
        size: the side of the world, or (width, height).
        object_types: the kinds by name: a class or function that makes an object, or a `Kind`.
        observation_mode: `objects` bool (rows, columns, kinds), channels in the order of the sorted names;
            `colors` uint8 (rows, columns, 3); `world` bool (height, width, kinds + 1), the agent last.
        aperture: how many rows (north to south) and columns (west to east) the agent sees; odd.
        seed: an integer from 0 to 2^64 - 1.
        edge: `torus`, or `wall`: the agent stays, and the outside is one more channel.
        capacity: how many objects may be away from where the world put them; beyond it an object pays and stays.
    """

    size: int | tuple[int, int]
    object_types: Mapping[str, Factory | Kind]
    observation_mode: Mode = "objects"
    aperture: int | tuple[int, int] = 3
    seed: int = 0
    edge: Edge = "torus"
    capacity: int = 2**22


class ForagerEnv:
    """A world without end and one agent in it; never terminates."""

    def __init__(self, config: ForagerConfig, world: World | None = None) -> None:
        if not FAST:
            raise ConfigError("this engine needs numba; install harvestgym[fast], or use forager.traced_env")
        self.config = config
        self._factories = dict(config.object_types)
        self.world = world or world_of(config)
        check_mode(config.observation_mode, self.world)
        self._placed: list[tuple[int, tuple[int, int]]] = []
        self._mode = config.observation_mode
        aperture = (1, 1) if self._mode == "world" else check_aperture(config.aperture, self.world)
        self._table = codes(self.world, self._mode)
        self._shape = (*aperture, self._table.shape[2])
        self._type = np.dtype(np.uint8 if self._mode == "colors" else np.bool_)
        self._fast = [kind.constant for kind in self.world.kinds]
        self._words = seed_words(config.seed)
        self._life = new_life(self.world, self._table, aperture)
        self._advance: Callable[..., int] = _not_started
        self._forget()

    # -- building ------------------------------------------------------------------------------------------

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
            sight.refresh(self._life)

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
            host.come_back(self._life)
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
        overlay.rebuild(self._life)

    def _make_way(self, kind: int) -> None:
        """Where a new layer meets an agent or an object that moved, its own object waits for the cell."""
        slots = self._life.slots
        here = self.position[0] + self.position[1] * self.world.width
        taken = {here, *slots[slots[:, STATE] == STANDING, AT].tolist()}
        emptied = set(slots[slots[:, STATE] != VACANT, HOME].tolist())
        for cell in taken - emptied:
            x, y = cell % self.world.width, cell // self.world.width
            if overlay.base(self._life.regions, self._life.layers, x, y) != EMPTY:
                self._insert(cell, kind, cell)

    # -- living --------------------------------------------------------------------------------------------

    def start(self, seed: int | tuple[int, int] | None = None) -> Observation:
        """Begin again in the same world, or with `seed` in another; what the agent sees first."""
        if seed is not None:
            self._words = seed_words(seed)
        self._forget()
        host.begin(self._life, *self._words, *self.world.start)
        self._started = True
        self._add(self._placed)
        host.come_back(self._life)
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

    def _bind(self) -> None:
        self._advance = partial(host.step, *self._life)
        self._plain = self._mode != "world" and not any(k.pays_after for k in self.world.kinds)

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
        if self._mode == "world":
            return self._see(), reward
        self._tint(obs)
        return obs.view(self._type), reward

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
            reward = _finite(thing.reward(self.reward_rng, clock), row.name)
            thing.last_collision = clock
            delay = _delay(thing.regen_delay(self.delay_rng, clock), row.name) if slot >= 0 else 0
            self._route(thing, slot)
        finally:
            if slot >= 0:
                host.schedule(self._life, slot, -1 if delay is None else delay)
        self._recolor(home, thing)
        return reward

    def _law(self, kind: int, clock: int) -> float:
        row = self.world.kinds[kind]
        now = HostMoment(clock, self._words, kind, self._generation())
        return _finite(float(row.reward(now)) + row.noise * now.noise(), row.name)

    def _generation(self) -> int:
        """The generation of the region of the last collision."""
        region = overlay.region_of(self._life.regions, *self._ahead)
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

    # -- seeing --------------------------------------------------------------------------------------------

    def _see(self) -> Observation:
        if self._mode == "world":
            return self._survey()
        obs = np.empty(self._shape, np.uint8)
        obs.reshape(-1)[:] = self._life.views[0, self._life.head[SIDE]]
        self._tint(obs)
        return obs.view(self._type)

    def _survey(self) -> Observation:
        cells = self.cells()
        out = np.zeros((*cells.shape, len(self.world.kinds) + 1), np.bool_)
        for kind in range(len(self.world.kinds)):
            out[..., kind] = cells == kind
        x, y = self.position
        out[self.world.height - 1 - y, x, -1] = True
        return out

    def cells(self) -> np.ndarray:
        """int16 (height, width): the kind in every cell or -1, the first row northernmost; for small worlds."""
        check_mode("world", self.world)
        out = np.empty((self.world.height, self.world.width), np.int16)
        host.survey(self._life, out)
        return out

    def picture(self, scale: int = 16) -> np.ndarray:
        """uint8 (rows * scale, columns * scale, 3): what is in view, in colours, the agent dark in the centre."""
        rows, cols = check_aperture(self.config.aperture, self.world)
        (x, y), table = self.position, codes(self.world, "colors")[:, 0]
        seen = np.empty((rows, cols, 3), np.uint8)
        for row, col in np.ndindex(rows, cols):
            seen[row, col] = table[self._kind_at(x + col - cols // 2, y + rows // 2 - row) + 1]
        seen[rows // 2, cols // 2] = AGENT
        return seen.repeat(scale, 0).repeat(scale, 1)

    def _kind_at(self, x: int, y: int) -> int:
        width, height = self.world.width, self.world.height
        if self.world.edge == "wall" and not (0 <= x < width and 0 <= y < height):
            return len(self.world.kinds)
        return int(overlay.look(self._life, x % width, y % height))

    def _recolor(self, home: int, thing: ForagerObject) -> None:
        if self._mode == "colors" and vars(thing).get("color") is not None:
            self._tints[home] = check_color(thing.color, thing.name)

    def _tint(self, obs: np.ndarray) -> None:
        """Colour the single objects that have a colour of their own."""
        slots, (x, y) = self._life.slots, self.position
        for home, color in self._tints.items():
            row = slots[(slots[:, HOME] == home) & (slots[:, STATE] != VACANT)]
            if len(row) and row[0, STATE] != STANDING:
                continue
            cell = int(row[0, AT]) if len(row) else home
            col = cell % self.world.width - x + self._shape[1] // 2
            line = y - cell // self.world.width + self._shape[0] // 2
            if self.world.edge == "torus":
                col, line = col % self.world.width, line % self.world.height
            if 0 <= col < self._shape[1] and 0 <= line < self._shape[0]:
                obs[line, col] = color

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kinds, in the order of the channels."""
        return self.world.names

    @property
    def things(self) -> list[ForagerObject]:
        """The Python objects that were met so far, or have a place of their own."""
        return list(self._things.values())

    @property
    def clock(self) -> int:
        """Steps since the start."""
        return int(self._life.head[CLOCK])

    @property
    def position(self) -> tuple[int, int]:
        """(x, y) of the agent."""
        return int(self._life.agents[0, AGENT_X]), int(self._life.agents[0, AGENT_Y])

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of an observation."""
        if self._mode == "world":
            return self.world.height, self.world.width, len(self.world.kinds) + 1
        return self._shape

    @property
    def biome(self) -> int:
        """The region in which the agent stands."""
        return int(overlay.region_of(self._life.regions, *self.position))

    @property
    def collided(self) -> str | None:
        """The name of what the last step met."""
        return None if self._met < 0 else self.world.names[self._met]

    @property
    def memory(self) -> dict[str, int]:
        """Bytes held, objects changed and their bound, collections, and objects that stayed because of the bound."""
        head = self._life.head
        return {
            "bytes": nbytes(self._life),
            "changed": int(head[USED]),
            "capacity": int(head[BOUND]),
            "away": int(head[PENDING]),
            "collected": int(head[EATEN_ALL]),
            "refused": int(head[REFUSED]),
        }

    # -- keeping -------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in vars(self).items() if k not in ("_life", "_advance")}
        life = self._life
        slots = life.slots[life.slots[:, STATE] != VACANT]
        return state | {"_saved": (life.head, life.regions, life.agents, slots)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        head, regions, agents, slots = state.pop("_saved")
        vars(self).update(state)
        room = 64
        while room < len(slots) + 1:
            room *= 2
        life = new_life(self.world, self._table, (self._shape[0], self._shape[1]), room=room)
        for mine, kept in ((life.head, head), (life.regions, regions), (life.agents, agents)):
            mine[:] = kept
        life.slots[: len(slots)] = slots
        self._life = life
        self._advance = _not_started
        if self._started:
            overlay.rebuild(life)
            sight.refresh(life)
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
    config = ForagerConfig(size, kinds, model.mode, model.aperture, 0, world.edge, model.capacity)
    env = ForagerEnv(config, world)
    env._words = seed_words(seed)
    return env


def life_of(env: ForagerEnv) -> Life:
    """The arrays of the life, for tests and tools."""
    return env._life


def world_of(config: ForagerConfig) -> World:
    """The world of a config, with nothing in it yet."""
    size = config.size
    width, height = (size, size) if isinstance(size, int | np.integer) else tuple(size)
    kinds = tuple(_kind(name, config.object_types[name]) for name in sorted(config.object_types))
    return World(width, height, kinds, (Region(0, 0, width, height),), edge=config.edge, capacity=config.capacity)


def _kind(name: str, factory: Factory | Kind) -> Kind:
    if isinstance(factory, Kind):
        return dataclasses.replace(factory, name=name)
    if not callable(factory):
        raise ConfigError(f"object_types[{name!r}]: wanted a class or function that makes an object, or a Kind, "
                          f"found {factory!r}")  # fmt: skip
    thing = factory()
    thing.name = name
    own = type(thing).regen_delay is not ForagerObject.regen_delay or thing.target_location is not None
    if isinstance(thing, TableObject) and type(thing).reward is TableObject.reward and not own:
        row = dataclasses.replace(thing.row, name=name, blocking=thing.blocking, collectable=thing.collectable)
        return row if thing.color is None else dataclasses.replace(row, colors=(check_color(thing.color, name),))
    return thing.kind()


def _not_started(*_: Any) -> int:
    raise RuntimeError("step before start: call obs = env.start() first")


def whole_action(action: Any) -> int:
    """An action as 0-3; ConfigError for anything else."""
    try:
        whole = int(action)
    except (TypeError, ValueError):
        whole = -1
    if not 0 <= whole <= 3 or whole != action:
        raise ConfigError(f"action: wanted 0 (north), 1 (east), 2 (south) or 3 (west), found {action!r}")
    return whole


def _finite(reward: Any, name: str) -> float:
    value = float(reward)
    if not math.isfinite(value):
        raise ConfigError(f"reward of {name!r}: wanted a finite number, found {reward!r}")
    return value


def _delay(delay: Any, name: str) -> int | None:
    if delay is None:
        return None
    whole = int(delay) if isinstance(delay, int | float | np.number) and math.isfinite(delay) else -1
    if whole != delay or not 0 <= whole <= MAX_DELAY:
        raise ConfigError(f"regen_delay of {name!r}: wanted whole steps from 0 to 2^30, or None for never, found "
                          f"{delay!r}")  # fmt: skip
    return whole




