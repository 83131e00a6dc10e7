"""The state of an episode under JAX as a pytree, and the parameters that may be mapped over."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.core.xla.fusion import traces_single_kernel


class ForagerParams(Pytree):
    """Numbers that can be mapped over, randomised or differentiated."""

    worth: Array = par("worth", "factor on the reward of each kind")
    horizon: Array = par("horizon#step", "steps until truncation, 0 for never", low=0, dtype="int")


class ForagerState(Pytree):
    """The state of an episode. Coordinates, clock and slots are words (uint32)."""

    words: Array = var("seed", "the two words of the seed", dtype="int", axes=())
    clock: Array = var("clock#step", "high and low word of the number of steps", dtype="int", axes=())
    events: Array = var("collected#count", "objects taken so far", dtype="int", axes=())
    x: Array = var("x#cell", "column of the agent, eastwards", dtype="int", axes=())
    y: Array = var("y#cell", "row of the agent, northwards", dtype="int", axes=())
    slots: Array = var("changed_objects", "the changed objects, one per column", dtype="int", axes=())
    view: Array = var("view", "kinds in view, -1 for none, rows north to south", low=-1, dtype="int", axes=())
    keys: Array = var("region_keys", "keys of the bijections", dtype="int", axes=())
    keep: Array = var("kept_rank", "reserved rank in each region, 2^32 - 1 for none", dtype="int", axes=())
    generation: Array = var("generation", "generations of each region so far", dtype="int", axes=())
    eaten: Array = var("eaten#count", "objects taken from the present generation", dtype="int", axes=())
    hit: Array = var("hit", "kind hit in the last step, -1 for none", low=-1, dtype="int", axes=())
    paid: Array = var("reward", "reward of the last step", low=-math.inf, axes=())
    rate: Array = var("reward_rate", "running mean reward of a step", low=-math.inf, axes=())
    owed: Array = var("owed", "rewards not yet paid, by step", low=-math.inf, axes=())
    refused: Array = var("refused#count", "objects that stayed because of the limit", dtype="int", axes=())


def put(array: Array, index: Any, value: Any, where: Any = True, axis: int = 0) -> Array:
    """Return `array` with `value` at an index of an axis, if `where` is true.

    Under `vmap`, an update would be a scatter, which cannot be part of a single kernel, so all entries are compared
    with the index. Elsewhere, the comparison would take a third longer, because XLA recomputes the value for each
    entry.
    """
    index, value = jnp.where(where, index, array.shape[axis]), jnp.asarray(value, array.dtype)
    if traces_single_kernel():
        here = jax.lax.broadcasted_iota(jnp.int32, array.shape, axis) == index
        return jnp.where(here, jnp.expand_dims(value, axis), array)
    return array.at[(slice(None),) * axis + (index,)].set(value, mode="drop")
