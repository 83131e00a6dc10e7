"""Observation modes: how cells are encoded as bytes and shown to an agent; the code is the same for both engines.

`MODES` lists the modes. A new mode is one entry: both engines encode cells with its table and pass them to its
function, and all interfaces derive their spaces from it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import cycle
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
from pydantic import AfterValidator

from harvestgym.core.errors import check_name, is_whole, mismatch, require

from .object_kinds import Color, Kind
from .world import StepCount, World, view_offsets


def _check_hint(hint: tuple[int, int]) -> tuple[int, int]:
    if hint[0] > hint[1]:
        raise ValueError("expected (shown, every) in steps with 0 <= shown <= every")
    return hint


Hint = Annotated[tuple[StepCount, StepCount], AfterValidator(_check_hint)]
"""(shown, every): the region is shown in the first `shown` of `every` steps; (0, 0) for never."""

GROUND: Color = (255, 255, 255)
OUTSIDE: Color = (40, 40, 40)
PALETTE: tuple[Color, ...] = (
    (0, 158, 115), (230, 159, 0), (86, 180, 233), (204, 121, 167), (0, 114, 178), (213, 94, 0), (240, 228, 66),
    (120, 94, 60), (148, 103, 189), (96, 96, 96),
)  # fmt: skip
"""Default colours of the kinds, in order: those of Okabe and Ito (2008) for colour-blind viewers, and three more."""

MAX_SURVEY = 2**22
"""Maximum number of cells in a view, and in a world that can be observed as a whole."""

PIXELS = 84
"""Side of an image; default image networks need at least 36 (Stable-Baselines3) or exactly 84 (RLlib)."""


class ObservationMode(NamedTuple):
    """One form of observations of the world.

    Attributes:
        table: bool or uint8 (kinds + 2, tints, depth), the code of an empty cell, of each kind, and of the outside.
        space: the space of observations, from the shape (rows, columns, depth) of the encoded cells.
        observe: the observation, from encoded cells (..., rows, columns, depth) and `numpy` or `jax.numpy`.
        whole: whether it shows the whole world, with the agent as an additional channel, instead of the view.
    """

    table: Callable[[World], np.ndarray]
    space: Callable[[tuple[int, int, int]], gymnasium.Space[Any]]
    observe: Callable[[Any, Any], Any]
    whole: bool = False

    @property
    def is_picture(self) -> bool:
        """Return whether the encoded view itself is observed."""
        return self.observe is show_cells and not self.whole

    @property
    def has_channels(self) -> bool:
        """Return whether the view is observed with a bool channel for each kind."""
        return self.is_picture and self.table is channel_table

    @property
    def has_colors(self) -> bool:
        """Return whether the view is observed in colours."""
        return self.is_picture and self.table is color_table


# -- tables of codes -----------------------------------------------------------------------------------------


def count_channels(world: World) -> int:
    """Count the channels of a cell: one for each kind, and one for the outside of a walled world."""
    return len(world.kinds) + (world.edge == "wall")


def channel_table(world: World) -> np.ndarray:
    """Return a bool table with a channel for each kind."""
    n, depth = len(world.kinds), count_channels(world)
    table = np.zeros((n + 2, 1, depth), np.bool_)
    table[np.arange(1, depth + 1), 0, np.arange(depth)] = True
    return table


def image_table(world: World) -> np.ndarray:
    """Return a uint8 table with a channel for each kind, 255 where it is present."""
    return channel_table(world).astype(np.uint8) * np.uint8(255)


def color_table(world: World) -> np.ndarray:
    """Return a uint8 table of the colours of each kind; a kind with several colours shows one of them in each cell."""
    colors = choose_colors(world.kinds)
    tints = max((len(c) for c in colors), default=1)
    table = np.zeros((len(colors) + 2, tints, 3), np.uint8)
    table[0], table[-1] = GROUND, OUTSIDE
    for row, choice in zip(table[1:], colors, strict=False):
        row[:] = [choice[i % len(choice)] for i in range(tints)]
    return table


def choose_colors(kinds: tuple[Kind, ...]) -> list[tuple[Color, ...]]:
    """Return the colours of each kind: its own colours, or the next unused colour of the palette."""
    taken = {color for kind in kinds for color in kind.colors}
    free = cycle([color for color in PALETTE if color not in taken] or PALETTE)
    return [kind.colors or (next(free),) for kind in kinds]


# -- what is observed ----------------------------------------------------------------------------------------


def show_cells(cells: Any, xp: Any) -> Any:
    """Return the encoded cells unchanged."""
    return cells


def enlarge_cells(cells: Any, xp: Any) -> Any:
    """Return the encoded cells as an image, (..., 84, 84, depth), in which each cell is a block of pixels."""
    rows, cols = (np.arange(PIXELS) * side // PIXELS for side in cells.shape[-3:-1])
    return cells[..., rows[:, None], cols, :]


def show_world(world: World, kinds: Any, x: Any, y: Any, xp: Any) -> Any:
    """Return bool (height, width, kinds + 1): the kind in every cell, and the agent at (x, y) as the last channel."""
    row, col = np.ogrid[: world.height, : world.width]
    agent = (row == world.height - 1 - y) & (col == x)
    return xp.concatenate([kinds[..., None] == np.arange(len(world.kinds), dtype=np.int32), agent[..., None]], -1)


def point_to_nearest(cells: Any, xp: Any) -> Any:
    """Return int16 (..., channels, 3): offset (east, north) of the nearest object of each kind, and 1; zeros if none.

    The agent's own cell is excluded.
    """
    *lead, rows, cols, depth = cells.shape
    order, offsets = _sort_by_distance(rows, cols)
    flat = cells.reshape(*lead, rows * cols, depth)
    places = xp.where(flat & (order > 0)[:, None], order[:, None], np.int32(rows * cols))
    return xp.asarray(offsets)[places.min(-2)]


@lru_cache(maxsize=64)
def _sort_by_distance(rows: int, cols: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each cell's rank by distance (ties north to south, then west to east), and (east, north, 1) by rank."""
    north, east = view_offsets(rows, cols)
    cells = np.stack([east.ravel(), north.ravel(), np.ones(rows * cols, int)], 1).astype(np.int16)
    nearest = np.argsort(np.abs(cells[:, :2]).sum(1), kind="stable")
    order = np.argsort(nearest).astype(np.int32)
    return order, np.concatenate([cells[nearest], np.zeros((1, 3), np.int16)])


