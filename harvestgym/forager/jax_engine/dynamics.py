"""Changes to the world under JAX: renewed regions, returning objects and teleported agents."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import replace, replace_where
from harvestgym.forager.hashing import JUMP, RETURN
from harvestgym.forager.object_kinds import ReturnPlace
from harvestgym.forager.world import AWAY, EMPTY, STANDING, VACANT, Region, World

from .cells import (
    AT_X,
    AT_Y,
    BORN,
    DUE,
    HOME_X,
    HOME_Y,
    META,
    draw_free_cell,
    find_kind,
    key_region,
    pack,
    unpack_kind,
    unpack_state,
)
from .rewards import clock_phase
from .state import ForagerState, put
from .view import is_in_view, locate_in_view, patch, refresh


def renew(world: World, state: ForagerState) -> ForagerState:
    """Start a new generation in each region in which enough objects were collected or enough time has passed."""
    due = jnp.stack([_is_over(state, r, g) for r, g in enumerate(world.regions)])

    def renew_due(state: ForagerState) -> ForagerState:
        for r, g in enumerate(world.regions):
            if g.renew_eaten or g.renew_every:
                state = _renew_region(world, state, r, due[r])
        return refresh(world, state)

    return _change_if(jnp.any(due), renew_due, state)


def _is_over(state: ForagerState, r: int, g: Region) -> Array:
    """Return whether the generation of a region ends now."""
    over = (state.eaten[r] >= g.renew_eaten) if g.renew_eaten else jnp.asarray(False)
    if g.renew_every:
        over = over | ((clock_phase(state, g.renew_every) == 0) & jnp.any(state.clock > 0))
    return over


def _change_if(needed: Array, change: Callable[[ForagerState], ForagerState], state: ForagerState) -> ForagerState:
    """Return `change(state)` if it is needed, otherwise `state`.

    This is a loop of at most one iteration, because under `vmap` a `cond` would compute the change for every state in
    every step.
    """
    once = lambda loop: (jnp.asarray(False), change(loop[1]))  # noqa: E731
    return jax.lax.while_loop(lambda loop: loop[0], once, (needed, state))[1]


def _renew_region(world: World, state: ForagerState, r: int, due: Array) -> ForagerState:
    generation = state.generation[r] + due
    keys, keep = key_region(world, state.words, r, generation, state.x, state.y)
    native = world.find_region(state.slots[HOME_X], state.slots[HOME_Y], jnp) == r
    cleared = jnp.where(native & due, np.uint32(VACANT), state.slots[META])
    return replace(
        state,
        generation=put(state.generation, r, generation),
        eaten=put(state.eaten, r, 0, due),
        keys=put(state.keys, r, keys, due),
        keep=put(state.keep, r, keep, due),
        slots=put(state.slots, META, cleared),
    )


def _is_due(state: ForagerState) -> Array:
    late = (state.clock[1] - state.slots[DUE]).astype(jnp.int32) >= 0
    return late & (unpack_state(state.slots) == AWAY)


def return_objects(world: World, state: ForagerState) -> ForagerState:
    """Return the objects that are due, in the order of collection; an object without a free cell waits one step."""
    return _return_one_by_one(world, state) if world.moves else _return_all_home(world, state)


def _return_all_home(world: World, state: ForagerState) -> ForagerState:
    """Return all due objects to their own cells, unless the agent is there; no other object ever occupies them."""
    x, y = state.slots[HOME_X], state.slots[HOME_Y]
    back = _is_due(state) & ~((x == state.x) & (y == state.y))
    row, col = locate_in_view(world, state, x, y)
    shown = back & is_in_view(state, row, col)
    kinds = unpack_kind(state.slots)

    def show(loop: tuple[Array, Array]) -> tuple[Array, Array]:
        left, view = loop
        i = jax.lax.argmax(left, 0, jnp.int32)
        return put(left, i, False), patch(replace(state, view=view), row[i], col[i], kinds[i], jnp.any(left))

    _, view = jax.lax.while_loop(lambda loop: jnp.any(loop[0]), show, (shown, state.view))
    cleared = jnp.where(back, np.uint32(VACANT), state.slots[META])
    return replace(state, view=view, slots=put(state.slots, META, cleared))


def _return_one_by_one(world: World, state: ForagerState) -> ForagerState:
    def one(loop: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        slots, view, left = loop
        i = jax.lax.argmax(jnp.where(left, state.events - slots[BORN], np.uint32(0)), 0, jnp.int32)
        after = _return_object(world, replace(state, slots=slots, view=view), i)
        return after.slots, after.view, put(left, i, False)

    loop = state.slots, state.view, _is_due(state)
    slots, view, _ = jax.lax.while_loop(lambda loop: jnp.any(loop[2]), one, loop)
    return replace(state, slots=slots, view=view)


def _return_object(world: World, state: ForagerState, i: Array) -> ForagerState:
    """Place the object of slot `i` in the cell that its kind defines, if the cell is free."""
    slots, kind = state.slots, unpack_kind(state.slots)[i]
    places = jnp.array([k.place for k in world.kinds], jnp.int32)[kind]
    home = world.find_region(slots[HOME_X, i], slots[HOME_Y, i], jnp)
    region = jnp.where(places == ReturnPlace.REGION, home, 0)
    drawn_x, drawn_y, found = draw_free_cell(world, state, region, RETURN, slots[BORN, i])
    there = find_kind(world, state, slots[AT_X, i][None], slots[AT_Y, i][None], True)
    agent = (slots[AT_X, i] == state.x) & (slots[AT_Y, i] == state.y)
    own = (places == ReturnPlace.SAME) | (places == ReturnPlace.FIXED)
    ok = jnp.where(own, (there[0] == EMPTY) & ~agent, found)
    x, y = jnp.where(own, slots[AT_X, i], drawn_x), jnp.where(own, slots[AT_Y, i], drawn_y)
    at_home = (x == slots[HOME_X, i]) & (y == slots[HOME_Y, i])
    become = pack(jnp.where(at_home, VACANT, STANDING), kind)
    settled = jnp.concatenate([slots[:META, i], jnp.stack([become, x, y])])
    view = patch(state, *locate_in_view(world, state, x, y), kind, ok)
    slots = put(slots, i, settled, ok, axis=1)
    return replace(state, slots=slots, view=view)


def teleport(world: World, state: ForagerState) -> ForagerState:
    """Move the agent to a free cell in the next region, at regular intervals."""
    every, stops = world.teleport_every, world.teleport_to or (0,)
    phase = clock_phase(state, every * len(stops))
    region = jnp.array(stops, jnp.int32)[phase // every]

    def jump(state: ForagerState) -> ForagerState:
        x, y, found = draw_free_cell(world, state, region, JUMP, jnp.uint32(0))
        return refresh(world, replace_where(state, found, x=x, y=y))

    return _change_if((phase + 1) % every == 0, jump, state)
