"""The objects of a world: kinds as data, and user-defined objects as subclasses.

A `Kind` is one row of the table that the compiled step reads. A `ForagerObject` is a Python object: if it overrides
`collision`, `reward` or `regen_delay`, these methods are called when the agent hits it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_arguments, check_fields
from harvestgym.core.errors import mismatch, require

from .reward_laws import LAWS, MAX_PERIOD, MAX_REWARD, Constant, LawContext, RewardLaw

_Byte = Annotated[int, Field(ge=0, le=255)]
Color = tuple[_Byte, _Byte, _Byte]


class ReturnPlace(IntEnum):
    """Place to which a collected object returns."""

    SAME = 0
    ANYWHERE = 1
    REGION = 2
    FIXED = 3


class DelayLaw(IntEnum):
    """Distribution of the steps until an object returns."""

    NEVER = 0
    UNIFORM = 1
    NORMAL = 2


MAX_DELAY = 2**30
MAX_DEVIATION = 4096
MAX_POSTPONED = 4096
"""Maximum number of steps between a collision and its reward."""

DelaySteps = Annotated[int, Field(ge=0, le=MAX_DELAY)]


@dataclass(frozen=True)
class Delay:
    """Steps from the collision to the return: uniform on `a` ... `b`, or normal with mean `a` and s.d. `b`.

    A normal delay is a sum of twelve uniforms, rounded down and clipped at 0. Delays 0 and 1 are equivalent: the object
    returns at the start of the next step, or as soon as the agent has left its cell.
    """

    law: DelayLaw = DelayLaw.UNIFORM
    a: DelaySteps = 10
    b: DelaySteps = 99

    def __post_init__(self) -> None:
        check_fields(self)
        if self.law is DelayLaw.UNIFORM and self.a > self.b:
            raise mismatch("delay", "low <= high", f"{self.a}, {self.b}")
        if self.law is DelayLaw.NORMAL and self.b > MAX_DEVIATION:
            raise mismatch("delay", f"a deviation of at most {MAX_DEVIATION} steps", self.b)


NEVER = Delay(DelayLaw.NEVER, 0, 0)


@dataclass(frozen=True)
class Kind:
    """One kind of object.

    Attributes:
        blocking: whether it keeps the agent out of its cell; it then gives its reward at every collision.
        collectable: whether it is removed at a collision; it returns after `delay`.
        reward: a callable that gives the expected reward as a function of time.
        noise: standard deviation of the noise added to the reward.
        place, target: where it returns; `target` is the cell (x, y) for `ReturnPlace.FIXED`.
        pays_after: steps between the collision and its reward.
        lasts, rests: it is alternately present for `lasts` steps and absent for `rests`, with a random phase for each
            object; if both are 0, it never expires.
        colors: RGB 0-255; with several, the object in each cell shows one of them.
        python: whether its reward or delay is a method of a Python object.
    """

    name: str
    blocking: bool = False
    collectable: bool = False
    reward: RewardLaw = field(default_factory=Constant)
    noise: Annotated[float, Field(ge=0, le=MAX_REWARD)] = 0.0
    delay: Delay = Delay()
    place: ReturnPlace = ReturnPlace.ANYWHERE
    target: tuple[int, int] = (0, 0)
    pays_after: Annotated[int, Field(ge=0, le=MAX_POSTPONED)] = 0
    lasts: DelaySteps = 0
    rests: DelaySteps = 0
    colors: tuple[Color, ...] = ()
    python: bool = False

    def __post_init__(self) -> None:
        check_fields(self, f"kind {self.name!r}")
        spans = self.lasts, self.rests
        if (min(spans) == 0 and max(spans) > 0) or sum(spans) > MAX_PERIOD:
            raise mismatch(self.name, "lasts and rests of 1 or more, at most 2^24 - 1 in total, or both 0", spans)

    @property
    def share(self) -> float:
        """The fraction of time for which it is present if it is never collected."""
        return self.lasts / (self.lasts + self.rests) if self.lasts else 1.0

    @property
    def asks(self) -> bool:
        """Return whether a collision calls code from outside this package."""
        return self.python or type(self.reward) not in LAWS.values()

    def expect(self, now: LawContext) -> Any:
        """Return the expected reward at a time; an error raised by the law is reported with the name of the kind."""
        try:
            return self.reward(now)
        except Exception as error:
            error.add_note(f"forager: raised by the reward of {self.name!r}")
            raise

    @property
    def constant(self) -> float | None:
        """The reward of every collision, paid immediately; None if it is not constant."""
        steady = isinstance(self.reward, Constant) and not (self.noise or self.pays_after or self.python)
        return float(self.reward.value) if steady else None  # pyright: ignore[reportAttributeAccessIssue]


def ring_length(kinds: Sequence[Kind]) -> int:
    """Return the length of the ring buffer of delayed rewards: a cell per step up to the longest delay; 1 if none.

    The reward of a collision at step t that is paid d steps later is added to cell (t + d) mod n; cell t mod n is paid
    and cleared in step t.
    """
    return max((kind.pays_after for kind in kinds), default=0) + 1


def check_color(color: Any, name: str) -> Color:
    """Return a colour as three whole numbers from 0 to 255; raise ConfigError for other values."""
    values: tuple[Any, ...] = tuple(color) if np.iterable(color) else ()
    numbers = all(isinstance(v, int | float | np.number) and v in range(256) for v in values)
    require(len(values) == 3 and numbers, f"color of {name!r}", "three whole numbers from 0 to 255", repr(color))
    return int(values[0]), int(values[1]), int(values[2])


class ForagerObject:
    """An object of `ForagerEnv`; subclass it and override `reward` and, optionally, `regen_delay` or `collision`.

    An instance is made when the agent first hits the object, because all objects of a world may not fit in memory.
    An object passed to `ForagerEnv.add_object` is itself in the world. If a method fails or returns an invalid value,
    the step is not taken.

    Attributes:
        name: its declared name, taken from `object_types`.
        blocking, collectable: the effect of a collision, as in `Kind`.
        color: RGB of the class; setting it on an instance changes the colour of this object only.
        target_location: where it returns; None for a random free cell. `location` is an alias.
        current_location: the cell in which it was placed, or in which the agent last hit it; None before that.
        last_collision: the clock at the previous collision; initially 0.
        lasts, rests: steps for which it is alternately present and absent, as in `Kind`.
    """

    blocking: bool = False
    collectable: bool = True
    color: Any = None
    target_location: tuple[int, int] | None = None
    current_location: tuple[int, int] | None = None
    last_collision: int = 0
    lasts: int = 0
    rests: int = 0
    name: str = ""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise mismatch(f"{type(self).__name__} > name", "a string", repr(name))
        if name is not None:
            self.name = name

    @property
    def location(self) -> tuple[int, int] | None:
        """The cell in which the object reappears; None for a random free cell."""
        return self.target_location

    @location.setter
    def location(self, place: tuple[int, int] | None) -> None:
        self.target_location = place

    def collision(self, rng: np.random.Generator, clock: int) -> float:
        """Return the reward of a collision at `clock`. This method is called once for each collision."""
        reward = self.reward(rng, clock)
        self.last_collision = clock
        return reward

    def reward(self, rng: np.random.Generator, clock: int) -> float:
        """Return the reward of a collision at `clock`; `rng` is for rewards only."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method reward(self, rng, clock), got none")

    def regen_delay(self, rng: np.random.Generator, clock: int) -> int | None:
        """Return the number of steps until it returns, None for never; `rng` is for delays only."""
        return int(rng.integers(10, 100))

    def to_kind(self) -> Kind:
        """Return the table row of this object; its methods are called in Python."""
        return self._fill(Kind(self.name, python=True))

    def _fill(self, row: Kind) -> Kind:
        """Return a row with the attributes of this object."""
        colors = row.colors if self.color is None else (check_color(self.color, self.name),)
        flags = {"blocking": bool(self.blocking), "collectable": bool(self.collectable)}
        return replace(row, name=self.name, colors=colors, lasts=self.lasts, rests=self.rests, **flags)


