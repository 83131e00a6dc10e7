"""Maps of an episode: the aperture, a small world or the surroundings in a large one, and the visited cells."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Map, Mark, load_sprites
from harvestgym.core.view.timeline import Record
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Kind
from harvestgym.forager.observations import OUTSIDE, PALETTE, Color, choose_colors

SMALL_WORLD = 1024
"""Maximum number of cells of a world that is shown as a whole; more cells would not be legible."""

AROUND = 10
"""Cells shown on each side of the agent in a large world."""

MEMORY, TRAIL, COARSE = 2000, 60, 24
"""Number of remembered views, number of steps in the trail, and number of cells across the map of visited cells."""

UNSEEN, SEEN, NOW, BEEN, TRACK = "#d9d9d9", "#ffffff", "#fff0b3", "#0072b2", "#8a5a00"
GROUNDS = ("#ffffff", "#e9f3e2", "#e3ecf8", "#f9e9e4", "#f1e8f8")
"""Background colours of the biomes; the first is for the rest of the world."""


def aperture(env: Forager, past: Record) -> Map:
    """Draw the view with the agent in the centre; kinds with the same colour share a legend entry."""
    rows, cols = env.aperture
    colors = _hex(tints[0] for tints in choose_colors(env.world.kinds))
    drawn = list(zip(env.world.kinds, colors, strict=True))
    alike = [" or ".join(kind.name for kind, own in drawn if own == color) for color in colors]
    labels = [alike[i] if alike[i] != kind.name else label_kind(kind) for i, kind in enumerate(env.world.kinds)]
    marks = _things(env, past["view"][-1], colors, labels)
    me = _agent((cols / 2, rows / 2))
    return Map("What the agent sees", (cols, rows), (*marks, me), legend=_legend(env, colors, labels))


def surroundings(env: Forager, past: Record) -> Map:
    """Draw a small world in its current state, or the surroundings in a large world as the agent last saw them."""
    world, x, y = env.world, past["x#cell"][-TRAIL:], past["y#cell"][-TRAIL:]
    if "world" in past:
        title, across, down, west, north = "The world as it is", world.width, world.height, 0, world.height - 1
        cells, ground = past["world"][-1], _biomes(env)
    else:
        across, down = neighbourhood_size(env)
        title, west, north = "What the agent remembers", int(x[-1]) - across // 2, int(y[-1]) + down // 2
        cells = remember_cells(env, past, across, down)
        ground = [_square((col, row), UNSEEN, "not seen recently") for row, col in np.argwhere(cells == UNKNOWN_CELL)]
    rows, cols = env.aperture
    r, c = (v.ravel() for v in np.mgrid[:rows, :cols])
    seen = _place(env, int(x[-1]) + c - cols // 2, int(y[-1]) + rows // 2 - r, west, north)
    *trail, here = _place(env, x, y, west, north)
    inside = lambda at: 0 <= at[0] < across and 0 <= at[1] < down  # noqa: E731
    marks = [*ground, *(_square(at, NOW, "in view now", 0.6) for at in seen if inside(at))]
    marks += _things(env, cells, distinct_colors(env), [label_kind(kind) for kind in world.kinds])
    marks += [_step(at, 1 - (i + 1) / len(x)) for i, at in enumerate(trail) if inside(at)]
    return Map(title, (across, down), (*marks, _agent(_centre(here))))


def visited(env: Forager, past: Record) -> Map:
    """Draw the path of the agent on a grid of squares large enough to show the whole path.

    The path is drawn as if the world were endless; a teleport appears as the shorter displacement.
    """
    sides = {"x#cell": env.world.width, "y#cell": env.world.height}
    places: Any = (np.unwrap(past[name].astype(np.int64), period=side) for name, side in sides.items())
    x, y = places
    left, low = x.min(), y.min()
    side = max(1, -(-int(max(x.max() - left, y.max() - low) + 1) // COARSE))
    count = np.zeros((COARSE, COARSE))
    np.add.at(count, (COARSE - 1 - (y - low) // side, (x - left) // side), 1)
    share = np.log1p(count) / np.log1p(count.max())
    marks = [_square((x, y), BEEN, "been here", 0.15 + 0.85 * float(share[y, x])) for y, x in np.argwhere(count)]
    at = (float(x[-1] - left) + 0.5) / side, COARSE - (float(y[-1] - low) + 0.5) / side
    size = f"squares of {side:,} x {side:,}" if side > 1 else "cell by cell"
    return Map(f"Where the agent has been, {size}", (COARSE, COARSE), (*marks, _agent(at)))


# -- marks -------------------------------------------------------------------------------------------------


def _things(env: Forager, cells: np.ndarray, colors: list[str], labels: list[str]) -> list[Mark]:
    """Return a mark for the kind in each cell."""
    kinds = env.world.kinds
    rows, cols = np.nonzero(cells >= 0)
    return [
        _outside((col, row)) if kind == len(kinds) else _thing(kinds[kind], (col, row), colors[kind], labels[kind])
        for row, col, kind in zip(rows.tolist(), cols.tolist(), cells[rows, cols].tolist(), strict=True)
    ]


def _thing(kind: Kind, cell: tuple[float, float], color: str, label: str) -> Mark:
    """Return the mark of an object: a square if it blocks, a disc if it is collected, a ring if it stays."""
    shape, size = ("square", 1.0) if kind.blocking else ("disc", 0.7) if kind.collectable else ("ring", 0.8)
    return Mark(shape, _centre(cell), size, color, meaning=label)


def _square(cell: tuple[float, float], color: str, meaning: str, opacity: float = 1.0) -> Mark:
    return Mark("square", _centre(cell), 1, color, opacity, meaning=meaning)


def _outside(cell: tuple[float, float]) -> Mark:
    return _square(cell, _hex([OUTSIDE])[0], "outside of the world")


def _legend(env: Forager, colors: list[str], labels: list[str]) -> tuple[Mark, ...]:
    """Return the legend entries, which are shown from the first step on, whether the kinds are in view or not."""
    known = [_thing(k, (0, 0), color, text) for k, color, text in zip(env.world.kinds, colors, labels, strict=True)]
    outside = [_outside((0, 0))] if env.world.edge == "wall" else []
    return _agent((0.0, 0.0)), *known, *outside


def label_kind(kind: Kind) -> str:
    """Return the legend entry of a kind."""
    pays = f", {kind.constant:+g}" if kind.constant else ""
    return f"{kind.name}{pays}{', in the way' if kind.blocking else ''}"


def distinct_colors(env: Forager) -> list[str]:
    """Return a colour for each kind: its colour in the aperture, unless an earlier kind has the same colour."""
    colors = _hex(tints[0] for tints in choose_colors(env.world.kinds))
    spare = [color for color in _hex(PALETTE) if color not in colors]
    return [spare.pop(0) if color in colors[:i] and spare else color for i, color in enumerate(colors)]


def _hex(colors: Iterable[Color]) -> list[str]:
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colors]


def _agent(at: tuple[float, float]) -> Mark:
    return Mark(load_sprites(Path(__file__).with_name("sprites.yaml"))["agent"], at, 1.0, meaning="the agent")


def _biomes(env: Forager) -> list[Mark]:
    """Return a square for each cell of a biome."""
    world = env.world
    y, x = np.meshgrid(np.arange(world.height)[::-1], np.arange(world.width), indexing="ij")
    regions = world.find_region(x, y)
    return [
        _square((col, row), GROUNDS[1 + (region - 1) % (len(GROUNDS) - 1)], f"biome {world.regions[region].name}")
        for (row, col), region in np.ndenumerate(regions)
        if region
    ]


def _step(at: tuple[int, int], age: float) -> Mark:
    return Mark("disc", _centre(at), 0.3, TRACK, 1 - 0.8 * age, meaning="its last steps")


# -- places ------------------------------------------------------------------------------------------------

UNKNOWN_CELL = -2


def _centre(cell: tuple[float, float]) -> tuple[float, float]:
    return float(cell[0]) + 0.5, float(cell[1]) + 0.5


def _place(env: Forager, x: np.ndarray, y: np.ndarray, west: int, north: int) -> list[tuple[int, int]]:
    """Return cells as (column, row) on a map with the given north-western cell."""
    col, row = x.astype(np.int64) - west, north - y.astype(np.int64)
    if env.world.edge == "torus":
        col, row = col % env.world.width, row % env.world.height
    return list(zip(col.tolist(), row.tolist(), strict=True))


def neighbourhood_size(env: Forager) -> tuple[int, int]:
    """Return the sides (across, down) of the surroundings: odd, larger than the view, at most as large as the world."""
    rows, cols = env.aperture
    fit = lambda least, most: min(max(2 * AROUND + 1, least + 8), most - 1 + most % 2)  # noqa: E731
    return fit(cols, env.world.width), fit(rows, env.world.height)


def remember_cells(env: Forager, past: Record, across: int, down: int) -> np.ndarray:
    """Return (down, across): the kind last seen in each cell around the agent, EMPTY, or UNKNOWN."""
    rows, cols = env.aperture
    views, x, y = (np.asarray(past[n][-MEMORY:]) for n in ("view", "x#cell", "y#cell"))
    dx, dy = _short(x - x[-1], env.world.width), _short(y - y[-1], env.world.height)
    near = (abs(dx) <= (across + cols) // 2) & (abs(dy) <= (down + rows) // 2)
    r, c = np.ogrid[:rows, :cols]
    col = across // 2 + dx[near, None, None] + c - cols // 2 + 0 * r
    row = down // 2 - dy[near, None, None] + r - rows // 2 + 0 * c
    shown = (col >= 0) & (col < across) & (row >= 0) & (row < down)
    cells = np.full((down, across), UNKNOWN_CELL)
    # If a cell was seen several times, the last value remains, because NumPy assigns in order.
    cells[row[shown], col[shown]] = views[near][shown]
    return cells


def _short(way: np.ndarray, side: int) -> np.ndarray:
    """Return a displacement on a ring of `side` cells, in the shorter direction."""
    return (way.astype(np.int64) + side // 2) % side - side // 2
