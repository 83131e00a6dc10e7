"""The pictures of an episode for a page: each sprite and each line of SVG is kept once, and used on many days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harvestgym.core.scene import Chart, Map, Mark, Scene, Sprite, Words

from . import layout
from .svg import Vector

Views = Mapping[str, Callable[[int], Scene]]
Progress = Callable[[int], None]

MOST = 500
"""Pictures of one view; of a longer episode every n-th step is drawn."""

MAP_WIDTH, CHART_WIDTH = 720, 360
"""Of the pages that panels are drawn on, one by one, px; of the former the map alone is shown, which is narrower."""


@dataclass(frozen=True)
class Pictures:
    """Pictures by view.

    Attributes:
        frames: `parts`, lines of SVG and of text; of each view the `drawings`, as parts for each panel of a picture
            (its title, its view box, its lines), and the `words` beside them: the first of the scene, title first. The
            page tells what the further ones say (actions, reward) by itself.
        symbols: the sprites, as SVG.
        legend: `[svg, meaning]` of everything that is drawn on some day.
        every: steps from one picture to the next.
    """

    frames: dict[str, Any]
    symbols: str
    legend: list[tuple[str, str]]
    every: int

    @classmethod
    def of(cls, views: Views, steps: int, progress: Progress | None = None) -> Pictures:
        """The pictures of `steps` steps of each view."""
        every = max(1, -(-steps // MOST))
        album = Album()
        drawn = {name: album.view(scene, range(0, steps, every), progress) for name, scene in views.items()}
        legend = [(album.icon(mark), meaning) for meaning, mark in album.legend.items()]
        frames = {"parts": list(album.parts), "views": drawn}
        return cls(frames, "".join(album.symbols.values()), legend, every)


class Framed(Vector):
    """A pen that shares its symbols with others, and knows where the lines of a grid were drawn."""

    def __init__(self, symbols: dict[Sprite, str]) -> None:
        super().__init__()
        self.symbols = symbols
        self._points: list[tuple[float, float]] = []

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dashed: bool = False
    ) -> None:
        """A line through the points."""
        super().line(points, colour, width, dashed)
        self._points += points

    def around(self, panel: Map) -> tuple[float, float, float, float]:
        """The view box of a map and its margin: x, y, width, height."""
        (left, right), (top, foot) = ((min(along), max(along)) for along in zip(*self._points, strict=True))
        room = 4 + panel.margin * (right - left) / panel.shape[0]
        return left - room, top - room, right - left + 2 * room, foot - top + 2 * room


class Album:
    """Pictures under way, and what they share."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}
        self.symbols: dict[Sprite, str] = {}
        self.legend: dict[str, Mark] = {}

    def view(
        self, scene: Callable[[int], Scene], steps: range, progress: Callable[[int], None] | None
    ) -> dict[str, Any]:
        """The pictures of some steps."""
        drawings, words = [], []
        for step in steps:
            now = scene(step)
            for mark in now.legend:
                self.legend.setdefault(mark.meaning, mark)
            drawings.append([self._drawn(panel) for panel in _shown(now)])
            said = next((panel for panel in now.panels if isinstance(panel, Words)), Words("", ()))
            words.append([self._number(line) for line in (said.title, *said.lines)])
            if progress is not None:
                progress(1)
        return {"drawings": drawings, "words": words}

    def _drawn(self, panel: Map | Chart) -> list[int]:
        """A panel alone on its page: title, view box, lines."""
        pen = Framed(self.symbols)
        if isinstance(panel, Map):
            layout.lay(Scene("", (replace(panel, title=""),)), pen, MAP_WIDTH)
            title, box = panel.title, pen.around(panel)
        else:
            bare = Scene("", (panel,))
            layout.lay(bare, pen, CHART_WIDTH)
            title, box = "", (0, 0, CHART_WIDTH, layout.height(bare, CHART_WIDTH))
        return [self._number(part) for part in (title, " ".join(f"{n:g}" for n in box), *pen.parts)]

    def _number(self, part: str) -> int:
        return self.parts.setdefault(part, len(self.parts))

    def icon(self, mark: Mark) -> str:
        """A mark alone, as an `<svg>` of the page."""
        pen = Framed(self.symbols)
        layout.symbol(mark, pen, 12, 12, 22)
        return f'<svg viewBox="0 0 24 24" aria-hidden="true">{"".join(pen.parts)}</svg>'


def _shown(scene: Scene) -> Sequence[Map | Chart]:
    """The maps of a scene, or else its charts; words and legend are left to the page."""
    maps = [_silent(panel) for panel in scene.panels if isinstance(panel, Map)]
    return maps or [panel for panel in scene.panels if isinstance(panel, Chart)]


def _silent(panel: Map) -> Map:
    return replace(panel, marks=tuple(replace(mark, meaning="") for mark in panel.marks), legend=())
