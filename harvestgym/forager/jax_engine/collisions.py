"""Collisions under JAX: what an object pays, whether it is taken, and when it will be back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import replace
from harvestgym.forager.hashing import bell, draw, scale
from harvestgym.forager.kinds import DelayLaw, Kind, Place
from harvestgym.forager.reward_laws import Constant
from harvestgym.forager.world import DELAY, EMPTY

from .dynamics import Changing
from .lookup import AWAY, GONE, HOME_X, HOME_Y, VACANT, meta, region_of, slot_at, state_of, word
from .state import ForagerParams, ForagerState

RATE = 1e-3
"""Weight of the newest reward in the running rate: about the last thousand steps."""


@dataclass(frozen=True)
class Meeting(Changing):
    """A world whose objects block, pay and are collected."""

    @cached_property
    def _digest(self) -> int:
        return max((kind.pays_after for kind in self.world.kinds), default=0) + 1

    def _meet(self, state: ForagerState, action: jax.Array, params: ForagerParams) -> tuple[ForagerState, jax.Array]:
        """The collision with what is ahead, and whether the way is free."""
        x, y = self._ahead(state, action)
        stays = (x == state.x) & (y == state.y)
        kind = jnp.where(stays, EMPTY, self._seen_ahead(state, action))
        slot = slot_at(state.slots, x, y)
        table = self._flags
        blocked = (kind >= 0) & table[0][kind]
        state = self._pay(replace(state, hit=kind), params, region_of(self.world, x, y))
        takes = (kind >= 0) & table[1][kind]
        return self._take(state, x, y, kind, slot, takes), ~blocked & ~stays

    @property
    def _flags(self) -> tuple[jax.Array, jax.Array]:
        kinds = self.world.kinds or (Kind("nothing"),)
        return jnp.array([k.blocking for k in kinds]), jnp.array([k.collectable for k in kinds])

    def _take(
        self, state: ForagerState, x: jax.Array, y: jax.Array, kind: jax.Array, slot: jax.Array, takes: jax.Array
    ) -> ForagerState:
        """Take an object away, unless the bound on changes is reached."""
        slots = state.slots
        vacant = state_of(slots) == VACANT
        i = jnp.where(slot >= 0, slot, jnp.argmax(vacant))
        room = (slot >= 0) | jnp.any(vacant)
        done = takes & room
        delay, never = self._delay(state, kind)
        fresh = slot < 0
        column = [
            jnp.where(fresh, x, slots[HOME_X, i]), jnp.where(fresh, y, slots[HOME_Y, i]),
            state.clock[1] + delay, state.events, meta(jnp.where(never, GONE, AWAY), jnp.maximum(kind, 0)),
        ]  # fmt: skip
        if self.world.moves:
            column += list(self._destination(kind, x, y))
        old = slots[:, i]
        r = region_of(self.world, x, y)
        row, col = self._place_in_view(state, x, y)
        return replace(
            state,
            slots=slots.at[:, i].set(jnp.where(done, jnp.stack(column), old)),
            events=state.events + done,
            eaten=state.eaten.at[r].add(done.astype(jnp.int32)),
            refused=state.refused + (takes & ~room),
            view=self._patched(state.view, row, col, EMPTY, done & self._in_view(row, col)),
        )

    def _destination(self, kind: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        fixed = jnp.array([k.place == Place.FIXED for k in self.world.kinds])[kind]
        target = jnp.array([k.target for k in self.world.kinds], jnp.uint32)[kind]
        return jnp.where(fixed, target[0], x), jnp.where(fixed, target[1], y)

    def _delay(self, state: ForagerState, kind: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(steps, whether never) until the object just taken returns."""
        delays = [k.delay for k in self.world.kinds] or [Kind("nothing").delay]
        laws = jnp.array([d.law for d in delays], jnp.int32)[kind]
        a, b = (jnp.array([getattr(d, n) for d in delays], jnp.int32)[kind] for n in ("a", "b"))
        k0, k1 = state.words[0], state.words[1]
        stream, zero = jnp.uint32(DELAY), jnp.uint32(0)
        uniform = a + scale(draw(k0, k1, stream, state.events, zero), word(b - a + 1)).astype(jnp.int32)
        if not any(d.law is DelayLaw.NORMAL for d in delays):
            return word(uniform), laws == DelayLaw.NEVER
        size, negative = bell(k0, k1, stream, state.events, zero)
        off = (size.astype(jnp.int32) * b) >> 16
        normal = jnp.maximum(jnp.where(negative == 1, a - off, a + off), 0)
        return word(jnp.where(laws == DelayLaw.NORMAL, normal, uniform)), laws == DelayLaw.NEVER

    def _pay(self, state: ForagerState, params: ForagerParams, region: jax.Array) -> ForagerState:
        """The reward of what was hit in `region`, now or when it is due."""
        generation = state.generation[region]
        reward, after = jnp.float32(0), jnp.int32(0)
        for i, kind in enumerate(self.world.kinds):
            if isinstance(kind.reward, Constant) and kind.reward.value == 0 and not kind.noise:
                continue
            now = self._moment(state, i, generation)
            worth = jnp.float32(kind.reward(now)) * params.worth[i]
            if kind.noise:
                worth = worth + np.float32(kind.noise) * now.noise()
            reward = jnp.where(state.hit == i, worth, reward)
            after = jnp.where(state.hit == i, kind.pays_after, after)
        if self._digest > 1:
            now = self._moment(state, 0, generation).phase(self._digest)
            owed = state.owed.at[(now + after) % self._digest].add(reward)
            reward = owed[now]
            state = replace(state, owed=owed.at[now].set(0.0))
        return replace(state, paid=reward, rate=state.rate + np.float32(RATE) * (reward - state.rate))
