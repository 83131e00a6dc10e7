"""The world, defined once for both engines: the generated object of a cell is computed from the seed, not stored.

Each region (the whole world is the first) has a keyed bijection from its cells to ranks 0 ... n - 1. A layer of objects
is an interval of ranks, so counts are exact, no two objects share a cell, and looking up a cell takes about ten
nanoseconds in a world of any size. Ranks are pairs (q, p), compared in this order, because a world of 1e12 cells has
more ranks than a 32-bit word can count. The rank of the reserved cell (where the agent starts) is swapped with the last
rank, which no layer may reach.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_fields
from harvestgym.core.errors import ConfigError, check_name, is_whole, mismatch, require

from .object_kinds import Kind, ReturnPlace

Edge = Literal["torus", "wall"]

EMPTY = -1
NORTH, EAST, SOUTH, WEST = range(4)
ACTION_NAMES = ("north", "east", "south", "west")
MOVES = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)], np.int64)
"""(dx, dy) of actions 0-3: north is y + 1, as in the Forager package."""

VACANT, STANDING, AWAY, GONE = range(4)
"""States of a changed object's slot: free, object in another cell, object that will return, object gone for good."""

TRIES = 16
"""Number of cells drawn in one step to find a free one; if none is free, more are drawn in the next step."""

NARROW, SQUARISH = 8, 6
MAX_SIDE = 2**30
MAX_OBJECTS = 2**60
MAX_STEPS = 2**31 - 1
MAX_CAPACITY = 2**26
"""Maximum number of changed objects in one episode; each takes about 200 bytes."""
MAX_CELLS_OF_A_NARROW_REGION = 2**31 - 1

Side = Annotated[int, Field(ge=1, le=MAX_SIDE)]
Coordinate = Annotated[int, Field(ge=0, lt=MAX_SIDE)]
KindIndex = Annotated[int, Field(ge=0)]
ObjectCount = Annotated[int, Field(ge=0, le=MAX_OBJECTS)]
StepCount = Annotated[int, Field(ge=0, le=MAX_STEPS)]
Capacity = Annotated[int, Field(ge=1, le=MAX_CAPACITY)]


