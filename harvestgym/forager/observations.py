"""From kinds to what an agent sees: channels or colours, one table of bytes per cell for both engines."""

from __future__ import annotations

from typing import Literal

import numpy as np

from harvestgym.core.errors import ConfigError, unknown

from .kinds import Color, Kind
from .world import World

Mode = Literal["objects", "colors", "world", "compass", "scalar"]
MODES: tuple[str, ...] = ("objects", "colors", "world", "compass", "scalar")
PICTURES = ("objects", "colors")
"""Modes that show the view as it is kept."""

GROUND: Color = (255, 255, 255)
OUTSIDE: Color = (40, 40, 40)
PALETTE: tuple[Color, ...] = (
    (0, 158, 115), (230, 159, 0), (86, 180, 233), (204, 121, 167), (0, 114, 178), (213, 94, 0), (240, 228, 66),
    (120, 94, 60), (148, 103, 189), (96, 96, 96),
)  # fmt: skip
"""Colours that the colour-blind can tell apart (Okabe and Ito 2008), and three more, in the order of the kinds."""

MAX_SURVEY = 2**22


def colors_of(kinds: tuple[Kind, ...]) -> list[tuple[Color, ...]]:
    """The colours of each kind: its own, or the next of the palette that nobody took."""
    taken = {color for kind in kinds for color in kind.colors}
    free = [color for color in PALETTE if color not in taken] or list(PALETTE)
    out, given = [], 0
    for kind in kinds:
        out.append(kind.colors or (free[given % len(free)],))
        given += not kind.colors
    return out


def codes(world: World, mode: Mode) -> np.ndarray:
    """uint8 (kinds + 2, tints, depth): the bytes of an empty cell, of each kind, and of what lies outside."""
    return _color_codes(world) if mode == "colors" else _channel_codes(world)


def channels(world: World) -> int:
    """Channels of `objects` mode: one per kind, and one for the outside of a walled world."""
    return len(world.kinds) + (world.edge == "wall")


def _channel_codes(world: World) -> np.ndarray:
    n, depth = len(world.kinds), channels(world)
    table = np.zeros((n + 2, 1, depth), np.uint8)
    table[np.arange(1, depth + 1), 0, np.arange(depth)] = 1
    return table


def _color_codes(world: World) -> np.ndarray:
    colors = colors_of(world.kinds)
    tints = max((len(c) for c in colors), default=1)
    table = np.zeros((len(colors) + 2, tints, 3), np.uint8)
    table[0], table[-1] = GROUND, OUTSIDE
    for row, choice in zip(table[1:], colors, strict=False):
        row[:] = [choice[i % len(choice)] for i in range(tints)]
    return table


def check_aperture(aperture: int | tuple[int, int], world: World) -> tuple[int, int]:
    """(rows, columns), both odd and within the world; ConfigError otherwise."""
    rows, cols = (aperture, aperture) if isinstance(aperture, int | np.integer) else tuple(aperture)
    for name, side, most in (("rows", rows, world.height), ("columns", cols, world.width)):
        if isinstance(side, bool) or not isinstance(side, int | np.integer) or side < 1:
            raise ConfigError(f"aperture: wanted whole sides of at least 1, found {aperture!r}")
        if side % 2 == 0:
            raise ConfigError(f"aperture: {name} = {side} is even; use {side - 1} or {side + 1}, so that the agent "
                              "is in the centre")  # fmt: skip
        if side > most:
            raise ConfigError(f"aperture: {name} = {side} is larger than the world ({most}); use at most "
                              f"{most - 1 + most % 2}")  # fmt: skip
    return int(rows), int(cols)


def check_mode(mode: str, world: World) -> None:
    """ConfigError for an unknown mode, or for a survey of a world that is not small."""
    if mode not in MODES:
        raise unknown("observation_mode", mode, MODES)
    if mode == "world" and world.cells > MAX_SURVEY:
        raise ConfigError(f"observation_mode 'world': wanted at most {MAX_SURVEY} cells, found {world.cells}; "
                          "use an aperture")  # fmt: skip
