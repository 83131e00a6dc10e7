"""The forager as a functional environment: the same world, rules and draws as the host engine, for `vmap` and GPUs.

A step: renew what is eaten up, return what is due, meet what is ahead, move, look, count. The key that a step
is given is not used: every draw belongs to the seed, the clock and the number of the collision, so that both
engines make the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from ..core.tree import replace
from .drift import Constant
from .hashing import bell, draw, scale
from .moment import TracedMoment
from .objects import DelayLaw, Kind, Place
from .observe import channels, codes
from .seeing import Seeing
from .state import ForagerParams, ForagerState
from .traced import (
    AT_X,
    AT_Y,
    AWAY,
    BORN,
    DUE,
    GONE,
    HOME_X,
    HOME_Y,
    META,
    STANDING,
    VACANT,
    free_cell,
    key_region,
    kind_of,
    look,
    meta,
    region_of,
    state_of,
    word,
)
from .world import DELAY, EMPTY, JUMP, RETURN

_ONE = np.uint32(1)
RATE = 1e-3
"""Weight of the newest reward in the running rate: about the last thousand steps."""


@dataclass(frozen=True)
class Forager(Seeing):
    """A foraging world: the agent goes north, east, south or west and meets what stands there.

    Never terminates; a horizon truncates. Objects block, pay, are collected and return, as their kinds say.
    """

    # -- structure -----------------------------------------------------------------------------------------

    @property
    def params(self) -> ForagerParams:
        """Every reward as its law says, and the horizon."""
        return ForagerParams(
            worth=jnp.ones(max(1, len(self.world.kinds)), jnp.float32), horizon=jnp.int32(self.horizon)
        )

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """As `observation_mode` says: bool channels or bytes of colour."""
        if self.mode == "colors":
            return gymnasium.spaces.Box(0, 255, (*self.aperture, 3), np.uint8)
        seen = (*self.aperture, channels(self.world))
        everything = (self.world.height, self.world.width, len(self.world.kinds) + 1)
        shape, truth = everything if self.mode == "world" else seen, np.dtype(bool)
        return gymnasium.spaces.Box(0, 1, shape, truth)  # pyright: ignore[reportArgumentType, reportCallIssue]

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

    @cached_property
    def _digest(self) -> int:
        return max((kind.pays_after for kind in self.world.kinds), default=0) + 1

    # -- the five parts ------------------------------------------------------------------------------------

    def initial(self, key: jax.Array, params: ForagerParams) -> ForagerState:
        """A life whose seed is 64 bits of the key."""
        return self.begin(jax.random.bits(key, (2,), jnp.uint32))

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

    def transition(
        self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams
    ) -> ForagerState:
        """One step."""
        state = self._renew(state) if self.world.renews else state
        state = self._come_back(state)
        state, moved = self._meet(state, jnp.asarray(action), params)
        state = self._move(state, jnp.asarray(action), moved)
        state = self._teleport(state) if self.world.teleport_every else state
        low = state.clock[1] + _ONE
        return replace(state, clock=jnp.stack([state.clock[0] + (low == 0), low]))

    def observation(self, key: jax.Array, state: ForagerState, action: Any, params: ForagerParams) -> jax.Array:
        """What the agent sees."""
        if self.mode == "world":
            return self._survey(state)
        if self.mode == "objects":
            return state.view[..., None] == jnp.arange(channels(self.world), dtype=jnp.int8)
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
                    worth = worth + expected * params.worth[kind] * np.float32(count / g.cells)
            rows.append(worth)
        return jnp.stack(rows)

    # -- sub-steps -----------------------------------------------------------------------------------------

    def _moment(self, state: ForagerState, kind: int, generation: jax.Array) -> TracedMoment:
        return TracedMoment(state.clock[0], state.clock[1], state.words, kind, generation)

    def _renew(self, state: ForagerState) -> ForagerState:
        """A new generation for each region that is eaten up or whose time has come."""
        changed = jnp.asarray(False)
        for r, g in enumerate(self.world.regions):
            if not (g.renew_eaten or g.renew_every):
                continue
            due = (state.eaten[r] >= g.renew_eaten) if g.renew_eaten else jnp.asarray(False)
            if g.renew_every:
                phase = self._moment(state, 0, jnp.uint32(0)).phase(g.renew_every)
                due = due | ((phase == 0) & jnp.any(state.clock > 0))
            state = self._regrow(state, r, due)
            changed = changed | due
        return jax.lax.cond(changed, self._refresh, lambda s: s, state)

    def _regrow(self, state: ForagerState, r: int, due: jax.Array) -> ForagerState:
        generation = state.generation[r] + due
        keys, keep, kept = key_region(self.world, state.words, r, generation, state.x, state.y)
        native = region_of(self.world, state.slots[HOME_X], state.slots[HOME_Y]) == r
        cleared = jnp.where(native & due, np.uint32(VACANT), state.slots[META])
        put = lambda old, new: old.at[r].set(jnp.where(due, new, old[r]))  # noqa: E731
        return replace(
            state,
            generation=state.generation.at[r].set(generation),
            eaten=put(state.eaten, 0),
            keys=put(state.keys, keys),
            keep=put(state.keep, keep),
            kept=put(state.kept, kept),
            slots=state.slots.at[META].set(cleared),
        )

    def _due(self, state: ForagerState) -> jax.Array:
        late = (state.clock[1] - state.slots[DUE]).astype(jnp.int32) >= 0
        return late & (state_of(state.slots) == AWAY)

    def _come_back(self, state: ForagerState) -> ForagerState:
        """Return what is due, in the order of collection; what finds no free cell waits one step."""
        return self._each_to_its_place(state) if self.world.moves else self._all_home(state)

    def _all_home(self, state: ForagerState) -> ForagerState:
        """All that is due returns home, unless the agent stands there: no home is ever taken by another."""
        x, y = state.slots[HOME_X], state.slots[HOME_Y]
        back = self._due(state) & ~((x == state.x) & (y == state.y))
        row, col = self._place_in_view(state, x, y)
        shown = back & self._in_view(row, col)
        kinds = kind_of(state.slots)

        def show(loop: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            left, view = loop
            i = jnp.argmax(left)
            return left.at[i].set(False), self._patched(view, row[i], col[i], kinds[i], jnp.any(left))

        _, view = jax.lax.while_loop(lambda loop: jnp.any(loop[0]), show, (shown, state.view))
        cleared = jnp.where(back, np.uint32(VACANT), state.slots[META])
        return replace(state, view=view, slots=state.slots.at[META].set(cleared))

    def _each_to_its_place(self, state: ForagerState) -> ForagerState:
        def one(loop: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            slots, view, left = loop
            i = jnp.argmax(jnp.where(left, state.events - slots[BORN], np.uint32(0)))
            after = self._return(replace(state, slots=slots, view=view), i)
            return after.slots, after.view, left.at[i].set(False)

        loop = state.slots, state.view, self._due(state)
        slots, view, _ = jax.lax.while_loop(lambda loop: jnp.any(loop[2]), one, loop)
        return replace(state, slots=slots, view=view)

    def _return(self, state: ForagerState, i: jax.Array) -> ForagerState:
        """Let the object of slot `i` stand where its kind says, if the cell is free."""
        slots, kind = state.slots, kind_of(state.slots)[i]
        places = jnp.array([k.place for k in self.world.kinds], jnp.int32)[kind]
        home = region_of(self.world, slots[HOME_X, i], slots[HOME_Y, i])
        region = jnp.where(places == Place.REGION, home, 0)
        ground, clock = self._ground(state), state.clock[1]
        rx, ry, found = free_cell(
            self.world, ground, slots, region, RETURN, slots[BORN, i], clock, state.x, state.y
        )
        there, _ = look(self.world, ground, slots, slots[AT_X, i][None], slots[AT_Y, i][None])
        agent = (slots[AT_X, i] == state.x) & (slots[AT_Y, i] == state.y)
        own = (places == Place.SAME) | (places == Place.FIXED)
        ok = jnp.where(own, (there[0] == EMPTY) & ~agent, found)
        x, y = jnp.where(own, slots[AT_X, i], rx), jnp.where(own, slots[AT_Y, i], ry)
        at_home = (x == slots[HOME_X, i]) & (y == slots[HOME_Y, i])
        become = meta(jnp.where(at_home, VACANT, STANDING), kind)
        settled = jnp.concatenate([slots[:META, i], jnp.stack([become, x, y])])
        row, col = self._place_in_view(state, x, y)
        view = self._patched(state.view, row, col, kind, ok & self._in_view(row, col))
        slots = slots.at[:, i].set(jnp.where(ok, settled, slots[:, i]))
        return replace(state, slots=slots, view=view)

    def _meet(
        self, state: ForagerState, action: jax.Array, params: ForagerParams
    ) -> tuple[ForagerState, jax.Array]:
        """The collision with what is ahead, and whether the way is free."""
        x, y = self._ahead(state, action)
        stays = (x == state.x) & (y == state.y)
        kinds, slots = look(self.world, self._ground(state), state.slots, x[None], y[None])
        kind = jnp.where(stays, EMPTY, kinds[0])
        table = self._flags
        blocked = (kind >= 0) & table[0][kind]
        state = self._pay(replace(state, hit=kind), params, region_of(self.world, x, y))
        takes = (kind >= 0) & table[1][kind]
        return self._take(state, x, y, kind, slots[0], takes), ~blocked & ~stays

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

    def _teleport(self, state: ForagerState) -> ForagerState:
        """Every so many steps put the agent on a free cell of the next region in turn."""
        every, stops = self.world.teleport_every, self.world.teleport_to or (0,)
        phase = self._moment(state, 0, jnp.uint32(0)).phase(every * len(stops))
        turn, now = phase // every, (phase + 1) % every == 0
        region = jnp.array(stops, jnp.int32)[turn]
        clock = state.clock[1]
        x, y, found = free_cell(
            self.world, self._ground(state), state.slots, region, JUMP, jnp.uint32(0), clock, state.x, state.y
        )
        jump = now & found
        moved = replace(state, x=jnp.where(jump, x, state.x), y=jnp.where(jump, y, state.y))
        return jax.lax.cond(jump, self._refresh, lambda s: s, moved)
