"""The forager as a functional environment: the same world, rules and draws as the host engine, for `vmap` and GPUs.

A step: renew what is eaten up, return what is due, meet what is ahead, move, look, count. The key that a step
is given is not used: every draw belongs to the seed, the clock and the number of the collision, so that both
engines make the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import replace
from harvestgym.forager.observations import channels, codes
from harvestgym.forager.senses import sensed, space
from harvestgym.forager.world import EMPTY

from .collisions import Meeting
from .lookup import VACANT, key_region, region_of, state_of, word
from .state import ForagerParams, ForagerState

_ONE = np.uint32(1)
BEGINNING = 5_000


def words_of(key: jax.Array) -> jax.Array:
    """uint32 (2,): the seed of the life that begins with a key."""
    return jax.random.bits(key, (2,), jnp.uint32)


@dataclass(frozen=True)
class Forager(Meeting):
    """A foraging world: the agent goes north, east, south or west and meets what stands there.

    Never terminates; a horizon truncates. Objects block, pay, are collected and return, as their kinds say.
    """

    family: ClassVar[str | None] = "harvestgym.forager.family"

    # -- structure -----------------------------------------------------------------------------------------

    @property
    def params(self) -> ForagerParams:
        """Every reward as its law says, and the horizon."""
        return ForagerParams(
            worth=jnp.ones(max(1, len(self.world.kinds)), jnp.float32), horizon=jnp.int32(self.horizon)
        )

    @property
    def evaluation_steps(self) -> int:
        """Steps of a life that go into a table or a picture: its own limit, and of an endless one the beginning."""
        return self.horizon or BEGINNING

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """As `observation_mode` says; with a hint a dict of `view` and `hint`."""
        return space(self.world, self.mode, self.aperture, self.hint)

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """North, east, south, west."""
        return gymnasium.spaces.Discrete(4)

    @cached_property
    def capacity(self) -> int:
        """Slots: no more than there can be objects to take."""
        takeable = [i for i, kind in enumerate(self.world.kinds) if kind.collectable]
        total = sum(n for region in self.world.regions for kind, n in region.layers if kind in takeable)
        return max(1, min(self.world.capacity, total))

    # -- the five parts ------------------------------------------------------------------------------------

    def initial(self, key: jax.Array, params: ForagerParams) -> ForagerState:
        """A life whose seed is 64 bits of the key."""
        return self.begin(words_of(key))

    def begin(self, words: Any) -> ForagerState:
        """The life of a seed of two words (`hashing.seed_words`): the same map as the host engine's."""
        words, n = word(words), len(self.world.regions)
        x, y = word(self.world.start[0]), word(self.world.start[1])
        keyed = [key_region(self.world, words, r, jnp.uint32(0), x, y) for r in range(n)]
        state = ForagerState(
            words=words,
            clock=jnp.zeros(2, jnp.uint32),
            events=jnp.uint32(0),
            x=x,
            y=y,
            slots=jnp.zeros((7 if self.world.moves else 5, self.capacity), jnp.uint32),
            view=jnp.full(self.aperture, EMPTY, jnp.int8),
            keys=jnp.stack([k for k, _, _ in keyed]),
            keep=jnp.stack([rank for _, rank, _ in keyed]),
            kept=jnp.stack([jnp.asarray(inside) for _, _, inside in keyed]),
            generation=jnp.zeros(n, jnp.uint32),
            eaten=jnp.zeros(n, jnp.int32),
            hit=jnp.int32(EMPTY),
            paid=jnp.float32(0),
            rate=jnp.float32(0),
            owed=jnp.zeros(self._digest, jnp.float32),
            refused=jnp.uint32(0),
        )
        return self._refresh(state)

    def transition(self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams) -> ForagerState:
        """One step."""
        state = self._renew(state) if self.world.renews else state
        state = self._come_back(state)
        state = self._refresh(state) if self.world.perishes else state
        state, moved = self._meet(state, jnp.asarray(action), params)
        state = self._move(state, jnp.asarray(action), moved)
        state = self._teleport(state) if self.world.teleport_every else state
        low = state.clock[1] + _ONE
        return replace(state, clock=jnp.stack([state.clock[0] + (low == 0), low]))

    def observation(self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams) -> Any:
        """What the agent sees."""
        view = self._image(state)
        if not self.hint[0]:
            return view
        shown = self._moment(state, 0, jnp.uint32(0)).phase(self.hint[1]) < self.hint[0]
        here = region_of(self.world, state.x, state.y) == jnp.arange(len(self.world.regions))
        return {"hint": here & shown, "view": view}

    def _image(self, state: ForagerState) -> jax.Array:
        if self.mode == "world":
            return self._survey(state)
        if self.mode != "colors":
            seen = state.view[..., None] == jnp.arange(channels(self.world), dtype=jnp.int8)
            return sensed(self.mode, seen, jnp)
        table = codes(self.world, "colors")
        tint = self._tints(state) if table.shape[1] > 1 else jnp.zeros((), jnp.int32)
        seen = jnp.broadcast_to(table[0, 0], (*self.aperture, 3))
        for kind, tints in enumerate(table[1:]):
            for i in range(table.shape[1]):
                here = (state.view == kind) & (tint == i)
                seen = jnp.where(here[..., None], tints[i], seen)
        return seen

    def reward(
        self, key: jax.Array, state: ForagerState, action: Any, after: ForagerState, params: ForagerParams
    ) -> jax.Array:
        """What was paid in the step."""
        return after.paid

    def truncation(self, state: ForagerState, params: ForagerParams) -> jax.Array:
        """Whether the horizon is reached."""
        low = jnp.asarray(params.horizon).astype(jnp.uint32)
        return (low > 0) & ((state.clock[0] > 0) | (state.clock[1] >= low))

    def info(self, state: ForagerState, params: ForagerParams) -> dict[str, Any]:
        """Metrics: rate, what was collected, biome, and the regret of being here rather than in the best biome."""
        biome = region_of(self.world, state.x, state.y)
        values = self.biome_values(state, params)
        return {
            "reward_rate": state.rate,
            "collided": state.hit,
            "collected": state.events.astype(jnp.int32),
            "biome": biome,
            "biome_value": values[biome],
            "biome_regret": jnp.max(values) - values[biome],
            "changed": jnp.sum(state_of(state.slots) != VACANT).astype(jnp.int32),
            "refused": state.refused.astype(jnp.int32),
        }

    def biome_values(self, state: ForagerState, params: ForagerParams) -> jax.Array:
        """float32 (regions,): expected reward of the collectable objects per cell, now, as generated."""
        rows = []
        for r, g in enumerate(self.world.regions):
            worth = jnp.float32(0)
            for kind, count in g.layers:
                if self.world.kinds[kind].collectable:
                    expected = self.world.kinds[kind].reward(self._moment(state, kind, state.generation[r]))
                    worth = worth + expected * params.worth[kind] * np.float32(
                        self.world.kinds[kind].share * count / g.cells
                    )
            rows.append(worth)
        return jnp.stack(rows)
