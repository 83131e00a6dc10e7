"""Encoded views on the host: after a move, the view is shifted by one cell and one row or column is looked up."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import TINT, draw_word, scale_word
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.arrays import EpisodeArrays
from harvestgym.forager.host_engine.cells import find_kind
from harvestgym.forager.host_engine.numba_support import U64, compiled, inlined
from harvestgym.forager.world import EAST, NORTH, SOUTH


@inlined
def wrap_cell(head: np.ndarray, x: int, y: int) -> tuple[int, int]:
    """Wrap a cell onto the map if the world is a torus."""
    if head[col.WALL_EDGE]:
        return x, y
    x = x if 0 <= x < head[col.WIDTH] else x % head[col.WIDTH]  # most cells need no division
    return x, y if 0 <= y < head[col.HEIGHT] else y % head[col.HEIGHT]


@inlined
def is_inside(head: np.ndarray, x: int, y: int) -> bool:
    """Return whether a cell lies in the world."""
    return 0 <= x < head[col.WIDTH] and 0 <= y < head[col.HEIGHT]


@inlined
def find_cell_ahead(arrays: EpisodeArrays, agent: int, action: int) -> tuple[int, int]:
    """Return the cell to which an action leads, or the agent's own cell at the edge of a walled world."""
    x, y = arrays.agents[agent, col.AGENT_X], arrays.agents[agent, col.AGENT_Y]
    to_x = x + (1 if action == EAST else (-1 if action > SOUTH else 0))
    to_y = y + (1 if action == NORTH else (-1 if action == SOUTH else 0))
    to_x, to_y = wrap_cell(arrays.head, to_x, to_y)
    return (to_x, to_y) if is_inside(arrays.head, to_x, to_y) else (x, y)


@inlined
def encode_cell(arrays: EpisodeArrays, view: np.ndarray, at: int, x: int, y: int, kind: int) -> None:
    """Write the bytes of a kind at (x, y) into a view, from byte `at`."""
    head, kinds, tint = arrays.head, arrays.kinds, 0
    if 0 <= kind < len(kinds) and kinds[kind, col.TINTS] > 1:
        word = draw_word(U64(head[col.KEY_0]), U64(head[col.KEY_1]), U64(TINT), U64(x), U64(y))
        tint = np.int64(scale_word(word, U64(kinds[kind, col.TINTS])))
    for d in range(head[col.DEPTH]):
        view[at + d] = arrays.codes[kind + 1, tint, d]


@compiled
def refresh_block(
    arrays: EpisodeArrays, view: np.ndarray, x: int, y: int, rows: tuple[int, int], cols: tuple[int, int]
) -> None:
    """Look up a block in the view of an agent at (x, y), given by its first and last row and column."""
    head = arrays.head
    west, north = x - head[col.COLS] // 2, y + head[col.ROWS] // 2
    for row in range(rows[0], rows[1]):
        for across in range(cols[0], cols[1]):
            x, y = wrap_cell(head, west + across, north - row)
            kind = find_kind(arrays, x, y) if is_inside(head, x, y) else len(arrays.kinds)
            encode_cell(arrays, view, (row * head[col.COLS] + across) * head[col.DEPTH], x, y, kind)


@compiled
def refresh(arrays: EpisodeArrays) -> None:
    """Look up the views of all agents."""
    head = arrays.head
    for agent in range(len(arrays.agents)):
        x, y, view = arrays.agents[agent, col.AGENT_X], arrays.agents[agent, col.AGENT_Y], arrays.views[agent]
        refresh_block(arrays, view[head[col.SIDE]], x, y, (0, head[col.ROWS]), (0, head[col.COLS]))


@inlined
def find_front(head: np.ndarray, action: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the rows and columns that come into view with a move."""
    rows, cols = head[col.ROWS], head[col.COLS]
    if action == NORTH:
        return (0, 1), (0, cols)
    if action == SOUTH:
        return (rows - 1, rows), (0, cols)
    return ((0, rows), (cols - 1, cols)) if action == EAST else ((0, rows), (0, 1))


@inlined
def copy_bytes(new: np.ndarray, to: int, old: np.ndarray, start: int, number: int) -> None:
    """Copy bytes. The positions are unsigned, because testing the sign for every byte is twenty times slower."""
    first, source = U64(to), U64(start)
    for i in range(U64(number)):
        new[first + U64(i)] = old[source + U64(i)]


@inlined
def slide(head: np.ndarray, action: int, old: np.ndarray, new: np.ndarray) -> None:
    """Copy a view shifted by one cell; the row or column that comes into view is looked up afterwards."""
    by = head[col.COLS] * head[col.DEPTH] if action in (NORTH, SOUTH) else head[col.DEPTH]
    if action == NORTH or action > SOUTH:
        copy_bytes(new, by, old, 0, len(old) - by)
    else:
        copy_bytes(new, 0, old, by, len(old) - by)


@compiled
def patch(arrays: EpisodeArrays, cell: int, kind: int) -> None:
    """Write a kind in one cell into the views, at every position where a view contains the cell."""
    head, width, height = arrays.head, arrays.head[col.WIDTH], arrays.head[col.HEIGHT]
    x, y = cell % width, cell // width
    for agent in range(len(arrays.agents)):
        dx = x - arrays.agents[agent, col.AGENT_X] + head[col.COLS] // 2
        dy = arrays.agents[agent, col.AGENT_Y] - y + head[col.ROWS] // 2
        if not head[col.WALL_EDGE]:
            dx, dy = dx % width, dy % height
        elif dx < 0 or dy < 0:
            continue
        for row in range(dy, head[col.ROWS], height):
            for across in range(dx, head[col.COLS], width):
                at = (row * head[col.COLS] + across) * head[col.DEPTH]
                encode_cell(arrays, arrays.views[agent, head[col.SIDE]], at, x, y, kind)


@compiled
def survey(arrays: EpisodeArrays, out: np.ndarray) -> None:
    """Write the kind (or EMPTY) in every cell, int16 (height, width), with the northernmost row first."""
    for row in range(arrays.head[col.HEIGHT]):
        for x in range(arrays.head[col.WIDTH]):
            out[row, x] = find_kind(arrays, x, arrays.head[col.HEIGHT] - 1 - row)
