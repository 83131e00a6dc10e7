"""What the agents see on the host engine, kept encoded: a move copies the view one cell on and looks up one line."""

from __future__ import annotations

import numpy as np

from .compiled import compiled, inlined
from .hashing import draw, scale
from .life import AGENT_X, AGENT_Y, COLS, DEPTH, HEIGHT, KEY_0, KEY_1, ROWS, SIDE, TINTS, WALL_EDGE, WIDTH, Life
from .overlay import seen_at
from .world import EAST, NORTH, SOUTH, TINT

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
def show(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, slots: np.ndarray,
         index: np.ndarray, codes: np.ndarray, view: np.ndarray, at: int, x: int, y: int) -> None:  # fmt: skip
    """Look up one cell, at most one world away from the map, and write it into a view from byte `at`."""
    kind = len(kinds)
    if head[WALL_EDGE] == 0:
        x = x + head[WIDTH] if x < 0 else (x - head[WIDTH] if x >= head[WIDTH] else x)
        y = y + head[HEIGHT] if y < 0 else (y - head[HEIGHT] if y >= head[HEIGHT] else y)
    if 0 <= x < head[WIDTH] and 0 <= y < head[HEIGHT]:
        kind = seen_at(head, regions, layers, kinds, slots, index, x, y)
    encode(head, kinds, codes, view, at, x, y, kind)


@compiled
def reveal(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, slots: np.ndarray,
           index: np.ndarray, codes: np.ndarray, view: np.ndarray, x: int, y: int,
           rows: tuple[int, int], cols: tuple[int, int]) -> None:  # fmt: skip
    """Look up a block of the view of an agent at (x, y): the rows and columns from first to last."""
    west, north, depth = x - head[COLS] // 2, y + head[ROWS] // 2, head[DEPTH]
    for row in range(rows[0], rows[1]):
        for col in range(cols[0], cols[1]):
            at = (row * head[COLS] + col) * depth
            show(head, regions, layers, kinds, slots, index, codes, view, at, west + col, north - row)


@compiled
def refresh(life: Life) -> None:
    """Look up all that the agents see."""
    head = life.head
    for agent in range(len(life.agents)):
        reveal(head, life.regions, life.layers, life.kinds, life.slots, life.lookup, life.codes,
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
def slide(head: np.ndarray, action: int, old: np.ndarray, new: np.ndarray) -> None:
    """Copy a view one cell on; what comes into sight is still to be looked up."""
    by = head[COLS] * head[DEPTH] if action in (NORTH, SOUTH) else head[DEPTH]
    n = len(old) - by
    if action == NORTH or action > SOUTH:
        for i in range(n):
            new[i + by] = old[i]
    else:
        for i in range(n):
            new[i] = old[i + by]


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
