"""An expert for observations in colours: it knows the biomes, the laws and the clock, and counts its own position.

It distinguishes foods of one colour by the biome of their cell. Where nothing in view pays it walks to the biome
that pays most now, and so crosses the world when the foods change sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.forager.jax_engine.lookup import find_region, to_word
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import OUTSIDE, choose_colors
from harvestgym.forager.reward_context import JaxContext
from harvestgym.forager.reward_laws import Fourier
from harvestgym.forager.world import MOVES

from .baselines import choose_best, neighbours, plan

Position: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]
"""int32 x, y and clock, as the agent has counted them."""


@dataclass(frozen=True)
class _Navigator:
    env: Forager
    discount: float

    def __call__(self, carry: Position, obs: jax.Array, key: jax.Array) -> tuple[Position, jax.Array]:
        x, y, clock = carry
        kinds, worth = self._kinds(obs, x, y), self._expected_rewards(clock)
        open_ = jnp.array([True, *(not k.blocking for k in self.env.world.kinds), False])[kinds]
        pays = worth[kinds]
        path = plan(pays, open_, sum(self.env.aperture) // 2 + 1, self.discount)
        far = self._towards(worth, x, y) - 2.0 * (neighbours(pays) < 0) - 1e6 * ~neighbours(open_)
        action = choose_best(jnp.where(jnp.max(path) > 0, path, far), key)
        dx, dy = jnp.asarray(MOVES, jnp.int32)[action] * neighbours(open_)[action]
        world = self.env.world
        return ((x + dx) % world.width, (y + dy) % world.height, clock + 1), action

    def _kinds(self, obs: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        """int32 (rows, columns): 0 for nothing, 1 ... for the kinds, and the last for the outside."""
        world, (rows, cols) = self.env.world, self.env.aperture
        north, east = np.meshgrid(rows // 2 - np.arange(rows), np.arange(cols) - cols // 2, indexing="ij")
        region = find_region(world, to_word((x + east) % world.width), to_word((y + north) % world.height))
        shown = lambda color: jnp.all(obs == jnp.array(color, jnp.uint8), -1)  # noqa: E731
        out = jnp.where(shown(OUTSIDE), len(world.kinds) + 1, 0)
        alike = [jnp.any(jnp.stack([shown(c) for c in tints]), 0) for tints in choose_colors(world.kinds)]
        for i, here in enumerate(alike):
            out = jnp.where(here & (out == 0), i + 1, out)
        for i, here in enumerate(alike):
            native = jnp.array([any(kind == i for kind, _ in g.layers) for g in world.regions])[region]
            out = jnp.where(here & native, i + 1, out)
        return out

    def _expected_rewards(self, clock: jax.Array) -> jax.Array:
        """float32 (kinds + 2,): the rewards of nothing, each kind and the outside now; random series count for 0."""
        words, zero = jnp.zeros(2, jnp.uint32), jnp.uint32(0)
        laws = [(i, k.reward) for i, k in enumerate(self.env.world.kinds)]
        now = [0.0 if isinstance(law, Fourier) else law(JaxContext(zero, to_word(clock), words, i, zero))
               for i, law in laws]  # fmt: skip
        return jnp.stack([jnp.float32(w) for w in (0.0, *now, 0.0)])

    def _towards(self, worth: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        """(4,): 1 for each action that leads to the middle of the best biome, 0 for all if it is there already."""
        world, kinds = self.env.world, self.env.world.kinds
        rows = []
        for g in world.regions:
            pays = [worth[i + 1] * (count / g.cells) for i, count in g.layers if kinds[i].collectable]
            rows.append(sum(pays, jnp.float32(0)))
        target = jnp.argmax(jnp.stack(rows))
        middle = jnp.array([(g.x + g.width // 2, g.y + g.height // 2) for g in world.regions])[target]
        off = middle - jnp.stack([x, y])
        if world.edge == "torus":
            half = jnp.array([world.width // 2, world.height // 2])
            off = (off + half) % jnp.array([world.width, world.height]) - half
        nearer = jnp.stack([jnp.abs(off - step).sum() < jnp.abs(off).sum() for step in MOVES.astype(np.int32)])
        return 1.0 * nearer * (find_region(world, to_word(x), to_word(y)) != target)


def navigator(env: Forager, discount: float = 0.9) -> Policy:
    """Return the expert for observations in colours, from the start of an episode on."""
    x, y = env.world.start
    return Policy((jnp.int32(x), jnp.int32(y), jnp.int32(0)), _Navigator(env, discount))
