"""The world under JAX: what stands in a cell, for any number of cells at once. The twin of `host`.

The touched objects are `slots`, a (5 or 7, capacity) array of words: rows are named below. A look-up compares
all slots with all cells; for the row or column that comes into sight one coordinate decides first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .hashing import ROUNDS, draw, permute_once, scale
from .world import EMPTY, PLACE_0, TRIES, Region, World

Word: TypeAlias = jax.Array
HOME_X, HOME_Y, DUE, BORN, META, AT_X, AT_Y = range(7)
VACANT, STANDING, AWAY, GONE = range(4)
STREAMS = 16


def word(x: Any) -> Word:
    """`x` as uint32."""
    return jnp.asarray(x).astype(jnp.uint32)


class Map(NamedTuple):
    """What of a life decides where objects stand at first.

    Attributes:
        words: uint32 (2,), the seed.
        keys: uint32 (regions, 2), of the bijections.
        keep: uint32 (regions, 2), rank (p, q) of the cell kept free.
        kept: bool (regions,), whether there is one.
    """

    words: Word
    keys: Word
    keep: Word
    kept: jax.Array


def _pick(region: jax.Array, values: Sequence[Any] | jax.Array) -> Word:
    """`values[region]`, as a chain of choices that XLA fuses."""
    out = word(values[0])
    for i in range(1, len(values)):
        out = jnp.where(region == i, word(values[i]), out)
    return out


def region_of(world: World, x: Word, y: Word) -> jax.Array:
    """int32: the region of each cell, the last that contains it."""
    out = jnp.zeros(jnp.shape(x), jnp.int32)
    for i, g in enumerate(world.regions[1:], 1):
        across = (x >= np.uint32(g.x)) & (x < np.uint32(g.x + g.width))
        out = jnp.where(across & (y >= np.uint32(g.y)) & (y < np.uint32(g.y + g.height)), i, out)
    return out


def rank(regions: Sequence[Region], keys: Word, region: jax.Array, x: Word, y: Word) -> tuple[Word, Word]:
    """The rank pair (p, q) of each cell in its region, before the kept cell changes places."""
    of = lambda values: _pick(region, list(values))  # noqa: E731
    p, q = x - of(g.x for g in regions), y - of(g.y for g in regions)
    a, b = of(g.grid[0] for g in regions), of(g.grid[1] for g in regions)
    k0, k1 = _pick(region, keys[:, 0]), _pick(region, keys[:, 1])
    if not any(g.narrow for g in regions):
        return permute(p, q, a, b, k0, k1)
    narrow = of(int(g.narrow) for g in regions) == 1
    n = of(min(g.cells, 2**32 - 1) for g in regions)
    index = p + q * of(g.width for g in regions)
    p, q = jnp.where(narrow, index % a, p), jnp.where(narrow, index // a, q)
    outside = lambda p, q: narrow & (q * a + p >= n)  # noqa: E731

    def again(ranks: tuple[Word, Word]) -> tuple[Word, Word]:
        p, q = permute(*ranks, a, b, k0, k1)
        off = outside(*ranks)
        return jnp.where(off, p, ranks[0]), jnp.where(off, q, ranks[1])

    return jax.lax.while_loop(lambda r: jnp.any(outside(*r)), again, permute(p, q, a, b, k0, k1))


def permute(p: Word, q: Word, a: Word, b: Word, k0: Word, k1: Word) -> tuple[Word, Word]:
    """`hashing.permute` as a loop: unrolled, XLA would compile it once for every use of its result."""
    p, q, k0, k1 = jnp.broadcast_arrays(p, q, k0, k1)

    def once(_: int, loop: tuple[Word, Word, Word, Word]) -> tuple[Word, Word, Word, Word]:
        p, q, k0, k1 = loop
        return permute_once(p, q, a, b, k0, k1)

    return jax.lax.fori_loop(0, ROUNDS, once, (p, q, k0, k1))[:2]


def base(world: World, ground: Map, x: Word, y: Word) -> jax.Array:
    """int32: the kind that the world put in each cell at first, or EMPTY."""
    regions = world.regions
    region = region_of(world, x, y)
    p, q = rank(regions, ground.keys, region, x, y)
    keep_p, keep_q = _pick(region, ground.keep[:, 0]), _pick(region, ground.keep[:, 1])
    kept = _pick(region, ground.kept) == 1
    last_p = _pick(region, [(g.cells - 1) % g.grid[0] for g in regions])
    last_q = _pick(region, [(g.cells - 1) // g.grid[0] for g in regions])
    is_kept, is_last = kept & (p == keep_p) & (q == keep_q), kept & (p == last_p) & (q == last_q)
    p = jnp.where(is_kept, last_p, jnp.where(is_last, keep_p, p))
    q = jnp.where(is_kept, last_q, jnp.where(is_last, keep_q, q))
    kind = jnp.full(jnp.shape(x), EMPTY, jnp.int32)
    for i, g in enumerate(regions):
        for beyond_q, beyond_p, what in reversed(g.thresholds):
            inside = (q < np.uint32(beyond_q)) | ((q == np.uint32(beyond_q)) & (p < np.uint32(beyond_p)))
            kind = jnp.where((region == i) & inside, what, kind)
    return kind


def key_region(world: World, words: Word, region: int, generation: Word, x: Word, y: Word) -> tuple[Word, Word, Any]:
    """(keys, kept rank, whether one is kept) of a region's new generation with the agent at (x, y)."""
    streams = jnp.array([PLACE_0, PLACE_0 + 1], jnp.uint32)
    keys = draw(words[0], words[1], streams, jnp.uint32(region), generation)
    g = world.regions[region]
    inside = region_holds(g, x, y)
    nearby_x, nearby_y = jnp.where(inside, x, np.uint32(g.x)), jnp.where(inside, y, np.uint32(g.y))
    p, q = rank((g,), keys[None], jnp.int32(0), nearby_x, nearby_y)
    return keys, jnp.stack([p, q]), inside


