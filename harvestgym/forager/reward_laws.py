"""Reward laws: callables that give the expected reward of a kind as a function of time.

A law is any hashable callable `law(now) -> number` written with `now.xp`, so one definition serves both
engines. `now.phase(period)` is the clock modulo a period, exact after any number of steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from harvestgym.core.errors import ConfigError

from .reward_context import LawContext

MAX_PERIOD = 2**24 - 1


class RewardLaw(Protocol):
    """An expected reward as a function of time."""

    def __call__(self, now: LawContext) -> Any: ...


def _check_period(period: int) -> None:
    if isinstance(period, bool) or not isinstance(period, int) or not 1 <= period <= MAX_PERIOD:
        raise ConfigError(f"period: expected whole steps from 1 to 2^24 - 1, got {period!r}")


@dataclass(frozen=True)
class Constant:
    """Always `value`."""

    value: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ConfigError(f"reward: expected a finite number, got {self.value}")

    def __call__(self, now: LawContext) -> Any:
        return now.xp.float32(self.value)


@dataclass(frozen=True)
class Sine:
    """mean + amplitude * sin(2 pi (t + shift) / period): a season."""

    amplitude: float
    period: int
    mean: float = 0.0
    shift: int = 0

    def __post_init__(self) -> None:
        _check_period(self.period)

    def __call__(self, now: LawContext) -> Any:
        angle = _fraction(now, self.period) + np.float32(self.shift % self.period / self.period)
        return np.float32(self.mean) + np.float32(self.amplitude) * now.xp.sin(np.float32(2 * math.pi) * angle)


@dataclass(frozen=True)
class Square:
    """`first` for the first half of every period, `second` for the rest."""

    first: float
    second: float
    period: int

    def __post_init__(self) -> None:
        _check_period(self.period)

    def __call__(self, now: LawContext) -> Any:
        early = now.phase(self.period) < self.period // 2
        return now.xp.where(early, np.float32(self.first), np.float32(self.second))


@dataclass(frozen=True)
class Fourier:
    """A random periodic series: `terms` harmonics of `period`, drawn again for each generation.

    The amplitude of harmonic k falls as 1/k; the sum is scaled so that its variance is `amplitude`^2 on average.
    """

    terms: int
    period: int
    amplitude: float = 1.0

    def __post_init__(self) -> None:
        _check_period(self.period)
        if not 1 <= self.terms <= 64:
            raise ConfigError(f"terms: expected 1 to 64 harmonics, got {self.terms}")

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
class RewardSeries:
    """A table of rewards, each for `every` steps, over and over: weather, prices, any measured series."""

    values: tuple[float, ...]
    every: int = 1

    def __post_init__(self) -> None:
        _check_period(len(self.values) * self.every)
        if not all(math.isfinite(v) for v in self.values):
            raise ConfigError("values: expected finite rewards, got one that is not; try checking the series")

    def __call__(self, now: LawContext) -> Any:
        row = now.phase(len(self.values) * self.every) // self.every
        return now.xp.asarray(np.asarray(self.values, np.float32))[row]


BATCHED_LAWS = (Constant, Sine, Square, Fourier, RewardSeries)
"""The laws that accept a `HostBatchContext`, whose draws have a leading axis of episodes."""

LAWS = {"constant": Constant, "sine": Sine, "square": Square, "fourier": Fourier, "series": RewardSeries}
"""The laws by their names in catalogue files."""


def _fraction(now: LawContext, period: int) -> Any:
    return now.xp.asarray(now.phase(period)).astype(np.float32) / np.float32(period)
