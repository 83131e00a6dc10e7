"""Rewards on the host: the context that a law reads, the reward of a collision, and the time at which it is paid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from harvestgym.forager import hashing
from harvestgym.forager.hashing import NOISE, SERIES, STREAMS
from harvestgym.forager.host_engine.numba_support import U64, WORD_MASK, compiled
from harvestgym.forager.object_kinds import Kind, ring_length


@compiled
def draw_noise(k0: int, k1: int, stream: int, low: int, high: int) -> float:
    """Return a bell-shaped draw of variance one for the clock (low, high) in the world with the seed (k0, k1)."""
    size, negative = hashing.draw_bell(U64(k0), U64(k1), U64(stream), U64(low), U64(high))
    return (-1.0 if negative else 1.0) * np.int64(size) / 65536.0


@lru_cache(maxsize=1024)
def _draw_uniforms(words: tuple[int, int], kind: int, generation: int, number: int) -> np.ndarray:
    k0, k1, stream, b = map(U64, (*words, SERIES + STREAMS * kind, generation))
    word = hashing.draw_word(k0, k1, stream, b, np.arange(number, dtype=U64))
    out = (word >> U64(8)).astype(np.float32) / np.float32(16777216)
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
        """Return float32 (number,) in [0, 1)."""
        return _draw_uniforms(self._words, self._kind, self._generation, number)

    def noise(self) -> float:
        """Return the bell-shaped draw of variance one for this step."""
        return draw_noise(*self._words, NOISE, self._clock & WORD_MASK, (self._clock >> 32) & WORD_MASK)


class DelayedRewards:
    """Ring buffers of delayed rewards, one per agent.

    Attributes:
        owed: float64 (agents, length).
    """

    def __init__(self, kinds: Sequence[Kind], number: int) -> None:
        self._delays = np.array([*(kind.pays_after for kind in kinds), 0])
        self.owed = np.zeros((number, ring_length(kinds)))

    def settle(self, hits: np.ndarray, clocks: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """Store the `rewards` for hits on kinds `hits` (-1: none); return the rewards due now, float64 (agents,)."""
        length = self.owed.shape[1]
        if length == 1:
            return rewards
        agents = np.arange(len(hits))
        now = clocks % length
        self.owed[agents, (now + self._delays[hits]) % length] += rewards
        due = self.owed[agents, now]
        self.owed[agents, now] = 0.0
        return due
