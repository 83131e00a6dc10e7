"""Reward laws: callables that return the expected reward of a kind as a function of time.

A law is any hashable callable `law(now) -> number` written with `now.xp`, so that one definition works in both engines.
`now.phase(period)` is the clock modulo a period, which is exact after any number of steps.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Field

from harvestgym.core.checks import Checked
from harvestgym.core.errors import mismatch

MAX_PERIOD = 2**24 - 1

MAX_REWARD = 1e9
"""Largest absolute reward of a collision."""

RATE = 1e-3
"""Weight of the latest reward in the running mean, which covers about the last thousand steps."""

Reward = Annotated[float, Field(ge=-MAX_REWARD, le=MAX_REWARD)]
Period = Annotated[int, Field(ge=1, le=MAX_PERIOD)]


class LawContext(Protocol):
    """The time of a collision, and the random draws for one kind and generation in a region.

    Attributes:
        xp: the array module to compute with, `numpy` or `jax.numpy`.
    """

    xp: Any

    def phase(self, period: int) -> Any:
        """Return the clock modulo `period` (at most 2^24 - 1), as a whole number."""

    def uniforms(self, number: int) -> Any:
        """Return `number` draws from [0, 1) for this seed, kind and generation; they do not change with time."""


class RewardLaw(Protocol):
    """An expected reward as a function of time."""

    def __call__(self, now: LawContext) -> Any: ...


@dataclass(frozen=True)
class Constant(Checked):
    """A constant reward, `value`."""

    value: Reward = 0.0

    def __call__(self, now: LawContext) -> Any:
        return now.xp.float32(self.value)


@dataclass(frozen=True)
class Sine(Checked):
    """A season: mean + amplitude * sin(2 pi (t + shift) / period)."""

    amplitude: Reward
    period: Period
    mean: Reward = 0.0
    shift: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0

    def __call__(self, now: LawContext) -> Any:
        phase = now.xp.asarray(now.phase(self.period)).astype(np.float32)
        angle = phase / np.float32(self.period) + np.float32(self.shift % self.period / self.period)
        return np.float32(self.mean) + np.float32(self.amplitude) * now.xp.sin(np.float32(2 * math.pi) * angle)


@dataclass(frozen=True)
class Square(Checked):
    """A square wave: `first` in the first half of every period, `second` in the other half."""

    first: Reward
    second: Reward
    period: Period

    def __call__(self, now: LawContext) -> Any:
        early = now.phase(self.period) < self.period // 2
        return now.xp.where(early, np.float32(self.first), np.float32(self.second))


@dataclass(frozen=True)
class Fourier(Checked):
    """A random periodic series: `terms` harmonics of `period`, which are redrawn for each generation.

    The amplitude of harmonic k decreases as 1/k; the sum is scaled so that its variance is `amplitude ** 2` on average.
    """

    terms: Annotated[int, Field(ge=1, le=64)]
    period: Period
    amplitude: Reward = 1.0

    def __call__(self, now: LawContext) -> Any:
        k = np.arange(1, self.terms + 1)
        coefficients = 2 * now.uniforms(2 * self.terms) - 1
        size = np.float32(self.amplitude * math.sqrt(3 / (1 / k**2).sum()))
        phases = now.phase(self.period)
        turns = (now.xp.asarray(phases)[..., None].astype(np.uint32) * k.astype(np.uint32)) % np.uint32(self.period)
        angle = turns.astype(np.float32) * np.float32(2 * math.pi / self.period)
        even, odd = coefficients[..., : self.terms], coefficients[..., self.terms :]
        waves = even * now.xp.cos(angle) + odd * now.xp.sin(angle)
        return size * (waves / k.astype(np.float32)).sum(-1)


@dataclass(frozen=True)
class RewardSeries(Checked):
    """A repeating series of rewards, each for `every` steps, such as weather, prices or other measurements."""

    values: Annotated[tuple[Reward, ...], Field(min_length=1)]
    every: Period = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if (period := len(self.values) * self.every) > MAX_PERIOD:
            raise mismatch("values", "a period of at most 2^24 - 1 steps", period)

    def __call__(self, now: LawContext) -> Any:
        row = now.phase(len(self.values) * self.every) // self.every
        return now.xp.asarray(np.asarray(self.values, np.float32))[row]


def read_number(given: Any) -> float:
    """Return a single number as a float; nan for anything else, such as a string or several numbers."""
    try:
        return math.nan if isinstance(given, str | bytes) or np.ndim(given) else float(given)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_reward(reward: Any, name: str) -> float:
    """Return a reward as a float; raise ConfigError if it is not a finite number."""
    value = read_number(reward)
    if not math.isfinite(value):
        raise mismatch(f"reward of {name!r}", "a finite number", reprlib.repr(reward))
    return value


LAWS = {"constant": Constant, "sine": Sine, "square": Square, "fourier": Fourier, "series": RewardSeries}
"""The laws by their names in catalogue files."""
