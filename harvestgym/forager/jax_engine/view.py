"""The view under JAX, which is part of the state; a move looks up only one row or column.

`state.view` holds kinds, (rows, columns) of the aperture; the number of kinds marks the outside of a walled world.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import replace, replace_where
from harvestgym.forager.hashing import TINT, draw_word, scale_word
from harvestgym.forager.observations import ObservationMode, channel_table, count_channels, show_world
from harvestgym.forager.world import EAST, MOVES, NORTH, SOUTH, WEST, World, view_offsets

from .cells import find_kind, to_word
from .state import ForagerState, put

Cells = tuple[Array, Array]
"""Coordinates (x, y) as words, or positions (row, column) in a view."""


def _wrap(v: Array, n: int) -> Array:
    return jnp.where(v < 0, v + n, jnp.where(v >= n, v - n, v))


def find_cell_ahead(world: World, state: ForagerState, action: Array) -> Cells:
    """Return the cell to which an action leads, or the agent's own cell at the edge of a walled world."""
    dx, dy = jnp.asarray(MOVES, jnp.int32)[action]
    x, y, outside = _offset_cells(world, state, dx, dy)
    return jnp.where(outside, state.x, x), jnp.where(outside, state.y, y)


def find_kind_ahead(world: World, state: ForagerState, action: Array) -> Array:
    """Return the kind in the cell ahead, read from the view if the view extends that far."""
    rows, cols = state.view.shape
    if min(rows, cols) < 3:
        x, y = find_cell_ahead(world, state, action)
        return find_kind(world, state, x[None], y[None])[0]
    next_to = [state.view[rows // 2 - dy, cols // 2 + dx] for dx, dy in MOVES.tolist()]
    which = jnp.where((action >= NORTH) & (action < WEST), action, WEST)
    return jax.lax.select_n(which, *next_to).astype(jnp.int32)


def move(world: World, state: ForagerState, action: Array, moved: Array) -> ForagerState:
    """Step ahead if `moved`, and look up the row or column that comes into view."""
    x, y = find_cell_ahead(world, state, action)
    rows, cols = state.view.shape
    line = _find_line(world, replace(state, x=x, y=y), action).astype(jnp.int8)
    # Take a window of the view extended by the new line, which is faster than selecting one of four views.
    row, col = np.ogrid[: rows + 2, : cols + 2]
    above, aside = (row == 0) | (row == rows + 1), (col == 0) | (col == cols + 1)
    framed = jnp.where(aside, jnp.pad(line[:rows], 1)[:, None], jnp.pad(state.view, 1))
    framed = jnp.where(above, jnp.pad(line[:cols], 1)[None], framed)
    dx, dy = jnp.asarray(MOVES, jnp.int32)[action] * moved
    view = jax.lax.dynamic_slice(framed, (1 - dy, 1 + dx), (rows, cols))
    return replace_where(replace(state, view=view), moved, x=x, y=y)


def _find_line(world: World, state: ForagerState, action: Array) -> Array:
    """Return the kinds in the line ahead of a state that has moved: a row west to east or a column north to south."""
    rows, cols = state.view.shape
    level, i = (action == NORTH) | (action == SOUTH), np.arange(max(rows, cols), dtype=np.int32)
    across, down = np.minimum(i, cols - 1) - cols // 2, rows // 2 - np.minimum(i, rows - 1)
    dx = jnp.where(level, across, jnp.where(action == EAST, cols // 2, -(cols // 2)))
    dy = jnp.where(level, jnp.where(action == NORTH, rows // 2, -(rows // 2)), down)
    x, y, outside = _offset_cells(world, state, dx, dy)
    return jnp.where(outside, len(world.kinds), find_kind(world, state, x, y))


def _offset_cells(world: World, state: ForagerState, dx: Any, dy: Any) -> tuple[Array, Array, Array]:
    """Return (x, y, outside) of cells around the agent; x and y are wrapped, so they are always in the world."""
    w, h = world.width, world.height
    x, y = state.x.astype(jnp.int32) + dx, state.y.astype(jnp.int32) + dy
    outside = (x < 0) | (x >= w) | (y < 0) | (y >= h)
    return to_word(_wrap(x, w)), to_word(_wrap(y, h)), outside & (world.edge == "wall")


def _view_cells(world: World, state: ForagerState) -> tuple[Array, Array, Array]:
    dy, dx = view_offsets(*state.view.shape)
    return _offset_cells(world, state, dx, dy)


def refresh(world: World, state: ForagerState) -> ForagerState:
    """Look up every cell in the view."""
    x, y, outside = _view_cells(world, state)
    kinds = _find_block(world, state, x, y)
    return replace(state, view=jnp.where(outside, len(world.kinds), kinds).astype(jnp.int8))


def _find_block(world: World, state: ForagerState, x: Array, y: Array) -> Array:
    """Return the kinds in a block of cells, looked up row by row."""
    return jax.lax.map(lambda row: find_kind(world, state, row[0], row[1]), (x, y))


def locate_in_view(world: World, state: ForagerState, x: Array, y: Array) -> Cells:
    """Return (row, column) of cells, which may lie outside the view."""
    rows, cols = state.view.shape
    col = x.astype(jnp.int32) - state.x.astype(jnp.int32) + cols // 2
    row = state.y.astype(jnp.int32) - y.astype(jnp.int32) + rows // 2
    if world.edge == "torus":
        col, row = _wrap(col, world.width), _wrap(row, world.height)
    return row, col


def is_in_view(state: ForagerState, row: Array, col: Array) -> Array:
    """Return whether positions lie in the view."""
    rows, cols = state.view.shape
    return (row >= 0) & (row < rows) & (col >= 0) & (col < cols)


def patch(state: ForagerState, row: Array, col: Array, kind: Any, where: Array) -> Array:
    """Return the view with one cell changed, if `where` is true and the cell is in view."""
    rows, cols = state.view.shape
    shown = where & is_in_view(state, row, col)
    return put(state.view.ravel(), row * cols + col, kind, shown).reshape(rows, cols)


# ---- encoding ----------------------------------------------------------------------------------------------


def survey(world: World, state: ForagerState) -> Array:
    """Return int32 (height, width): the kind in every cell or -1, northernmost row first; for small worlds."""
    y, x = np.indices((world.height, world.width), np.int32)
    return _find_block(world, state, to_word(x), to_word(y[::-1]))


def encode(world: World, state: ForagerState, mode: ObservationMode) -> Array:
    """Return the cells that a mode shows, (rows, columns, depth), encoded with its table."""
    if mode.whole:
        return show_world(world, survey(world, state), state.x.astype(jnp.int32), state.y.astype(jnp.int32), jnp)
    if mode.table is channel_table:
        return state.view[..., None] == jnp.arange(count_channels(world), dtype=jnp.int8)
    return _encode_view(world, state, mode.table(world))


def _encode_view(world: World, state: ForagerState, table: np.ndarray) -> Array:
    tint = _draw_tints(world, state) if table.shape[1] > 1 else jnp.zeros((), jnp.int32)
    seen = jnp.broadcast_to(table[0, 0], (*state.view.shape, table.shape[2]))
    for kind, tints in enumerate(table[1:]):
        for i in range(table.shape[1]):
            here = (state.view == kind) & (tint == i)
            seen = jnp.where(here[..., None], tints[i], seen)
    return seen


def _draw_tints(world: World, state: ForagerState) -> Array:
    """Return int32 (rows, columns): the index of each cell's colour among the colours of its kind."""
    x, y, _ = _view_cells(world, state)
    counts = jnp.array([1, *(max(1, len(k.colors)) for k in world.kinds), 1], jnp.uint32)
    number = counts[state.view.astype(jnp.int32) + 1]
    drawn = draw_word(state.words[0], state.words[1], jnp.uint32(TINT), x, y)
    return scale_word(drawn, number).astype(jnp.int32)
