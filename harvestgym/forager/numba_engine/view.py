"""What the agents see on the host engine, kept encoded: a move copies the view one cell on and looks up one line."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import draw, scale
from harvestgym.forager.numba_support import compiled, inlined
from harvestgym.forager.world import EAST, EMPTY, NORTH, SOUTH, TINT

from .arrays import AGENT_X, AGENT_Y, COLS, DEPTH, HEIGHT, KEY_0, KEY_1, ROWS, SIDE, TINTS, WALL_EDGE, WHAT, WIDTH, Life
from .lookup import at_rank, place, rank_all, region_of, slot_at, unless_out_of_season

_U = np.uint64
# ---- views -----------------------------------------------------------------------------------------------


@inlined
def encode(head: np.ndarray, kinds: np.ndarray, codes: np.ndarray, view: np.ndarray, at: int,
           x: int, y: int, kind: int) -> None:  # fmt: skip
    """Write the bytes of a kind standing at (x, y) into a view, from byte `at`."""
    tint = 0
    if 0 <= kind < len(kinds) and kinds[kind, TINTS] > 1:
        word = draw(_U(head[KEY_0]), _U(head[KEY_1]), _U(TINT), _U(x), _U(y))
        tint = np.int64(scale(word, _U(kinds[kind, TINTS])))
    for d in range(head[DEPTH]):
        view[at + d] = codes[kind + 1, tint, d]


@inlined
def wrapped(head: np.ndarray, x: int, y: int) -> tuple[int, int]:
    """A cell at most one world away from the map, on it if the world is a torus."""
    if head[WALL_EDGE]:
        return x, y
    x = x + head[WIDTH] if x < 0 else (x - head[WIDTH] if x >= head[WIDTH] else x)
    return x, y + head[HEIGHT] if y < 0 else (y - head[HEIGHT] if y >= head[HEIGHT] else y)


@compiled
def locate(head: np.ndarray, regions: np.ndarray, west: int, north: int, rows: tuple[int, int], cols: tuple[int, int],
           found: np.ndarray) -> None:  # fmt: skip
    """Of the cells of a block the rank pair and the region + 1, 0 for the outside; a region's cells in one go."""
    i, first, before = 0, 0, -1
    for row in range(rows[0], rows[1]):
        for col in range(cols[0], cols[1]):
            x, y = wrapped(head, west + col, north - row)
            r = region_of(regions, x, y) if 0 <= x < head[WIDTH] and 0 <= y < head[HEIGHT] else -1
            if r != before:
                if before >= 0:
                    rank_all(regions, before, found[0, first:i], found[1, first:i])
                first, before = i, r
            if r >= 0:
                p, q = place(regions, r, x, y)
                found[0, i], found[1, i] = p, q
            found[2, i] = r + 1
            i += 1
    if before >= 0:
        rank_all(regions, before, found[0, first:i], found[1, first:i])


@compiled
def reveal(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, slots: np.ndarray,
           index: np.ndarray, taken: np.ndarray, codes: np.ndarray, view: np.ndarray, x: int, y: int,
           rows: tuple[int, int], cols: tuple[int, int]) -> None:  # fmt: skip
    """Look up a block of the view of an agent at (x, y): the rows and columns from first to last."""
    west, north, depth = x - head[COLS] // 2, y + head[ROWS] // 2, head[DEPTH]
    found = np.empty((3, (rows[1] - rows[0]) * (cols[1] - cols[0])), np.uint32)
    locate(head, regions, west, north, rows, cols, found)
    i = 0
    for row in range(rows[0], rows[1]):
        for col in range(cols[0], cols[1]):
            at, r = (row * head[COLS] + col) * depth, np.int64(found[2, i]) - 1
            x, y = wrapped(head, west + col, north - row)
            kind = len(kinds)
            if r >= 0:
                slot = slot_at(head, index, taken, x, y)
                if slot == -1:
                    kind = at_rank(regions, layers, r, np.int64(found[0, i]), np.int64(found[1, i]))
                else:
                    kind = slots[slot, WHAT] if slot >= 0 else EMPTY
                kind = unless_out_of_season(head, kinds, slots, index, taken, kind, x, y)
            encode(head, kinds, codes, view, at, x, y, kind)
            i += 1


@compiled
def refresh(life: Life) -> None:
    """Look up all that the agents see."""
    head = life.head
    for agent in range(len(life.agents)):
        reveal(head, life.regions, life.layers, life.kinds, life.slots, life.lookup, life.taken, life.codes,
               life.views[agent, head[SIDE]], life.agents[agent, AGENT_X], life.agents[agent, AGENT_Y],
               (0, head[ROWS]), (0, head[COLS]))  # fmt: skip


@inlined
def front(head: np.ndarray, action: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows and columns of the view that come into sight with a move."""
    rows, cols = head[ROWS], head[COLS]
    if action == NORTH:
        return (0, 1), (0, cols)
    if action == SOUTH:
        return (rows - 1, rows), (0, cols)
    return ((0, rows), (cols - 1, cols)) if action == EAST else ((0, rows), (0, 1))


@inlined
def copy(new: np.ndarray, to: int, old: np.ndarray, start: int, number: int) -> None:
    """Copy bytes. The places are unsigned: a sign would be looked at for every byte, twenty times slower."""
    first, source = _U(to), _U(start)
    for i in range(_U(number)):
        new[first + i] = old[source + i]


@inlined
def slide(head: np.ndarray, action: int, old: np.ndarray, new: np.ndarray) -> None:
    """Copy a view one cell on; what comes into sight is still to be looked up."""
    by = head[COLS] * head[DEPTH] if action in (NORTH, SOUTH) else head[DEPTH]
    if action == NORTH or action > SOUTH:
        copy(new, by, old, 0, len(old) - by)
    else:
        copy(new, 0, old, by, len(old) - by)


@compiled
def patch(life: Life, cell: int, kind: int) -> None:
    """Show a kind in one cell, in every view that holds it."""
    head = life.head
    x, y = cell % head[WIDTH], cell // head[WIDTH]
    for agent in range(len(life.agents)):
        dx = x - life.agents[agent, AGENT_X] + head[COLS] // 2
        dy = life.agents[agent, AGENT_Y] - y + head[ROWS] // 2
        if not head[WALL_EDGE]:
            dx, dy = dx % head[WIDTH], dy % head[HEIGHT]
        if 0 <= dx < head[COLS] and 0 <= dy < head[ROWS]:
            at = (dy * head[COLS] + dx) * head[DEPTH]
            encode(head, life.kinds, life.codes, life.views[agent, head[SIDE]], at, x, y, kind)
