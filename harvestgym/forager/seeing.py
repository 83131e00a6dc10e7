"""What an agent sees under JAX: the view is carried along, and one row or column is looked up in a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.env import Env
from ..core.tree import replace
from .hashing import draw, scale
from .observe import Mode, check_aperture, check_mode
from .senses import Hint, check_hint
from .state import ForagerParams, ForagerState
from .traced import (
    Map,
    look,
    look_along,
    word,
)
from .world import STEPS, World


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
        return Map(state.words, state.keys, state.keep, state.kept)

    def _ahead(self, state: ForagerState, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        dx, dy = jnp.asarray(STEPS, jnp.int32)[action]
        x, y = state.x.astype(jnp.int32) + dx, state.y.astype(jnp.int32) + dy
        w, h = self.world.width, self.world.height
        if self.world.edge == "wall":
            return word(jnp.clip(x, 0, w - 1)), word(jnp.clip(y, 0, h - 1))
        wrap = lambda v, n: jnp.where(v < 0, v + n, jnp.where(v >= n, v - n, v))  # noqa: E731
        return word(wrap(x, w)), word(wrap(y, h))

    # -- the view ------------------------------------------------------------------------------------------

    def _move(self, state: ForagerState, action: jax.Array, moved: jax.Array) -> ForagerState:
        """Step ahead and look up the row or column that comes into sight."""
        x, y = self._ahead(state, action)
        old, ahead = state.view, replace(state, x=x, y=y)
        line, level = self._line(ahead, action)
        rows, cols = self.aperture
        flat, column = line[:cols].astype(jnp.int8), line[:rows].astype(jnp.int8)
        views = [
            jnp.concatenate([flat[None], old[:-1]]),
            jnp.concatenate([old[:, 1:], column[:, None]], 1),
            jnp.concatenate([old[1:], flat[None]]),
            jnp.concatenate([column[:, None], old[:, :-1]], 1),
        ]
        view = jnp.where(level, jnp.where(action == 0, views[0], views[2]), jnp.where(action == 1, views[1], views[3]))
        return replace(
            state,
            x=jnp.where(moved, x, state.x),
            y=jnp.where(moved, y, state.y),
            view=jnp.where(moved, view, old),
        )

    def _line(self, state: ForagerState, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        """What stands in the row or column ahead of a state that has moved; columns north to south."""
        rows, cols = self.aperture
        n = max(rows, cols)
        level = (action == 0) | (action == 2)
        i = jnp.arange(n)
        dx = jnp.where(level, i - cols // 2, jnp.where(action == 1, cols // 2, -(cols // 2)))
        dy = jnp.where(level, jnp.where(action == 0, rows // 2, -(rows // 2)), i - rows // 2)
        x, y, outside = self._cells(state, dx, dy)
        kinds = look_along(self.world, self._ground(state), state.slots, x, y, level)
        kinds = jnp.where(outside, len(self.world.kinds), kinds)
        return jnp.where(level, kinds, jnp.roll(kinds[::-1], rows - n)), level

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
        one = lambda row: look(self.world, self._ground(state), state.slots, row[0], row[1])[0]  # noqa: E731
        return jax.lax.map(one, (x, y))

    def _tints(self, state: ForagerState) -> jax.Array:
        x, y, _ = self._window(state)
        counts = jnp.array([1, *(max(1, len(k.colors)) for k in self.world.kinds), 1], jnp.uint32)
        number = counts[state.view.astype(jnp.int32) + 1]
        drawn = draw(state.words[0], state.words[1], jnp.uint32(9), x, y)
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

    def _patched(self, view: jax.Array, row: Any, col: Any, kind: Any, where: jax.Array) -> jax.Array:
        """The view with one cell changed, if `where`."""
        rows, cols = np.ogrid[: self.aperture[0], : self.aperture[1]]
        return jnp.where((rows == row) & (cols == col) & where, jnp.asarray(kind).astype(jnp.int8), view)

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
