"""A policy that knows the reward laws and the time: it takes the best path in view, or walks to the best biome.

It plans with current rewards, and tracks its position by counting steps. It distinguishes foods of the same colour by
the biome of their cell. If nothing in view pays enough, it walks to the biome that pays most now, so it crosses the
world when the rewards of foods change sign. The value of a food with a random reward series is its last reward, unless
the observation contains current rewards, as `worth` next to the `view`. Its numbers are tuned for each world
(`harvestgym tune`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial

from harvestgym.core.env import Timestep
from harvestgym.core.policy import Policy
from harvestgym.forager.jax_engine.cells import to_word
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.rewards import JaxContext
from harvestgym.forager.observations import MODES, OUTSIDE, choose_colors
from harvestgym.forager.reward_laws import Fourier
from harvestgym.forager.world import MOVES, view_offsets

from .planning import choose_best, find_free, is_closed, neighbours, plan, read_channels

DISCOUNT = 0.9

CLOSE = 0.7
"""Weight of nearby food at a distance of one step; at n steps, the weight is this number to the power n."""

NEVER_MET = -1


class NavigatorMemory(NamedTuple):
    """The memory of a navigator.

    Attributes:
        x, y, clock: int32, the position and time as counted by the agent.
        last: int32, the last action, initially -1.
        ahead: int32, the kind in the cell to which the last action led: 0 for nothing, 1 ... for the kinds.
        paid: float32 (kinds,), the last reward of each kind.
        met: int32 (kinds,), the clock of that reward, or `NEVER_MET`.
    """

    x: Array
    y: Array
    clock: Array
    last: Array
    ahead: Array
    paid: Array
    met: Array


class Numbers(NamedTuple):
    """The numbers of a navigator, each float32; see `navigator`."""

    discount: Array
    enough: Array
    crowd: Array
    straight: Array
    unknown: Array
    doubt: Array


@dataclass(frozen=True)
class _Navigator:
    env: Forager
    worth: tuple[float, ...] | None

    def __call__(self, numbers: Numbers, carry: NavigatorMemory, obs: Any, key: Array) -> tuple[NavigatorMemory, Array]:
        x, y = carry.x, carry.y
        informed = isinstance(obs, dict)
        view, worth = (obs["view"], obs["worth"]) if informed else (obs, self._find_worth(numbers, carry))
        worth = jnp.pad(worth, 1)  # nothing, each kind, the outside
        kinds = read_channels(view) if MODES[self.env.mode].has_channels else self._read_colors(view, x, y)
        free = find_free(self.env.world, lambda kind: kind.blocking)[kinds]
        pays, open_ = worth[kinds], find_free(self.env.world, is_closed)[kinds]
        gains = pays + numbers.crowd * jnp.where(pays > 0, add_near(jnp.where(open_, pays, 0.0)), 0.0)
        path = plan(gains, open_, sum(self.env.aperture) // 2 + 1, numbers.discount)
        ahead = self._lead_to_biome(worth, x, y) - jnp.float32(2.0) * (neighbours(pays) < 0)
        ahead = ahead - jnp.float32(1e6) * ~neighbours(free)
        ahead = ahead + numbers.straight * (jnp.arange(len(MOVES), dtype=jnp.int32) == carry.last)
        action = choose_best(jnp.where(jnp.max(path) > numbers.enough, path, ahead), key)
        dx, dy = jnp.asarray(MOVES, jnp.int32)[action] * neighbours(free)[action]
        world, ahead = self.env.world, neighbours(kinds)[action].astype(jnp.int32)
        place = (x + dx) % world.width, (y + dy) % world.height
        return NavigatorMemory(*place, carry.clock + 1, action, ahead, carry.paid, carry.met), action

    def _read_colors(self, obs: Array, x: Array, y: Array) -> Array:
        """Return the kinds as `read_channels` does, from colours; biomes distinguish kinds of the same colour."""
        world, (north, east) = self.env.world, view_offsets(*self.env.aperture)
        region = world.find_region((x + east) % world.width, (y + north) % world.height, jnp)
        shown = lambda color: jnp.all(obs == jnp.array(color, jnp.uint8), -1)  # noqa: E731
        out = jnp.where(shown(OUTSIDE), jnp.int32(len(world.kinds) + 1), 0)
        alike = [jnp.any(jnp.stack([shown(c) for c in tints]), 0) for tints in choose_colors(world.kinds)]
        for i, here in enumerate(alike):
            out = jnp.where(here & (out == 0), i + 1, out)
        for i, here in enumerate(alike):
            native = jnp.array([any(kind == i for kind, _ in g.layers) for g in world.regions])[region]
            out = jnp.where(here & native, i + 1, out)
        return out

    def _find_worth(self, numbers: Numbers, carry: NavigatorMemory) -> Array:
        """Return float32 (kinds,): current expected rewards; for a random series, the last one, increased over time."""
        if self.worth is not None:
            return jnp.array(self.worth, jnp.float32)
        words, zero, now = jnp.zeros(2, jnp.uint32), jnp.uint32(0), to_word(carry.clock)
        paid = carry.paid + numbers.doubt / 1000 * (carry.clock - carry.met)
        worth = jnp.where(carry.met == NEVER_MET, numbers.unknown, paid)
        for i, kind in enumerate(self.env.world.kinds):
            if not isinstance(kind.reward, Fourier):
                worth = worth.at[i].set(kind.reward(JaxContext(zero, now, words, i, zero)))
        return worth

    def _lead_to_biome(self, worth: Array, x: Array, y: Array) -> Array:
        """Return (4,): 1 for each action towards the middle of the best biome; all 0 inside it or with teleports."""
        world = self.env.world
        if world.teleport_every:
            return jnp.zeros(4, jnp.float32)
        values = [jnp.float32(value) for value in world.region_values(lambda kind, _: worth[kind + 1])]
        target = jax.lax.argmax(jnp.stack(values), 0, jnp.int32)
        middle = jnp.array([(g.x + g.width // 2, g.y + g.height // 2) for g in world.regions], jnp.int32)[target]
        off = middle - jnp.stack([x, y])
        if world.edge == "torus":
            half = jnp.array([world.width // 2, world.height // 2], jnp.int32)
            off = (off + half) % jnp.array([world.width, world.height], jnp.int32) - half
        far, *after = (jnp.abs(off - step).sum(dtype=jnp.int32) for step in np.array([(0, 0), *MOVES], np.int32))
        nearer = jnp.stack(after) < far
        return (nearer & (world.find_region(x, y, jnp) != target)).astype(jnp.float32)


def remember_reward(carry: NavigatorMemory, last: Timestep) -> NavigatorMemory:
    """Store the reward of the kind in the cell to which the last action led."""
    met = jnp.arange(1, len(carry.met) + 1, dtype=jnp.int32) == carry.ahead
    return carry._replace(paid=jnp.where(met, last.reward, carry.paid), met=jnp.where(met, carry.clock, carry.met))


def add_near(pays: Array) -> Array:
    """Return float32 (rows, columns): by cell, the positive rewards of the others in view, weighted by distance."""
    food = jnp.maximum(pays, 0.0)
    steps = (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) for n in food.shape)
    along, across = (jnp.asarray(np.float32(CLOSE) ** step, jnp.float32) for step in steps)
    return along @ food @ across - food


def navigator(
    env: Forager,
    discount: float = DISCOUNT,
    enough: float = 0.0,
    crowd: float = 0.0,
    straight: float = 0.0,
    unknown: float = 1.0,
    doubt: float = 0.0,
    worth: tuple[float, ...] | None = None,
) -> Policy:
    """Return the navigator for `objects` or `colors` observations; it must act from the start of an episode.

    Args:
        env: the world; if its observations are dicts of `view` and `worth`, rewards are read from `worth`.
        discount: discount per step on the path to a reward.
        enough: if the best discounted reward in view is below this, the agent walks on to the best biome.
        crowd: fraction of the nearby food that is added to the value of a food, so that it prefers clusters.
        straight: preference for the last direction while walking on; the direction of the best biome has preference 1.
        unknown: value of a food with a random reward series before its first encounter.
        doubt: increase in the value of such a food above its last reward, per 1,000 steps.
        worth: constant value of each kind; by default, values follow the reward laws.
    """
    numbers = Numbers(*map(jnp.float32, (discount, enough, crowd, straight, unknown, doubt)))
    x, y, kinds = *env.world.start, len(env.world.kinds)
    place = jnp.int32(x), jnp.int32(y), jnp.int32(0)
    never = jnp.full(kinds, NEVER_MET, jnp.int32)
    start = NavigatorMemory(*place, jnp.int32(-1), jnp.int32(0), jnp.zeros(kinds, jnp.float32), never)
    return Policy(start, Partial(_Navigator(env, worth), numbers), remember_reward)


def planner(env: Forager, discount: float = DISCOUNT) -> Policy:
    """Return a navigator that only takes the path with the highest discounted reward within the aperture.

    It knows the expected reward of each kind at the first step, but does not know that rewards change.
    """
    return navigator(env, discount, enough=-np.inf, worth=find_first_worth(env))


def find_first_worth(env: Forager) -> tuple[float, ...]:
    """Return the expected reward of each kind at the first step."""
    zero, words = jnp.uint32(0), jnp.zeros(2, jnp.uint32)
    return tuple(float(k.reward(JaxContext(zero, zero, words, i, zero))) for i, k in enumerate(env.world.kinds))
