"""Baselines that act on the view: towards the nearest object that pays, and along the best path in the aperture.

Both know the expected reward of each kind at the first step, and not that it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.rewards import JaxContext
from harvestgym.forager.world import MOVES, view_offsets

from .navigator import navigator
from .planning import choose_best, find_free, is_closed, neighbours, read_channels

STRAY = 0.1
"""Share of steps that the greedy agent takes at random, around what hurts: else a wall would hold it for ever."""


def _find_first_worth(env: Forager) -> tuple[float, ...]:
    """Return the expected reward of each kind at the first step."""
    zero, words = jnp.uint32(0), jnp.zeros(2, jnp.uint32)
    return tuple(float(k.reward(JaxContext(zero, zero, words, i, zero))) for i, k in enumerate(env.world.kinds))


@dataclass(frozen=True)
class _Greedy:
    """A step towards the nearest object in view that pays, around what hurts if another way is as short."""

    env: Forager
    worth: tuple[float, ...]

    def __call__(self, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
        seen, worth = read_channels(obs), jnp.array([0.0, *self.worth, 0.0], jnp.float32)
        rows, cols = seen.shape
        y, x = view_offsets(rows, cols)
        far = jnp.asarray(np.abs(x) + np.abs(y))
        good = (worth[seen] > 0) & (far > 0)
        target = jax.lax.argmin(jnp.where(good, far, rows + cols).ravel(), 0, jnp.int32)
        tx, ty = jnp.asarray(x).ravel()[target], jnp.asarray(y).ravel()[target]
        nearer = jnp.stack([(abs(tx - dx) + abs(ty - dy)) < abs(tx) + abs(ty) for dx, dy in MOVES])
        strays = jax.random.bernoulli(jax.random.fold_in(key, 1), STRAY)
        ahead = neighbours(seen)
        score = (nearer & jnp.any(good) & ~strays) - jnp.float32(0.5) * (worth[ahead] < 0)
        return carry, choose_best(score - jnp.float32(1e6) * ~find_free(self.env.world, is_closed)[ahead], key)


def greedy(env: Forager) -> Policy:
    """Towards the nearest object in view that pays; a random step where none is in view."""
    return Policy((), _Greedy(env, _find_first_worth(env)))


def planner(env: Forager, discount: float = 0.9) -> Policy:
    """Return the path of most discounted reward within the aperture: a navigator that goes nowhere else."""
    return navigator(env, discount, enough=-np.inf, worth=_find_first_worth(env))
