"""Rewards under JAX: the reward of a collision, now or when it is due, and the expected reward of each region."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import replace
from harvestgym.forager.reward_context import JaxContext
from harvestgym.forager.reward_laws import Constant
from harvestgym.forager.reward_payment import RATE, ring_cells, ring_length
from harvestgym.forager.world import World

from .state import ForagerParams, ForagerState


def reward_context(state: ForagerState, kind: int, generation: jax.Array) -> JaxContext:
    """Return the time and the draws that the reward law of a kind reads."""
    return JaxContext(state.clock[0], state.clock[1], state.words, kind, generation)


def clock_phase(state: ForagerState, period: int) -> jax.Array:
    """int32: the clock modulo `period`."""
    return reward_context(state, 0, jnp.uint32(0)).phase(period)


def pay(world: World, state: ForagerState, params: ForagerParams, region: jax.Array) -> ForagerState:
    """Pay for the collision with `state.hit` in `region`, now or when it is due."""
    generation = state.generation[region]
    reward, delay = jnp.float32(0), jnp.int32(0)
    for i, kind in enumerate(world.kinds):
        if isinstance(kind.reward, Constant) and kind.reward.value == 0 and not kind.noise:
            continue
        now = reward_context(state, i, generation)
        expected = jnp.float32(kind.reward(now)) * params.worth[i]
        if kind.noise:
            expected = expected + np.float32(kind.noise) * now.noise()
        reward = jnp.where(state.hit == i, expected, reward)
        delay = jnp.where(state.hit == i, kind.pays_after, delay)
    length = ring_length(world.kinds)
    if length > 1:
        later, now = ring_cells(clock_phase(state, length), delay, length)
        owed = state.owed.at[later].add(reward)
        reward = owed[now]
        state = replace(state, owed=owed.at[now].set(0.0))
    return replace(state, paid=reward, rate=state.rate + np.float32(RATE) * (reward - state.rate))


def region_values(world: World, state: ForagerState, params: ForagerParams) -> jax.Array:
    """float32 (regions,): expected reward of the collectable objects per cell, now, as generated."""
    rows = []
    for r, g in enumerate(world.regions):
        value = jnp.float32(0)
        for i, count in g.layers:
            kind = world.kinds[i]
            if kind.collectable:
                expected = kind.reward(reward_context(state, i, state.generation[r]))
                value = value + expected * params.worth[i] * np.float32(kind.share * count / g.cells)
        rows.append(value)
    return jnp.stack(rows)