def region_holds(g: Region, x: Word, y: Word) -> jax.Array:
    """Whether each cell lies in the rectangle."""
    across = (x >= np.uint32(g.x)) & (x < np.uint32(g.x + g.width))
    return across & (y >= np.uint32(g.y)) & (y < np.uint32(g.y + g.height))


# ---- the slots -------------------------------------------------------------------------------------------


def state_of(slots: Word) -> jax.Array:
    """What has become of each slot's object."""
    return (slots[META] & np.uint32(3)).astype(jnp.int32)


def kind_of(slots: Word) -> jax.Array:
    """The kind of each slot's object."""
    return (slots[META] >> np.uint32(2)).astype(jnp.int32)


def meta(state: Any, kind: Any) -> Word:
    """State and kind as one word."""
    return word(state) | (word(kind) << np.uint32(2))


def at(slots: Word) -> tuple[Word, Word]:
    """Where each object stands or will stand: its own row, or where nothing ever moves its home."""
    return (slots[AT_X], slots[AT_Y]) if len(slots) > AT_X else (slots[HOME_X], slots[HOME_Y])


def look(world: World, ground: Map, slots: Word, x: Word, y: Word) -> tuple[jax.Array, jax.Array]:
    """(kind or EMPTY, slot or -1) of what stands in each of the cells now; shapes (n,)."""
    state = state_of(slots)
    at_x, at_y = at(slots)
    here = (at_x == x[:, None]) & (at_y == y[:, None]) & (state == STANDING)
    emptied = jnp.any((slots[HOME_X] == x[:, None]) & (slots[HOME_Y] == y[:, None]) & (state != VACANT), 1)
    stands = jnp.any(here, 1)
    slot = jnp.where(stands, jnp.argmax(here, 1), -1)
    moved = jnp.max(jnp.where(here, kind_of(slots), EMPTY), 1)
    first = jnp.where(emptied, EMPTY, base(world, ground, x, y))
    return jnp.where(stands, moved, first), slot


def look_along(world: World, ground: Map, slots: Word, x: Word, y: Word, level: jax.Array) -> jax.Array:
    """The kind or EMPTY in each cell of a line: a row if `level`, else a column; shapes (n,), wrapped already."""
    n = len(x)
    state = state_of(slots)
    at_x, at_y = at(slots)
    place = lambda sx, sy: _place_in_line(world, sx, sy, x, y, level)  # noqa: E731
    cells = jnp.arange(n)[:, None]
    home = jnp.where(state != VACANT, place(slots[HOME_X], slots[HOME_Y]), -1)
    emptied = jnp.any(home == cells, 1)
    first = jnp.where(emptied, EMPTY, base(world, ground, x, y))
    if not world.moves:
        return first
    here = jnp.where(state == STANDING, place(at_x, at_y), -1)
    return jnp.maximum(first, jnp.max(jnp.where(here == cells, kind_of(slots), EMPTY), 1))


def _place_in_line(world: World, sx: Word, sy: Word, x: Word, y: Word, level: jax.Array) -> jax.Array:
    """Which cell of the line each slot is in, or something outside 0 ... n - 1."""
    along = jnp.where(level, sx, sy)
    across, line = jnp.where(level, sy, sx), jnp.where(level, y[0], x[0])
    first, side = jnp.where(level, x[0], y[0]), jnp.where(level, world.width, world.height).astype(jnp.uint32)
    off = along - first
    off = jnp.where(along < first, off + side, off).astype(jnp.int32)
    return jnp.where(across == line, off, -1)


def free_cell(
    world: World, ground: Map, slots: Word, region: jax.Array, stream: int, b: Word, clock: Word, x: Word, y: Word
) -> tuple[Word, Word, jax.Array]:
    """(x, y, found): the first free cell of those drawn from a region, with the agent at (x, y)."""
    of = lambda values: _pick(region, list(values))  # noqa: E731
    streams = word(stream + STREAMS * 2 * np.arange(TRIES))
    k0, k1 = ground.words[0], ground.words[1]
    regions = world.regions
    cx = of(g.x for g in regions) + scale(draw(k0, k1, streams, b, clock), of(g.width for g in regions))
    further = streams + np.uint32(STREAMS)
    cy = of(g.y for g in regions) + scale(draw(k0, k1, further, b, clock), of(g.height for g in regions))
    kind, _ = look(world, ground, slots, cx, cy)
    free = (kind == EMPTY) & ~((cx == x) & (cy == y))
    best = jnp.argmax(free)
    return cx[best], cy[best], jnp.any(free)
