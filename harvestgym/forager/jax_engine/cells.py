"""The cells of a world under JAX: the kind in any number of cells at once.

The changed objects are `slots`, an array of words (5 or 7, capacity) whose rows are named below. A lookup compares
all slots with all cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.forager.hashing import PLACE_0, ROUNDS, SEASON, STREAMS, draw_word, modulo, permute_once, scale_word
from harvestgym.forager.world import EMPTY, STANDING, TRIES, VACANT, Region, World

from .state import ForagerState

HOME_X, HOME_Y, DUE, BORN, META, AT_X, AT_Y = range(7)
"""Rows of `slots`: the object's original cell, the time of its return, the number of the collision in which it was
taken, its state and kind as one word, and its present or next cell (absent if every object returns to its own cell)."""

NONE_KEPT = np.uint32(0xFFFFFFFF)
"""The value of the reserved rank in a region without the agent: no cell has this rank."""


def to_word(x: Any) -> Array:
    """Convert `x` to uint32."""
    return jnp.asarray(x).astype(jnp.uint32)


def _select(region: Array, values: Sequence[Any] | Array) -> Array:
    """Return `values[region]`, as a chain of selections that XLA fuses."""
    out = to_word(values[0])
    for i in range(1, len(values)):
        out = jnp.where(region == i, to_word(values[i]), out)
    return out


# ---- the generated world --------------------------------------------------------------------------------


def rank_cell(regions: Sequence[Region], keys: Array, region: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Return the rank pair (p, q) of each cell in its region, before the reserved cell is swapped."""
    select = lambda values: _select(region, list(values))  # noqa: E731
    p, q = x - select(g.x for g in regions), y - select(g.y for g in regions)
    a, b = select(g.grid[0] for g in regions), select(g.grid[1] for g in regions)
    k0, k1 = _select(region, keys[:, 0]), _select(region, keys[:, 1])
    for i, g in enumerate(regions):
        if g.narrow:
            index, side = p + q * np.uint32(g.width), np.uint32(g.grid[0])
            p, q = jnp.where(region == i, index % side, p), jnp.where(region == i, index // side, q)
    ranks = permute(p, q, a, b, k0, k1)
    if all(g.grid[0] * g.grid[1] == g.cells for g in regions):
        return ranks
    n = select(g.cells * g.narrow for g in regions)
    is_outside = lambda p, q: (n > 0) & (q * a + p >= n)  # noqa: E731

    def permute_outside(ranks: tuple[Array, Array]) -> tuple[Array, Array]:
        p, q = permute(*ranks, a, b, k0, k1)
        outside = is_outside(*ranks)
        return jnp.where(outside, p, ranks[0]), jnp.where(outside, q, ranks[1])

    return jax.lax.while_loop(lambda r: jnp.any(is_outside(*r)), permute_outside, ranks)


def permute(p: Array, q: Array, a: Array, b: Array, k0: Array, k1: Array) -> tuple[Array, Array]:
    """Run `hashing.permute` as a loop, because XLA would recompile unrolled code for every use of its result."""
    p, q, k0, k1 = jnp.broadcast_arrays(p, q, k0, k1)
    once = lambda _, now: permute_once(now[0], now[1], a, b, now[2], now[3])  # noqa: E731
    return jax.lax.fori_loop(0, ROUNDS, once, (p, q, k0, k1))[:2]


def generate_kind(world: World, state: ForagerState, x: Array, y: Array) -> Array:
    """Return int32: the kind that the world generated in each cell, or EMPTY."""
    regions = world.regions
    region = world.find_region(x, y, jnp)
    p, q = rank_cell(regions, state.keys, region, x, y)
    keep_p, keep_q = _select(region, state.keep[:, 0]), _select(region, state.keep[:, 1])
    last_p = _select(region, [(g.cells - 1) % g.grid[0] for g in regions])
    last_q = _select(region, [(g.cells - 1) // g.grid[0] for g in regions])
    is_kept = (p == keep_p) & (q == keep_q)
    is_last = (keep_p != NONE_KEPT) & (p == last_p) & (q == last_q)
    p = jnp.where(is_kept, last_p, jnp.where(is_last, keep_p, p))
    q = jnp.where(is_kept, last_q, jnp.where(is_last, keep_q, q))
    out = jnp.full(jnp.shape(x), EMPTY, jnp.int32)
    for i, g in enumerate(regions):
        for beyond_q, beyond_p, kind in reversed(g.thresholds):
            inside = (q < np.uint32(beyond_q)) | ((q == np.uint32(beyond_q)) & (p < np.uint32(beyond_p)))
            out = jnp.where((region == i) & inside, kind, out)
    return out


def key_region(world: World, words: Array, region: int, generation: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Return (keys, reserved rank or `NONE_KEPT`) for a region's new generation with the agent at (x, y)."""
    streams = jnp.array([PLACE_0, PLACE_0 + 1], jnp.uint32)
    keys = draw_word(words[0], words[1], streams, jnp.uint32(region), generation)
    g = world.regions[region]
    inside = g.contains(x, y)
    nearby_x, nearby_y = jnp.where(inside, x, np.uint32(g.x)), jnp.where(inside, y, np.uint32(g.y))
    p, q = rank_cell((g,), keys[None], jnp.int32(0), nearby_x, nearby_y)
    return keys, jnp.where(inside, jnp.stack([p, q]), NONE_KEPT)


# ---- the slots of the changed objects ----------------------------------------------------------------------


def unpack_state(slots: Array) -> Array:
    """Return the state of each slot: `world.VACANT`, `STANDING`, `AWAY` or `GONE`."""
    return (slots[META] & np.uint32(3)).astype(jnp.int32)


def unpack_kind(slots: Array) -> Array:
    """Return the kind of the object in each slot."""
    return (slots[META] >> np.uint32(2)).astype(jnp.int32)


def pack(state: Any, kind: Any) -> Array:
    """Pack state and kind into one word."""
    return to_word(state) | (to_word(kind) << np.uint32(2))


def current_cells(slots: Array) -> tuple[Array, Array]:
    """Return the present or next cell of each object: from its rows, or its own cell if every object returns there."""
    return (slots[AT_X], slots[AT_Y]) if len(slots) > AT_X else (slots[HOME_X], slots[HOME_Y])


def find_slot(slots: Array, x: Array, y: Array) -> Array:
    """Return the slot of the changed object in a cell, or -1."""
    at_x, at_y = current_cells(slots)
    here = (at_x == x) & (at_y == y) & (unpack_state(slots) == STANDING)
    return jnp.where(jnp.any(here), jax.lax.argmax(here, 0, jnp.int32), -1)


# ---- the current world ------------------------------------------------------------------------------------


def is_in_season(world: World, state: ForagerState, kind: Array, x: Array, y: Array) -> Array:
    """Return whether objects of a kind from the cells (x, y) are in season now; always true if they never expire."""
    out = jnp.ones(jnp.shape(kind), bool)
    for i, k in enumerate(world.kinds):
        if k.lasts:
            period = np.uint32(k.lasts + k.rests)
            first = scale_word(draw_word(state.words[0], state.words[1], jnp.uint32(SEASON), x, y), period)
            now = (modulo(state.clock[0], state.clock[1], period) + first) % period
            out = out & ((kind != i) | (now < np.uint32(k.lasts)))
    return out


def find_kind(world: World, state: ForagerState, x: Array, y: Array, hidden: bool = False) -> Array:
    """Return the current kind, or EMPTY, in each of the cells, shape (n,); `hidden` includes objects out of season.

    A cell contains the object that the world generated, unless it was taken, or an object that moved there.
    """
    slots, slot_state = state.slots, unpack_state(state.slots)
    cells = lambda sx, sy: (sx == x[:, None]) & (sy == y[:, None])  # noqa: E731
    gone = jnp.any(cells(slots[HOME_X], slots[HOME_Y]) & (slot_state != VACANT), 1)
    first = jnp.where(gone, EMPTY, generate_kind(world, state, x, y))
    if not hidden:
        first = jnp.where(is_in_season(world, state, first, x, y), first, EMPTY)
    if not world.moves:
        return first
    stands = slot_state == STANDING
    if not hidden:
        stands = stands & is_in_season(world, state, unpack_kind(slots), slots[HOME_X], slots[HOME_Y])
    here = cells(*current_cells(slots)) & stands
    return jnp.maximum(first, jnp.max(jnp.where(here, unpack_kind(slots), EMPTY), 1))


def draw_free_cell(
    world: World, state: ForagerState, region: Array, stream: int, event: Array
) -> tuple[Array, Array, Array]:
    """Return (x, y, found): the first free cell drawn from a region, given a stream and the number of the collision."""
    select = lambda values: _select(region, list(values))  # noqa: E731
    streams = to_word(stream + STREAMS * 2 * np.arange(TRIES, dtype=np.uint32))
    k0, k1, clock = state.words[0], state.words[1], state.clock[1]
    regions = world.regions
    draw = lambda streams, sides: scale_word(draw_word(k0, k1, streams, event, clock), select(sides))  # noqa: E731
    x = select(g.x for g in regions) + draw(streams, (g.width for g in regions))
    y = select(g.y for g in regions) + draw(streams + np.uint32(STREAMS), (g.height for g in regions))
    free = (find_kind(world, state, x, y, True) == EMPTY) & ~((x == state.x) & (y == state.y))
    best = jax.lax.argmax(free, 0, jnp.int32)
    return x[best], y[best], jnp.any(free)
