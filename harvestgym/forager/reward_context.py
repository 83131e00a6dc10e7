"""The clock and the numbers that a law may know, in each engine: the same integers in both."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from . import hashing
from .numba_support import compiled
from .world import NOISE, SERIES

_WORD = 0xFFFFFFFF
_U = np.uint64


@compiled
def _noise(k0: int, k1: int, stream: int, low: int, high: int) -> float:
    size, negative = hashing.bell(_U(k0), _U(k1), _U(stream), _U(low), _U(high))
    return (-1.0 if negative else 1.0) * np.int64(size) / 65536.0


@compiled
def _series(k0: int, k1: int, stream: int, generation: int, out: np.ndarray) -> None:
    for i in range(len(out)):
        word = hashing.draw(_U(k0), _U(k1), _U(stream), _U(generation), _U(i))
        out[i] = np.int64(word >> _U(8)) / 16777216.0


@compiled
def _series_of_all(words: np.ndarray, stream: int, generations: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        _series(words[i, 0], words[i, 1], stream, generations[i], out[i])


@lru_cache(maxsize=1024)
def _drawn(words: tuple[int, int], kind: int, generation: int, number: int) -> np.ndarray:
    out = np.empty(number, np.float32)
    _series(*words, SERIES + 16 * kind, generation, out)
    out.flags.writeable = False
    return out


class HostMoment:
    """A moment of a host life."""

    xp: Any = np

    def __init__(self, clock: int, words: tuple[int, int], kind: int, generation: int) -> None:
        self._clock, self._words, self._kind, self._generation = clock, words, kind, generation

    def phase(self, period: int) -> int:
        """The clock modulo `period`, exactly."""
        return self._clock % period

    def uniforms(self, number: int) -> np.ndarray:
        """float32 (number,) in [0, 1): the same for this seed, kind and generation at every moment."""
        return _drawn(self._words, self._kind, self._generation, number)

    def noise(self) -> float:
        """A bell-shaped draw of variance one that belongs to this step."""
        low, high = self._clock & _WORD, (self._clock >> 32) & _WORD
        return _noise(*self._words, NOISE, low, high)


Kept: TypeAlias = dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]]
"""By kind, region and number: the seeds and generations that draws belong to, and the draws."""


class HostMoments:
    """A moment of many host lives of one clock: what is drawn has a leading axis of lives."""

    xp: Any = np

    def __init__(self, clock: int, words: np.ndarray, at: tuple[int, int], generations: np.ndarray, kept: Kept) -> None:
        self._clock, self._words, self._at, self._generations, self._kept = clock, words, at, generations, kept

    def phase(self, period: int) -> int:
        """The clock modulo `period`, exactly."""
        return self._clock % period

    def uniforms(self, number: int) -> np.ndarray:
        """float32 (lives, number) in [0, 1): for each life what `HostMoment.uniforms` says."""
        mine = np.column_stack([self._words, self._generations])
        kept = self._kept.get((*self._at, number))
        if kept is not None and np.array_equal(kept[0], mine):
            return kept[1]
        out = np.empty((len(mine), number), np.float32)
        _series_of_all(self._words, SERIES + 16 * self._at[0], self._generations, out)
        self._kept[(*self._at, number)] = mine, out
        return out


class TracedMoment:
    """A moment of a JAX life; the clock is the two words (high, low)."""

    def __init__(self, high: Any, low: Any, words: Any, kind: int, generation: Any) -> None:
        import jax.numpy as jnp

        self.xp: Any = jnp
        self._high, self._low, self._words = high, low, words
        self._kind, self._generation = kind, generation

    def phase(self, period: int) -> Any:
        """The clock modulo `period` as int32, exactly."""
        rest = hashing.phase(self._high, self._low, self.xp.uint32(period))
        return rest.astype(self.xp.int32)

    def uniforms(self, number: int) -> Any:
        """float32 (number,) in [0, 1): the same for this seed, kind and generation at every moment."""
        index = self.xp.arange(number, dtype=self.xp.uint32)
        stream = self.xp.uint32(SERIES + 16 * self._kind)
        word = hashing.draw(self._words[0], self._words[1], stream, self._generation, index)
        return (word >> np.uint32(8)).astype(self.xp.float32) / np.float32(16777216)

    def noise(self) -> Any:
        """A bell-shaped draw of variance one that belongs to this step."""
        stream = self.xp.uint32(NOISE)
        size, negative = hashing.bell(self._words[0], self._words[1], stream, self._low, self._high)
        return self.xp.where(negative == 1, -1.0, 1.0) * size.astype(self.xp.float32) / np.float32(65536)
