"""The inputs of a reward law: the clock, and draws for its kind and generation; equal in both engines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from . import hashing
from .hashing import NOISE, SERIES, STREAMS
from .numba_support import compiled

_WORD = 0xFFFFFFFF
_U = np.uint64


class LawContext(Protocol):
    """The time of a collision, and the draws of a kind's generation in its region.

    Attributes:
        xp: the array module to compute with, `numpy` or `jax.numpy`.
    """

    xp: Any

    def phase(self, period: int) -> Any:
        """Return the clock modulo `period` (at most 2^24 - 1), a whole number."""
        ...

    def uniforms(self, number: int) -> Any:
        """`number` draws from [0, 1) that belong to this seed, kind and generation; the same at every time."""
        ...


@compiled
def draw_noise(k0: int, k1: int, stream: int, low: int, high: int) -> float:
    """Return a bell-shaped draw of variance one for the clock (low, high) of the world whose seed is (k0, k1)."""
    size, negative = hashing.draw_bell(_U(k0), _U(k1), _U(stream), _U(low), _U(high))
    return (-1.0 if negative else 1.0) * np.int64(size) / 65536.0


@compiled
def draw_uniforms(k0: int, k1: int, stream: int, generation: int, out: np.ndarray) -> None:
    """Fill `out` with draws from [0, 1) of a stream and generation."""
    for i in range(len(out)):
        word = hashing.draw_word(_U(k0), _U(k1), _U(stream), _U(generation), _U(i))
        out[i] = np.int64(word >> _U(8)) / 16777216.0


@compiled
def _draw_batch(words: np.ndarray, stream: int, generations: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        draw_uniforms(words[i, 0], words[i, 1], stream, generations[i], out[i])


@lru_cache(maxsize=1024)
def _cached_uniforms(words: tuple[int, int], kind: int, generation: int, number: int) -> np.ndarray:
    out = np.empty(number, np.float32)
    draw_uniforms(*words, SERIES + STREAMS * kind, generation, out)
    out.flags.writeable = False
    return out


class HostContext:
    """The context of a collision on the host."""

    xp: Any = np

    def __init__(self, clock: int, words: tuple[int, int], kind: int, generation: int) -> None:
        self._clock, self._words, self._kind, self._generation = clock, words, kind, generation

    def phase(self, period: int) -> int:
        """Return the clock modulo `period`, exactly."""
        return self._clock % period

    def uniforms(self, number: int) -> np.ndarray:
        """float32 (number,) in [0, 1)."""
        return _cached_uniforms(self._words, self._kind, self._generation, number)

    def noise(self) -> float:
        """Return a bell-shaped draw of variance one that belongs to this step."""
        return draw_noise(*self._words, NOISE, self._clock & _WORD, (self._clock >> 32) & _WORD)


DrawCache: TypeAlias = dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]]
"""By kind, region and number: the seeds and generations that draws belong to, and the draws."""


class HostBatchContext:
    """The context of many episodes at one clock on the host: draws have a leading axis of episodes."""

    xp: Any = np

    def __init__(
        self, clock: int, words: np.ndarray, key: tuple[int, int], generations: np.ndarray, cache: DrawCache
    ) -> None:
        self._clock, self._words, self._key, self._generations, self._cache = clock, words, key, generations, cache

    def phase(self, period: int) -> int:
        """Return the clock modulo `period`, exactly."""
        return self._clock % period

    def uniforms(self, number: int) -> np.ndarray:
        """float32 (episodes, number) in [0, 1): for each episode the draws of its `HostContext`."""
        owners = np.column_stack([self._words, self._generations])
        cached = self._cache.get((*self._key, number))
        if cached is not None and np.array_equal(cached[0], owners):
            return cached[1]
        out = np.empty((len(owners), number), np.float32)
        _draw_batch(self._words, SERIES + STREAMS * self._key[0], self._generations, out)
        self._cache[(*self._key, number)] = owners, out
        return out


class JaxContext:
    """The context of a collision under JAX; the clock is the two words (high, low)."""

    def __init__(self, high: Any, low: Any, words: Any, kind: int, generation: Any) -> None:
        import jax.numpy as jnp

        self.xp: Any = jnp
        self._high, self._low, self._words = high, low, words
        self._kind, self._generation = kind, generation

    def phase(self, period: int) -> Any:
        """Return the clock modulo `period` as int32, exactly."""
        rest = hashing.modulo(self._high, self._low, self.xp.uint32(period))
        return rest.astype(self.xp.int32)

    def uniforms(self, number: int) -> Any:
        """float32 (number,) in [0, 1)."""
        index = self.xp.arange(number, dtype=self.xp.uint32)
        stream = self.xp.uint32(SERIES + STREAMS * self._kind)
        word = hashing.draw_word(self._words[0], self._words[1], stream, self._generation, index)
        return (word >> np.uint32(8)).astype(self.xp.float32) / np.float32(16777216)

    def noise(self) -> Any:
        """Return a bell-shaped draw of variance one that belongs to this step."""
        stream = self.xp.uint32(NOISE)
        size, negative = hashing.draw_bell(self._words[0], self._words[1], stream, self._low, self._high)
        return self.xp.where(negative == 1, -1.0, 1.0) * size.astype(self.xp.float32) / np.float32(65536)
