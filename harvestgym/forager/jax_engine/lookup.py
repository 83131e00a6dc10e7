"""The world under JAX: what stands in a cell, for any number of cells at once. The twin of `host`.

The touched objects are `slots`, a (5 or 7, capacity) array of words: rows are named below. A look-up compares
all slots with all cells; for the row or column that comes into sight one coordinate decides first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.forager.hashing import ROUNDS, draw, permute_once, phase, scale
from harvestgym.forager.world import EMPTY, PLACE_0, SEASON, TRIES, Region, World

Word: TypeAlias = jax.Array
Place: TypeAlias = Callable[[Word, Word], jax.Array]
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
        clock: uint32 (2,), high and low word.
    """

    words: Word
    keys: Word
    keep: Word
    kept: jax.Array
    clock: Word


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
    for i, g in enumerate(regions):
        if g.narrow:
            index, side = p + q * np.uint32(g.width), np.uint32(g.grid[0])
            p, q = jnp.where(region == i, index % side, p), jnp.where(region == i, index // side, q)
    ranks = permute(p, q, a, b, k0, k1)
    if all(g.grid[0] * g.grid[1] == g.cells for g in regions):
        return ranks
    n = of(g.cells * g.narrow for g in regions)
    outside = lambda p, q: (n > 0) & (q * a + p >= n)  # noqa: E731

    def again(ranks: tuple[Word, Word]) -> tuple[Word, Word]:
        p, q = permute(*ranks, a, b, k0, k1)
        off = outside(*ranks)
        return jnp.where(off, p, ranks[0]), jnp.where(off, q, ranks[1])

    return jax.lax.while_loop(lambda r: jnp.any(outside(*r)), again, ranks)


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


def in_season(world: World, ground: Map, kind: jax.Array, x: Word, y: Word) -> jax.Array:
    """Whether objects of a kind that come from the cells (x, y) stand now, or never expire."""
    out = jnp.ones(jnp.shape(kind), bool)
    for i, k in enumerate(world.kinds):
        if k.lasts:
            period = np.uint32(k.lasts + k.rests)
            first = scale(draw(ground.words[0], ground.words[1], jnp.uint32(SEASON), x, y), period)
            now = (phase(ground.clock[0], ground.clock[1], period) + first) % period
            out = out & ((kind != i) | (now < np.uint32(k.lasts)))
    return out


def look(world: World, ground: Map, slots: Word, x: Word, y: Word, hidden: bool = False) -> jax.Array:
    """The kind or EMPTY in each of the cells now; with `hidden` also what is out of season; shapes (n,)."""
    cells = jnp.arange(len(x))[:, None]
    place = lambda sx, sy: jnp.where((sx == x[:, None]) & (sy == y[:, None]), cells, -1)  # noqa: E731
    return _overlaid(world, ground, slots, x, y, place, hidden)


def look_along(world: World, ground: Map, slots: Word, x: Word, y: Word, level: jax.Array) -> jax.Array:
    """`look` at the cells of a line: a row eastwards if `level`, else a column southwards; wrapped already."""
    side = jnp.where(level, world.width, world.height).astype(jnp.uint32)

    def place(sx: Word, sy: Word) -> jax.Array:
        along, across = jnp.where(level, sx - x[0], y[0] - sy), jnp.where(level, sy - y[0], sx - x[0])
        off = jnp.where(along >> 31 == 1, along + side, along).astype(jnp.int32)
        return jnp.where(across == 0, off, -1)

    return _overlaid(world, ground, slots, x, y, place, False)


def _overlaid(world: World, ground: Map, slots: Word, x: Word, y: Word, place: Place, hidden: bool) -> jax.Array:
    """The kinds of the cells at first, less what was taken, and what stands there instead.

    `place(sx, sy)` says in which of the n cells each slot's (sx, sy) lies: a number outside 0 ... n - 1 for none.
    """
    cells, state = jnp.arange(len(x))[:, None], state_of(slots)
    home = jnp.where(state != VACANT, place(slots[HOME_X], slots[HOME_Y]), -1)
    first = jnp.where(jnp.any(home == cells, 1), EMPTY, base(world, ground, x, y))
    if not hidden:
        first = jnp.where(in_season(world, ground, first, x, y), first, EMPTY)
    if not world.moves:
        return first
    stands = state == STANDING
    if not hidden:
        stands = stands & in_season(world, ground, kind_of(slots), slots[HOME_X], slots[HOME_Y])
    here = jnp.where(stands, place(*at(slots)), -1)
    return jnp.maximum(first, jnp.max(jnp.where(here == cells, kind_of(slots), EMPTY), 1))


def slot_at(slots: Word, x: Word, y: Word) -> jax.Array:
    """The slot of the object that stands in a cell, -1 if none that was touched does."""
    at_x, at_y = at(slots)
    here = (at_x == x) & (at_y == y) & (state_of(slots) == STANDING)
    return jnp.where(jnp.any(here), jnp.argmax(here), -1)


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
    free = (look(world, ground, slots, cx, cy, True) == EMPTY) & ~((cx == x) & (cy == y))
    best = jnp.argmax(free)
    return cx[best], cy[best], jnp.any(free)
