"""Pictures of an episode for an HTML page: each sprite and each line of SVG is stored once and used by many steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Sprite, Words
from harvestgym.core.view.timeline import Progress, ignore_progress

from . import layout
from .svg import SvgPainter

Views = Mapping[str, Callable[[int], Scene]]

MAX_PICTURES = 500
"""Maximum number of pictures of a view; for a longer episode, every n-th step is drawn."""

MAP_WIDTH, CHART_WIDTH = 720, 360
"""Widths of the pages on which single panels are drawn, px; the replay shows only the map of the first."""


@dataclass(frozen=True)
class EpisodePictures:
    """The pictures of an episode, by view.

    Attributes:
        frames: `parts`, lines of SVG and of text; of each view the `drawings`, as parts for each panel of a picture
            (its title, its view box, its lines), and the `words` next to them: the first of the scene, title first.
            The page writes the others (actions, reward) itself.
        symbols: the sprites, as SVG.
        legend: `[svg, meaning]` of everything that is drawn at some step.
        every: steps from one picture to the next.
    """

    frames: dict[str, Any]
    symbols: str
    legend: list[tuple[str, str]]
    every: int

    @classmethod
    def of(cls, views: Views, steps: int, progress: Progress = ignore_progress) -> EpisodePictures:
        """Draw the pictures of `steps` steps of each view."""
        every = max(1, -(-steps // MAX_PICTURES))
        builder = PictureBuilder()
        drawn = {name: builder.draw_view(scene, range(0, steps, every), progress) for name, scene in views.items()}
        legend = [(builder.draw_icon(mark), meaning) for meaning, mark in builder.legend.items()]
        frames = {"parts": list(builder.parts), "views": drawn}
        return cls(frames, "".join(builder.symbols.values()), legend, every)


class PanelPainter(SvgPainter):
    """An SVG painter that shares its symbols with other painters and records where lines were drawn."""

    def __init__(self, symbols: dict[Sprite, str]) -> None:
        super().__init__()
        self.symbols = symbols
        self._points: list[tuple[float, float]] = []

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, width: float = 1.0, dashed: bool = False
    ) -> None:
        super().line(points, colour, width, dashed)
        self._points += points

    def view_box(self, panel: Map) -> tuple[float, float, float, float]:
        """Return the view box of a map and its margin: x, y, width, height."""
        (left, right), (top, foot) = ((min(along), max(along)) for along in zip(*self._points, strict=True))
        room = 4 + panel.margin * (right - left) / panel.shape[0]
        return left - room, top - room, right - left + 2 * room, foot - top + 2 * room


class PictureBuilder:
    """Builds pictures, and holds the parts, symbols and legend that they share."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}
        self.symbols: dict[Sprite, str] = {}
        self.legend: dict[str, Mark] = {}

    def draw_view(self, scene: Callable[[int], Scene], steps: range, progress: Progress) -> dict[str, Any]:
        """Draw the pictures of some steps."""
        drawings, words = [], []
        for step in steps:
            now = scene(step)
            for mark in now.legend:
                self.legend.setdefault(mark.meaning, mark)
            drawings.append([self._draw_panel(panel) for panel in _select_panels(now)])
            said = next((panel for panel in now.panels if isinstance(panel, Words)), Words("", ()))
            words.append([self._store(line) for line in (said.title, *said.lines)])
            progress(1)
        return {"drawings": drawings, "words": words}

    def _draw_panel(self, panel: Map | Chart) -> list[int]:
        """Draw a panel alone on its page: title, view box, lines."""
        painter = PanelPainter(self.symbols)
        if isinstance(panel, Map):
            layout.draw_scene(Scene("", (replace(panel, title=""),)), painter, MAP_WIDTH)
            title, box = panel.title, painter.view_box(panel)
        else:
            bare = Scene("", (panel,))
            layout.draw_scene(bare, painter, CHART_WIDTH)
            title, box = "", (0, 0, CHART_WIDTH, layout.page_height(bare, CHART_WIDTH))
        return [self._store(part) for part in (title, " ".join(f"{n:g}" for n in box), *painter.parts)]

    def _store(self, part: str) -> int:
        return self.parts.setdefault(part, len(self.parts))

    def draw_icon(self, mark: Mark) -> str:
        """Draw a mark alone, as an `<svg>` element."""
        painter = PanelPainter(self.symbols)
        layout.draw_mark(mark, painter, 12, 12, 22)
        return f'<svg viewBox="0 0 24 24" aria-hidden="true">{"".join(painter.parts)}</svg>'


def _select_panels(scene: Scene) -> Sequence[Map | Chart]:
    """Return the maps of a scene or, without maps, its charts; the page itself writes words and legend."""
    maps = [_without_meanings(panel) for panel in scene.panels if isinstance(panel, Map)]
    return maps or [panel for panel in scene.panels if isinstance(panel, Chart)]


def _without_meanings(panel: Map) -> Map:
    return replace(panel, marks=tuple(replace(mark, meaning="") for mark in panel.marks), legend=())
