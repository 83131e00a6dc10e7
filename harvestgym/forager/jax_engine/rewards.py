"""Rewards under JAX: the reward of a collision, paid now or when it is due, and the expected reward of each region."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import replace
from harvestgym.forager import hashing
from harvestgym.forager.hashing import NOISE, SERIES, STREAMS
from harvestgym.forager.object_kinds import Kind, ring_length
from harvestgym.forager.reward_laws import RATE, Constant, check_reward
from harvestgym.forager.world import World

from .state import ForagerParams, ForagerState, put


class JaxContext:
    """The context of a collision under JAX; the clock is the two words (high, low)."""

    xp: Any = jnp

    def __init__(self, high: Any, low: Any, words: Any, kind: int, generation: Any) -> None:
        self._high, self._low, self._words = high, low, words
        self._kind, self._generation = kind, generation

    def phase(self, period: int) -> Array:
        """Return the clock modulo `period` as int32, exactly."""
        return hashing.modulo(self._high, self._low, jnp.uint32(period)).astype(jnp.int32)

    def uniforms(self, number: int) -> Array:
        """Return float32 (number,) in [0, 1)."""
        index, stream = jnp.arange(number, dtype=jnp.uint32), jnp.uint32(SERIES + STREAMS * self._kind)
        word = hashing.draw_word(self._words[0], self._words[1], stream, self._generation, index)
        return (word >> np.uint32(8)).astype(jnp.float32) / np.float32(16777216)

    def noise(self) -> Array:
        """Return the bell-shaped draw of variance one for this step."""
        k0, k1 = self._words[0], self._words[1]
        size, negative = hashing.draw_bell(k0, k1, jnp.uint32(NOISE), self._low, self._high)
        return jnp.where(negative == 1, -1.0, 1.0) * size.astype(jnp.float32) / np.float32(65536)


def reward_context(state: ForagerState, kind: int, generation: Array) -> JaxContext:
    """Return the time and the draws that the reward law of a kind reads."""
    return JaxContext(state.clock[0], state.clock[1], state.words, kind, generation)


def clock_phase(state: ForagerState, period: int) -> Array:
    """Return the clock modulo `period`, int32."""
    return reward_context(state, 0, jnp.uint32(0)).phase(period)


def expect_reward(kind: Kind, now: JaxContext) -> Array:
    """Return the expected reward of a kind, float32; raise ConfigError if its law does not give a single number."""
    given = kind.expect(now)
    return jnp.float32(given if isinstance(given, Array) and not given.ndim else check_reward(given, kind.name))


def pay(world: World, state: ForagerState, params: ForagerParams, region: Array) -> ForagerState:
    """Pay for the collision with `state.hit` in `region`, now or when it is due."""
    generation = state.generation[region]
    reward, delay = jnp.float32(0), jnp.int32(0)
    for i, kind in enumerate(world.kinds):
        if isinstance(kind.reward, Constant) and kind.reward.value == 0 and not kind.noise:
            continue
        now = reward_context(state, i, generation)
        expected = expect_reward(kind, now) * params.worth[i]
        if kind.noise:
            expected = expected + np.float32(kind.noise) * now.noise()
        reward = jnp.where(state.hit == i, expected, reward)
        delay = jnp.where(state.hit == i, kind.pays_after, delay)
    length = ring_length(world.kinds)
    if length > 1:
        now = clock_phase(state, length)
        later = (now + delay) % length
        owed = put(state.owed, later, state.owed[later] + reward)
        reward = owed[now]
        state = replace(state, owed=put(owed, now, 0.0))
    return replace(state, paid=reward, rate=state.rate + np.float32(RATE) * (reward - state.rate))


def region_values(world: World, state: ForagerState, params: ForagerParams) -> Array:
    """Return float32 (regions,): the current expected reward per cell, before any collectable objects are collected."""

    def expect(kind: int, region: int) -> Array:
        now = reward_context(state, kind, state.generation[region])
        return expect_reward(world.kinds[kind], now) * params.worth[kind]

    return jnp.stack([jnp.float32(value) for value in world.region_values(expect)])