def overrides(thing: ForagerObject, base: type[ForagerObject], *names: str) -> bool:
    """Return whether the class of an object defines some of the methods of `base` itself."""
    return any(getattr(type(thing), name) is not getattr(base, name) for name in names)


class TableObject(ForagerObject):
    """An object that is only data, for which the compiled step does not call Python.

    `Wall((3, 4))` is a wall for the cell (3, 4); pass it to `ForagerEnv.add_object`.
    """

    row: Kind = Kind("object")

    @check_arguments
    def __init__(self, location: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.target_location = location
        self.blocking, self.collectable = self.row.blocking, self.row.collectable

    def reward(self, rng: np.random.Generator, clock: int) -> float:
        """Return the constant reward of the row."""
        return self.row.reward.value if isinstance(self.row.reward, Constant) else 0.0

    def to_kind(self) -> Kind:
        """Return its row, or a general row if a subclass overrides methods."""
        return self._fill(self.row) if is_data(self) else super().to_kind()


def is_data(thing: Any) -> bool:
    """Return whether an object is only data: no method of its class comes from outside this package."""
    return isinstance(thing, TableObject) and not overrides(thing, TableObject, "collision", "reward", "regen_delay")


class Wall(TableObject):
    """Object that blocks the way and gives no reward."""

    name = "wall"
    row = Kind("wall", blocking=True)


class Flower(TableObject):
    """Object with a reward of 1, which is collected and returns after 10 to 99 steps in a random free cell."""

    name = "flower"
    row = Kind("flower", collectable=True, reward=Constant(1.0))


class Thorns(TableObject):
    """Objects that cost 1 each time the agent enters their cell, and are not collected."""

    name = "thorns"
    row = Kind("thorns", reward=Constant(-1.0))


Factory = Callable[[], ForagerObject]