def count_in_view(cells: Any, xp: Any) -> Any:
    """Return int32 (..., channels): the number of objects of each kind in view."""
    return cells.sum((-3, -2), dtype=xp.int32)


def _flags_space(shape: tuple[int, ...]) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Box(0, 1, shape, np.dtype(bool))  # pyright: ignore[reportArgumentType, reportCallIssue]


def _color_space(shape: tuple[int, int, int]) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Box(0, 255, shape, np.uint8)


def _image_space(shape: tuple[int, int, int]) -> gymnasium.Space[Any]:
    require(max(shape[:2]) <= PIXELS, "aperture", f"sides of at most {PIXELS} for 'images'", shape[:2])
    return _color_space((PIXELS, PIXELS, shape[2]))


def _compass_space(shape: tuple[int, int, int]) -> gymnasium.Space[Any]:
    rows, cols, depth = shape
    high = np.array([[cols // 2, rows // 2, 1]] * depth, np.int16).reshape(depth, 3)
    return gymnasium.spaces.Box(high * np.array([-1, -1, 0], np.int16), high, dtype=np.int16)


def _count_space(shape: tuple[int, int, int]) -> gymnasium.Space[Any]:
    return gymnasium.spaces.Box(0, shape[0] * shape[1], shape[2:], np.int32)


MODES: dict[str, ObservationMode] = {
    "objects": ObservationMode(channel_table, _flags_space, show_cells),
    "images": ObservationMode(image_table, _image_space, enlarge_cells),
    "colors": ObservationMode(color_table, _color_space, show_cells),
    "world": ObservationMode(channel_table, _flags_space, show_cells, whole=True),
    "compass": ObservationMode(channel_table, _compass_space, point_to_nearest),
    "scalar": ObservationMode(channel_table, _count_space, count_in_view),
}
"""The observation modes by name."""


def make_space(
    world: World, name: str, aperture: tuple[int, int], hint: Hint, more_channels: int = 0
) -> gymnasium.Space[Any]:
    """Return the observation space of a mode; `more_channels` is the number of channels that an interface adds."""
    mode = MODES[name]
    depth = mode.table(world).shape[2] + more_channels
    shape = (world.height, world.width, len(world.kinds) + 1) if mode.whole else (*aperture, depth)
    seen = mode.space(shape)
    if not hint[0]:
        return seen
    return gymnasium.spaces.Dict({"hint": _flags_space((len(world.regions),)), "view": seen})


def add_hint(world: World, hint: Hint, view: Any, phase: Any, region: Any) -> Any:
    """Return a dict of an observation and a hint: the agent's region if it is shown now, bool (..., regions).

    Args:
        world: the agents' world.
        hint: (shown, every), with `shown` above 0.
        view: the observation without a hint.
        phase: int (...), the clock modulo `every`.
        region: int (...), the region of each agent.
    """
    here = region[..., None] == np.arange(len(world.regions))
    return {"hint": here & (phase < hint[0])[..., None], "view": view}


# -- checks --------------------------------------------------------------------------------------------------


def check_aperture(aperture: int | tuple[int, int], world: World) -> tuple[int, int]:
    """Return (rows, columns); raise ConfigError unless both are odd and within the world."""
    rows, cols = check_sides(aperture)
    for name, side, most in (("rows", rows, world.height), ("columns", cols, world.width)):
        require(side <= most, "aperture", f"{name} within the world ({most})", side, f"at most {most - 1 + most % 2}")
    return rows, cols


def check_sides(aperture: int | tuple[int, int]) -> tuple[int, int]:
    """Return (rows, columns); raise ConfigError unless both are odd, with at most 2^22 cells."""
    rows, cols = (aperture, aperture) if isinstance(aperture, int | np.integer) else tuple(aperture)
    for name, side in (("rows", rows), ("columns", cols)):
        require(is_whole(side, 1), "aperture", "an integer, or two integers, of at least 1", repr(aperture))
        require(side % 2 != 0, "aperture", f"odd {name}", side, f"{side - 1} or {side + 1}, for an agent in the centre")
    require(int(rows) * int(cols) <= MAX_SURVEY, "aperture", f"at most {MAX_SURVEY} cells in view", f"{rows} x {cols}")
    return int(rows), int(cols)


def check_mode(name: str, world: World) -> None:
    """Raise ConfigError for an unknown mode, or for one that shows the whole world if the world is too large."""
    check_name("observation_mode", name, MODES)
    if MODES[name].whole:
        check_survey(world)


def check_survey(world: World) -> None:
    """Raise ConfigError if a world is too large to be shown as a whole."""
    if world.cells > MAX_SURVEY:
        raise mismatch("observation_mode 'world'", f"at most {MAX_SURVEY} cells", world.cells, "an aperture")
