"""What an agent sees under JAX: the view is carried along, and one row or column is looked up in a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.tree import replace
from harvestgym.forager.hashing import draw, scale
from harvestgym.forager.observations import Mode, check_aperture, check_mode
from harvestgym.forager.senses import Hint, check_hint
from harvestgym.forager.world import EAST, NORTH, SOUTH, STEPS, TINT, World

from .lookup import Map, look, look_along, word
from .state import ForagerParams, ForagerState


@dataclass(frozen=True)
class Seeing(Env[ForagerState, ForagerParams]):
    """A world, how much of it an agent sees, and how."""

    world: World
    aperture: tuple[int, int] = (9, 9)
    mode: Mode = "objects"
    horizon: int = 0
    hint: Hint = (0, 0)

    def __post_init__(self) -> None:
        check_aperture(self.aperture, self.world)
        check_mode(self.mode, self.world)
        check_hint(self.hint)

    def _ground(self, state: ForagerState) -> Map:
        return Map(state.words, state.keys, state.keep, state.kept, state.clock)

    def _ahead(self, state: ForagerState, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        dx, dy = jnp.asarray(STEPS, jnp.int32)[action]
        x, y = state.x.astype(jnp.int32) + dx, state.y.astype(jnp.int32) + dy
        w, h = self.world.width, self.world.height
        if self.world.edge == "wall":
            return word(jnp.clip(x, 0, w - 1)), word(jnp.clip(y, 0, h - 1))
        wrap = lambda v, n: jnp.where(v < 0, v + n, jnp.where(v >= n, v - n, v))  # noqa: E731
        return word(wrap(x, w)), word(wrap(y, h))

    # -- the view ------------------------------------------------------------------------------------------

    def _seen_ahead(self, state: ForagerState, action: jax.Array) -> jax.Array:
        """The kind in the next cell, read from the view where the view reaches so far."""
        rows, cols = self.aperture
        if min(rows, cols) < 3:
            x, y = self._ahead(state, action)
            return look(self.world, self._ground(state), state.slots, x[None], y[None])[0]
        beside = [state.view[rows // 2 - dy, cols // 2 + dx] for dx, dy in STEPS.tolist()]
        return jnp.select([action == NORTH, action == EAST, action == SOUTH], beside[:3], beside[3]).astype(jnp.int32)

    def _move(self, state: ForagerState, action: jax.Array, moved: jax.Array) -> ForagerState:
        """Step ahead and look up the row or column that comes into sight."""
        x, y = self._ahead(state, action)
        rows, cols = self.aperture
        line = self._line(replace(state, x=x, y=y), action).astype(jnp.int8)
        # A view framed by what comes into sight, and a window in it: faster than a choice among four views.
        row, col = np.ogrid[: rows + 2, : cols + 2]
        above, beside = (row == 0) | (row == rows + 1), (col == 0) | (col == cols + 1)
        framed = jnp.where(beside, jnp.pad(line[:rows], 1)[:, None], jnp.pad(state.view, 1))
        framed = jnp.where(above, jnp.pad(line[:cols], 1)[None], framed)
        dx, dy = jnp.asarray(STEPS, jnp.int32)[action] * moved
        return replace(
            state,
            x=jnp.where(moved, x, state.x),
            y=jnp.where(moved, y, state.y),
            view=jax.lax.dynamic_slice(framed, (1 - dy, 1 + dx), (rows, cols)),
        )

    def _line(self, state: ForagerState, action: jax.Array) -> jax.Array:
        """What stands in the line ahead of a state that has moved: a row west to east or a column north to south."""
        rows, cols = self.aperture
        level, i = (action == NORTH) | (action == SOUTH), np.arange(max(rows, cols))
        across, down = np.minimum(i, cols - 1) - cols // 2, rows // 2 - np.minimum(i, rows - 1)
        dx = jnp.where(level, across, jnp.where(action == EAST, cols // 2, -(cols // 2)))
        dy = jnp.where(level, jnp.where(action == NORTH, rows // 2, -(rows // 2)), down)
        x, y, outside = self._cells(state, dx, dy)
        kinds = look_along(self.world, self._ground(state), state.slots, x, y, level)
        return jnp.where(outside, len(self.world.kinds), kinds)

    def _cells(self, state: ForagerState, dx: Any, dy: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        """(x, y, outside) of cells beside the agent; wrapped, so that x and y are always in the world."""
        w, h = self.world.width, self.world.height
        x, y = state.x.astype(jnp.int32) + dx, state.y.astype(jnp.int32) + dy
        outside = (x < 0) | (x >= w) | (y < 0) | (y >= h)
        wrap = lambda v, n: jnp.where(v < 0, v + n, jnp.where(v >= n, v - n, v))  # noqa: E731
        return word(wrap(x, w)), word(wrap(y, h)), outside & (self.world.edge == "wall")

    def _window(self, state: ForagerState) -> tuple[jax.Array, jax.Array, jax.Array]:
        rows, cols = self.aperture
        dy, dx = np.meshgrid(rows // 2 - np.arange(rows), np.arange(cols) - cols // 2, indexing="ij")
        return self._cells(state, dx, dy)

    def _refresh(self, state: ForagerState) -> ForagerState:
        """Look up all that is in sight."""
        x, y, outside = self._window(state)
        kinds = self._look_all(state, x, y)
        return replace(state, view=jnp.where(outside, len(self.world.kinds), kinds).astype(jnp.int8))

    def _look_all(self, state: ForagerState, x: jax.Array, y: jax.Array) -> jax.Array:
        """What stands in a block of cells, a row at a time."""
        one = lambda row: look(self.world, self._ground(state), state.slots, row[0], row[1])  # noqa: E731
        return jax.lax.map(one, (x, y))

    def _tints(self, state: ForagerState) -> jax.Array:
        x, y, _ = self._window(state)
        counts = jnp.array([1, *(max(1, len(k.colors)) for k in self.world.kinds), 1], jnp.uint32)
        number = counts[state.view.astype(jnp.int32) + 1]
        drawn = draw(state.words[0], state.words[1], jnp.uint32(TINT), x, y)
        return scale(drawn, number).astype(jnp.int32)

    def _place_in_view(self, state: ForagerState, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(row, column) of cells, which may lie outside the view."""
        w, h = self.world.width, self.world.height
        col = x.astype(jnp.int32) - state.x.astype(jnp.int32) + self.aperture[1] // 2
        row = state.y.astype(jnp.int32) - y.astype(jnp.int32) + self.aperture[0] // 2
        if self.world.edge == "torus":
            wrap = lambda v, n: jnp.where(v < 0, v + n, jnp.where(v >= n, v - n, v))  # noqa: E731
            col, row = wrap(col, w), wrap(row, h)
        return row, col

    def _in_view(self, row: jax.Array, col: jax.Array) -> jax.Array:
        return (row >= 0) & (row < self.aperture[0]) & (col >= 0) & (col < self.aperture[1])

    def _patched(self, view: jax.Array, row: jax.Array, col: jax.Array, kind: Any, where: jax.Array) -> jax.Array:
        """The view with one cell changed, if `where` and if it is in the view."""
        rows, cols = self.aperture
        shown = where & (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
        # A scatter, since XLA on CPUs would compute what is compared with every cell anew for every cell.
        place = jnp.where(shown, row * cols + col, rows * cols)
        return view.ravel().at[place].set(jnp.asarray(kind).astype(jnp.int8), mode="drop").reshape(rows, cols)

    def cells(self, state: ForagerState) -> jax.Array:
        """int32 (height, width): the kind in every cell or -1, the first row northernmost; for small worlds."""
        check_mode("world", self.world)
        h, w = self.world.height, self.world.width
        y, x = np.meshgrid(np.arange(h)[::-1], np.arange(w), indexing="ij")
        return self._look_all(state, word(x), word(y))

    def _survey(self, state: ForagerState) -> jax.Array:
        kinds = self.cells(state)[..., None] == jnp.arange(len(self.world.kinds))
        row, col = self.world.height - 1 - state.y.astype(jnp.int32), state.x.astype(jnp.int32)
        rows, cols = np.ogrid[: self.world.height, : self.world.width]
        agent = (rows == row) & (cols == col)
        return jnp.concatenate([kinds, agent[..., None]], -1)