def view_offsets(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances north and east from the centre of a view to each of its cells, int32 (rows, columns)."""
    south, east = np.indices((rows, cols), np.int32)
    return rows // 2 - south, east - cols // 2


@dataclass(frozen=True)
class Region:
    """A rectangle (a biome) with its own objects: `layers` are (kind index, count) in order of rank.

    Attributes:
        renew_eaten: number of objects collected here after which a new generation appears; 0 for never.
        renew_every: number of steps after which all objects here expire and a new generation appears; 0 for never.
        name: the region's name.
    """

    x: Coordinate
    y: Coordinate
    width: Side
    height: Side
    layers: tuple[tuple[KindIndex, ObjectCount], ...] = ()
    renew_eaten: StepCount = 0
    renew_every: StepCount = 0
    name: str = "world"

    def __post_init__(self) -> None:
        check_fields(self, f"region {self.name!r}")

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.width * self.height

    @property
    def narrow(self) -> bool:
        """Return whether the rectangle is too thin to be permuted directly."""
        return min(self.width, self.height) < NARROW

    @property
    def grid(self) -> tuple[int, int]:
        """Sides (a, b) of the grid that is permuted: the rectangle itself, or a squarer one if it is narrow."""
        return _find_near_square(self.cells) if self.narrow else (self.width, self.height)

    def contains(self, x: Any, y: Any) -> Any:
        """Return whether a cell, or each of the cells, lies in the rectangle."""
        return (x >= self.x) & (x < self.x + self.width) & (y >= self.y) & (y < self.y + self.height)

    def count_room(self, start: tuple[int, int]) -> int:
        """Return the maximum number of objects: one per cell, minus one if an agent may be here when they are
        placed."""
        return self.cells - bool(self.contains(*start) or self.renew_eaten or self.renew_every)

    @property
    def thresholds(self) -> list[tuple[int, int, int]]:
        """(q, p, kind) per layer: the first rank (q, p) beyond the layer, and its kind."""
        totals = accumulate(count for _, count in self.layers)
        return [(*divmod(total, self.grid[0]), kind) for total, (kind, _) in zip(totals, self.layers, strict=True)]


@lru_cache(maxsize=256)
def _find_near_square(cells: int) -> tuple[int, int]:
    """Return the sides (a, b) of a nearly square grid with exactly this many cells if there is one, or a few more."""
    root = math.isqrt(cells)
    exact = next((a for a in range(root, root // 2, -1) if a >= SQUARISH and cells % a == 0), 0)
    a = exact or (root if root * root == cells else root + 1)
    return a, -(-cells // a)


def count_objects(freq: float, free: int, cells: int) -> int:
    """Return the number of objects for a frequency: floor(freq * cells), or all cells that may be filled for 1.0."""
    if isinstance(freq, bool) or not isinstance(freq, int | float | np.number) or not 0 <= freq <= 1:
        raise mismatch("freq", "a number from 0 to 1", repr(freq))
    count = free if freq == 1 else math.floor(float(freq) * cells + 1e-6)
    return min(count, free)


@dataclass(frozen=True)
class World:
    """The structure of a world, shared by both engines; it has no randomness and is hashable and static under JIT."""

    width: Side
    height: Side
    kinds: tuple[Kind, ...]
    regions: tuple[Region, ...]
    edge: Edge = "torus"
    teleport_every: StepCount = 0
    teleport_to: tuple[int, ...] = ()
    capacity: Capacity = 1024

    def __post_init__(self) -> None:
        check_fields(self)
        _check_names(self)
        for kind in self.kinds:
            if kind.place is ReturnPlace.FIXED:
                check_cell(kind.target, self.width, self.height, f"target of {kind.name!r}")
        for region in self.regions:
            _check_region(self, region)
        _check_renewal(self)

    @property
    def start(self) -> tuple[int, int]:
        """Return the cell where the agent starts, as in the Forager package: the middle, which is never occupied."""
        return self.width // 2, self.height // 2

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.width * self.height

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the kinds in order: the channels of an observation."""
        return tuple(kind.name for kind in self.kinds)

    @property
    def summary(self) -> str:
        """The size, the edge and the kinds, in a few words."""
        kinds = textwrap.shorten(", ".join(self.names), 80, placeholder=" …")
        return f"{self.width} x {self.height} {self.edge}, {kinds}"

    @property
    def moves(self) -> bool:
        """Return whether any object returns to another cell."""
        return any(k.collectable and k.place is not ReturnPlace.SAME for k in self.kinds)

    @property
    def perishes(self) -> bool:
        """Return whether any kind expires and reappears."""
        return any(k.lasts for k in self.kinds)

    @property
    def renews(self) -> bool:
        """Return whether any region gets new generations."""
        return any(r.renew_eaten or r.renew_every for r in self.regions)

    def region_values(self, expected: Callable[[int, int], Any]) -> list[Any]:
        """Return the expected reward per cell in each region, from its collectable objects before any are collected.

        `expected(kind, region)` gives the current expected reward of a kind.
        """
        values: list[Any] = []
        for r, region in enumerate(self.regions):
            taken = [(kind, count) for kind, count in region.layers if self.kinds[kind].collectable]
            values.append(sum(expected(i, r) * (self.kinds[i].share * count / region.cells) for i, count in taken))
        return values

    def find_region(self, x: Any, y: Any, xp: Any = np) -> Any:
        """Return each cell's region as int32, the last region that contains it, with `numpy` or `jax.numpy`."""
        out = xp.zeros(xp.shape(x), xp.int32)
        for i, g in enumerate(self.regions[1:], 1):
            out = xp.where(g.contains(x, y), xp.int32(i), out)
        return out

    def index(self, name: str) -> int:
        """Return the index of a kind; raise ConfigError with the nearest name."""
        check_name("object", name, self.names)
        return self.names.index(name)


def check_cell(cell: Any, width: int, height: int, what: str) -> tuple[int, int]:
    """Return a cell (x, y) as whole numbers; raise ConfigError unless it lies in the world."""
    place: Any = cell if isinstance(cell, tuple | list | np.ndarray) and len(cell) == 2 else (None, None)
    x, y = place
    inside = is_whole(x, 0, width - 1) and is_whole(y, 0, height - 1)
    require(inside, what, f"0 <= x < {width}, 0 <= y < {height}", repr(cell))
    return int(x), int(y)


def _check_names(world: World) -> None:
    names = [kind.name for kind in world.kinds]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise mismatch("objects", "distinct names", f"{twice[0]!r} twice", "one name for each kind")
    if not world.regions or (world.regions[0].width, world.regions[0].height) != (world.width, world.height):
        raise mismatch("regions", "the whole world first", "another region")
    if bad := [r for r in world.teleport_to if not 0 <= r < len(world.regions)]:
        raise mismatch("teleport_to", f"an index below {len(world.regions)}", bad[0])


def _check_region(world: World, region: Region) -> None:
    if region.x + region.width > world.width or region.y + region.height > world.height:
        raise mismatch(f"region {region.name!r}", f"cells in the {world.width} x {world.height} world", "others")
    if region.narrow and region.cells > MAX_CELLS_OF_A_NARROW_REGION:
        expected = f"at least {NARROW} cells across, or less than 2^31"
        raise ConfigError(f"region {region.name!r}: expected {expected}; try widening it")
    total, room = sum(count for _, count in region.layers), region.count_room(world.start)
    if any(kind >= len(world.kinds) for kind, _ in region.layers):
        raise mismatch(f"region {region.name!r}", f"kinds below {len(world.kinds)}", region.layers)
    require(total <= room, f"region {region.name!r}", f"0 to {room} objects", total)


def _check_renewal(world: World) -> None:
    strays = [k.name for k in world.kinds if k.collectable and k.place in (ReturnPlace.ANYWHERE, ReturnPlace.FIXED)]
    if world.renews and strays:
        expected = "a return to its own cell or region, because a region is renewed"
        raise mismatch(repr(strays[0]), expected, "another place")
