"""What an agent may be told instead of a picture or beside it: compass, counts, a hint; one source for both engines."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np

from harvestgym.core.errors import ConfigError

from .observations import Mode, channels
from .world import World

Hint = tuple[int, int]
"""(shown, every): the biome is told in the first `shown` of `every` steps; (0, 0) for never."""


@lru_cache(maxsize=64)
def _bearings(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells in order of distance, ties from north to south and west to east: order, and (east, north, 1) by order."""
    north, east = np.meshgrid(rows // 2 - np.arange(rows), np.arange(cols) - cols // 2, indexing="ij")
    cells = np.stack([east.ravel(), north.ravel(), np.ones(rows * cols, int)], 1).astype(np.int16)
    nearest = np.argsort(np.abs(cells[:, :2]).sum(1), kind="stable")
    order = np.empty(rows * cols, np.int32)
    order[nearest] = np.arange(rows * cols)
    return order, np.concatenate([cells[nearest], np.zeros((1, 3), np.int16)])


def compass(seen: Any, xp: Any) -> Any:
    """int16 (..., channels, 3): cells east and north to the nearest of each kind in view, and 1; zeros if none is.

    Args:
        seen: bool (..., rows, columns, channels). What is under the agent is not told.
        xp: numpy or jax.numpy.
    """
    *lead, rows, cols, depth = seen.shape
    order, table = _bearings(rows, cols)
    flat = seen.reshape(*lead, rows * cols, depth)
    far = xp.where(flat & (order > 0)[:, None], order[:, None], np.int32(rows * cols))
    return xp.asarray(table)[far.min(-2)]


def counts(seen: Any, xp: Any) -> Any:
    """int32 (..., channels): how many of each kind are in view; `seen` as for `compass`."""
    return seen.sum((-3, -2), dtype=xp.int32)


def sensed(mode: Mode, seen: Any, xp: Any) -> Any:
    """The observation of a mode from what is in view."""
    if mode == "compass":
        return compass(seen, xp)
    return counts(seen, xp) if mode == "scalar" else seen


def hinted(world: World, hint: Hint, view: Any, clock: Any, biome: Any) -> Any:
    """A view, or with a hint the dict of it and of bool (..., regions), where the agent is if that is told now."""
    shown, every = hint
    if not shown:
        return view
    here = np.asarray(biome)[..., None] == np.arange(len(world.regions))
    return {"hint": here & (np.asarray(clock)[..., None] % every < shown), "view": view}


def check_hint(hint: Any) -> None:
    """ConfigError unless 0 <= shown <= every."""
    whole = all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in hint)
    if len(hint) != 2 or not whole or not 0 <= hint[0] <= hint[1] < 2**31:
        raise ConfigError(f"hint: wanted (shown, every) in steps with 0 <= shown <= every, found {hint!r}")


def space(world: World, mode: Mode, aperture: tuple[int, int], hint: Hint, more: int = 0) -> gymnasium.Space[Any]:
    """The space of observations, with so many more channels than the world has kinds."""
    seen = _image(world, mode, aperture, channels(world) + more)
    if not hint[0]:
        return seen
    told = _truths((len(world.regions),))
    return gymnasium.spaces.Dict({"hint": told, "view": seen})


def _image(world: World, mode: Mode, aperture: tuple[int, int], depth: int) -> gymnasium.Space[Any]:
    if mode == "colors":
        return gymnasium.spaces.Box(0, 255, (*aperture, 3), np.uint8)
    if mode == "world":
        return _truths((world.height, world.width, len(world.kinds) + 1))
    if mode == "compass":
        high = np.array([[aperture[1] // 2, aperture[0] // 2, 1]] * depth, np.int16).reshape(depth, 3)
        return gymnasium.spaces.Box(high * np.array([-1, -1, 0], np.int16), high, dtype=np.int16)
    if mode == "scalar":
        return gymnasium.spaces.Box(0, aperture[0] * aperture[1], (depth,), np.int32)
    return _truths((*aperture, depth))


def _truths(shape: tuple[int, ...]) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Box(0, 1, shape, np.dtype(bool))  # pyright: ignore[reportArgumentType, reportCallIssue]
