"""Collisions under JAX: whether an object blocks the agent, whether it is taken, and when it returns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import replace
from harvestgym.forager.hashing import DELAY, draw_bell, draw_word, scale_word
from harvestgym.forager.object_kinds import DelayLaw, Kind, ReturnPlace
from harvestgym.forager.world import AWAY, EMPTY, GONE, VACANT, World

from .cells import HOME_X, HOME_Y, find_slot, pack, to_word, unpack_state
from .rewards import pay
from .state import ForagerParams, ForagerState, put
from .view import find_cell_ahead, find_kind_ahead, locate_in_view, patch


def collide(world: World, state: ForagerState, action: Array, params: ForagerParams) -> tuple[ForagerState, Array]:
    """Collide with the object ahead; return the state, and whether its cell can be entered."""
    x, y = find_cell_ahead(world, state, action)
    stays = (x == state.x) & (y == state.y)
    kind = jnp.where(stays, EMPTY, find_kind_ahead(world, state, action))
    slot = find_slot(state.slots, x, y)
    kinds = world.kinds or (Kind("nothing"),)
    blocked = (kind >= 0) & jnp.array([k.blocking for k in kinds])[kind]
    takes = (kind >= 0) & jnp.array([k.collectable for k in kinds])[kind]
    room = (slot >= 0) | jnp.any(unpack_state(state.slots) == VACANT)
    hit = jnp.where(takes & ~room, EMPTY, kind)  # an object that must stay does not count as hit
    state = pay(world, replace(state, hit=hit), params, world.find_region(x, y, jnp))
    return _take(world, state, x, y, kind, slot, takes, room), ~blocked & ~stays


def _take(
    world: World, state: ForagerState, x: Array, y: Array, kind: Array, slot: Array, takes: Array, room: Array
) -> ForagerState:
    """Take an object away if there is `room` for it, because the limit on changed objects is not reached."""
    slots, done = state.slots, takes & room
    i = jnp.where(slot >= 0, slot, jax.lax.argmax(unpack_state(slots) == VACANT, 0, jnp.int32))
    delay, never = _draw_delay(world, state, kind)
    fresh = slot < 0
    column = [
        jnp.where(fresh, x, slots[HOME_X, i]), jnp.where(fresh, y, slots[HOME_Y, i]),
        state.clock[1] + delay, state.events, pack(jnp.where(never, GONE, AWAY), jnp.maximum(kind, 0)),
    ]  # fmt: skip
    if world.moves:
        column += list(_find_target(world, kind, x, y))
    r = world.find_region(x, y, jnp)
    return replace(
        state,
        slots=put(slots, i, jnp.stack(column), done, axis=1),
        events=state.events + done,
        eaten=put(state.eaten, r, state.eaten[r] + 1, done),
        refused=state.refused + (takes & ~room),
        view=patch(state, *locate_in_view(world, state, x, y), EMPTY, done),
    )


def _find_target(world: World, kind: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Return the cell where an object will return: its fixed target or, without one, the cell where it was taken."""
    fixed = jnp.array([k.place == ReturnPlace.FIXED for k in world.kinds])[kind]
    target = jnp.array([k.target for k in world.kinds], jnp.uint32)[kind]
    return jnp.where(fixed, target[0], x), jnp.where(fixed, target[1], y)


def _draw_delay(world: World, state: ForagerState, kind: Array) -> tuple[Array, Array]:
    """Return (steps until the object just taken returns, whether it never returns)."""
    delays = [k.delay for k in world.kinds] or [Kind("nothing").delay]
    laws = jnp.array([d.law for d in delays], jnp.int32)[kind]
    a, b = (jnp.array([getattr(d, n) for d in delays], jnp.int32)[kind] for n in ("a", "b"))
    k0, k1 = state.words[0], state.words[1]
    stream, zero = jnp.uint32(DELAY), jnp.uint32(0)
    uniform = a + scale_word(draw_word(k0, k1, stream, state.events, zero), to_word(b - a + 1)).astype(jnp.int32)
    if not any(d.law is DelayLaw.NORMAL for d in delays):
        return to_word(uniform), laws == DelayLaw.NEVER
    size, negative = draw_bell(k0, k1, stream, state.events, zero)
    off = (size.astype(jnp.int32) * b) >> 16
    normal = jnp.maximum(jnp.where(negative == 1, a - off, a + off), 0)
    return to_word(jnp.where(laws == DelayLaw.NORMAL, normal, uniform)), laws == DelayLaw.NEVER
