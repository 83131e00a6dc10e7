"""What changes of itself under JAX: regions renewed, objects that return, an agent carried off."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import replace
from harvestgym.forager.kinds import Place
from harvestgym.forager.reward_context import TracedMoment
from harvestgym.forager.world import EMPTY, JUMP, RETURN

from .lookup import (
    AT_X,
    AT_Y,
    AWAY,
    BORN,
    DUE,
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
)
from .state import ForagerState
from .view import Seeing


@dataclass(frozen=True)
class Changing(Seeing):
    """A world that goes its own way before and after the agent acts."""

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
        rx, ry, found = free_cell(self.world, ground, slots, region, RETURN, slots[BORN, i], clock, state.x, state.y)
        there = look(self.world, ground, slots, slots[AT_X, i][None], slots[AT_Y, i][None], True)
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
