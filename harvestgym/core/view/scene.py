"""Scenes: pictures as data, made of panels with marks, lines or words.

Families and entities create scenes; the renderers in `harvestgym.render` draw them as pixels, SVG and text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from harvestgym.core import yaml_io
from harvestgym.core.errors import mismatch

SHAPES = ("polygon", "ellipse", "line")


@dataclass(frozen=True)
class Stroke:
    """One stroke of a sprite in the unit square, y down.

    Attributes:
        shape: "polygon" (corners), "ellipse" (centre and half axes) or "line" (points).
        points: the x and y of each point; for an ellipse, its centre and half axes.
        colour: "#rrggbb".
        width: the width of a line, relative to the unit square.
    """

    shape: str
    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 0.0


@dataclass(frozen=True)
class Sprite:
    """A drawing made of strokes; later ones are on top."""

    name: str
    strokes: tuple[Stroke, ...]

    def __hash__(self) -> int:
        # Renderers cache sprites and look them up for every mark: hashing must not walk through the strokes.
        return hash((self.name, len(self.strokes)))


@dataclass(frozen=True)
class Mark:
    """A drawing on a map.

    Attributes:
        what: a sprite, or a plain shape: "square", "disc", "ring" or "text".
        at: its centre; the plot (x, y) is the unit square centred on (x + 0.5, y + 0.5), north is y = 0.
        size: its side, in plots.
        colour: the colour of a plain shape, "#rrggbb".
        opacity: 0 to 1.
        text: text in or at the mark; renderers omit it if there is no room.
        meaning: its text in the legend; marks with an empty meaning do not appear in the legend.
    """

    what: Sprite | str
    at: tuple[float, float]
    size: float = 1.0
    colour: str = "#000000"
    opacity: float = 1.0
    text: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Map:
    """A field or world of `shape` (length, width) plots, and the marks on it; later marks are on top.

    Attributes:
        margin: free space around it, in plots, for marks next to the plots.
        legend: marks that the legend shows first, even if they are not currently on the map.
    """

    title: str
    shape: tuple[int, int]
    marks: tuple[Mark, ...]
    margin: float = 0.0
    legend: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Line:
    """A series over the steps of an episode so far, drawn as a "line" or as unconnected "dots".

    Figures also draw "bars" and the "area" below a series. In figures, `x` may replace the steps, and dots without a
    colour become lighter with each step.
    """

    label: str
    values: np.ndarray
    colour: str
    style: Literal["line", "dots", "bars", "area"] = "line"
    x: np.ndarray | None = None


@dataclass(frozen=True)
class Chart:
    """Lines over an episode of at most `steps` steps, and reference levels (label -> value).

    `ends` are the limits of the vertical axis, by default the range of the data. `room` is the space left empty on the
    right for the names of the levels, as a fraction of the steps. `across` is the label of the horizontal axis for
    lines with their own `x`.
    """

    title: str
    unit: str
    steps: int
    lines: tuple[Line, ...]
    levels: Mapping[str, float]
    ends: tuple[float, float] | None = None
    room: float = 0.0
    across: str = ""


@dataclass(frozen=True)
class Words:
    """A few lines of text: the weather of the day, the actions, the score."""

    title: str
    lines: tuple[str, ...]


Panel = Map | Chart | Words
PanelT = TypeVar("PanelT", Map, Chart, Words)


@dataclass(frozen=True)
class Scene:
    """The picture of one step of an episode."""

    title: str
    panels: tuple[Panel, ...]

    def select(self, kind: type[PanelT]) -> list[PanelT]:
        """Return the panels of one kind."""
        return [panel for panel in self.panels if isinstance(panel, kind)]

    @property
    def legend(self) -> tuple[Mark, ...]:
        """One mark for each meaning on the maps, in order."""
        maps = self.select(Map)
        first: dict[str, Mark] = {}
        for mark in [*(m for of in maps for m in of.legend), *(m for of in maps for m in of.marks)]:
            if mark.meaning:
                first.setdefault(mark.meaning, mark)
        return tuple(first.values())


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442", "#222222")
"""The Okabe-Ito palette, distinguishable with any colour vision, for lines, fields, crops and agents."""


def join_scenes(title: str, scenes: Mapping[str, Scene], rewards: np.ndarray) -> Scene:
    """Join the scenes of several agents: the first map and last text of each, and their `rewards` (steps, agents)."""
    maps, words, lines, length = list[Panel](), list[Panel](), list[Line](), len(rewards)
    for (name, scene), earned, colour in zip(scenes.items(), rewards.cumsum(0).T, COLOURS, strict=False):
        maps += [replace(panel, title=name) for panel in scene.select(Map)[:1]]
        words += [replace(panel, title=name) for panel in scene.select(Words)[-1:]]
        lines.append(Line(name, earned, colour))
        length = max([length, *(panel.steps for panel in scene.select(Chart))])
    return Scene(title, (*maps, *words, Chart("Reward so far", "", length, tuple(lines), {})))


@lru_cache
def load_sprites(path: Path) -> Mapping[str, Sprite]:
    """Load the sprites from a YAML file, by name.

    A stroke is `[shape, colour, "x y x y ...", width]`, or the name of an earlier sprite.
    """
    found: dict[str, Sprite] = {}
    for name, rows in yaml_io.read_file(path).items():
        strokes: list[Stroke] = []
        for row in rows:
            strokes += found[row].strokes if row in list(found) else [_stroke(row, f"{path.name}: {name}")]
        found[name] = Sprite(name, tuple(strokes))
    return found


def _stroke(row: Any, where: str) -> Stroke:
    match row:
        case [str(shape), str(colour), str(points), *width] if shape in SHAPES and len(width) <= 1:
            numbers = [float(number) for number in points.split()]
            pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
            return Stroke(shape, pairs, colour, float(width[0]) if width else 0.0)
    expected = f"the name of a sprite above, or [{'|'.join(SHAPES)}, colour, 'x y x y ...', width]"
    raise mismatch(where, expected, repr(row))
