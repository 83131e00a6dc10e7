"""Pictures of an episode for an HTML page: each sprite and each line of SVG is stored once and used by many steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harvestgym.core.view.scene import Chart, Map, Mark, Scene, Sprite, Words
from harvestgym.core.view.timeline import Progress, ignore_progress

from . import layout
from .svg import SvgPainter, draw_map

Views = Mapping[str, Callable[[int], Scene]]

MAX_PICTURES = 500
"""Maximum number of pictures of a view; for a longer episode, every n-th step is drawn."""

MAP_WIDTH, CHART_WIDTH = 720, 360
"""Widths of the pages on which single panels are drawn, px; the replay shows only the map of the first."""


class EpisodePictures:
    """The pictures of `steps` steps of an episode, by view.

    Attributes:
        frames: `parts`, lines of SVG and of text; of each view the `drawings`, as parts for each panel of a picture
            (its title, its view box, its lines), and the `words` next to them: the first of the scene, title first.
            The page writes the others (actions, reward) itself.
        symbols: the sprites, which all pictures share, as SVG.
        legend: `[svg, meaning]` of everything that is drawn at some step.
        every: steps from one picture to the next.
    """

    def __init__(self, views: Views, steps: int, progress: Progress = ignore_progress) -> None:
        self.every = max(1, -(-steps // MAX_PICTURES))
        self._parts: dict[str, int] = {}
        self._symbols: dict[Sprite, str] = {}
        self._marks: dict[str, Mark] = {}
        shown = range(0, steps, self.every)
        drawn = {name: self._draw_view(scene, shown, progress) for name, scene in views.items()}
        self.legend = [(self._draw_icon(mark), meaning) for meaning, mark in self._marks.items()]
        self.frames = {"parts": list(self._parts), "views": drawn}
        self.symbols = "".join(self._symbols.values())

    def _draw_view(self, scene: Callable[[int], Scene], steps: range, progress: Progress) -> dict[str, Any]:
        drawings, words = [], []
        for step in steps:
            now = scene(step)
            for mark in now.legend:
                self._marks.setdefault(mark.meaning, mark)
            maps, charts = ([panel for panel in now.panels if isinstance(panel, kind)] for kind in (Map, Chart))
            drawings.append([self._draw_panel(panel) for panel in maps or charts])  # the page writes words and legend
            said = next((panel for panel in now.panels if isinstance(panel, Words)), Words("", ()))
            words.append([self._store(line) for line in (said.title, *said.lines)])
            progress(1)
        return {"drawings": drawings, "words": words}

    def _draw_panel(self, panel: Map | Chart) -> list[int]:
        """Draw a panel alone on its page: title, view box, lines."""
        painter = SvgPainter(self._symbols)
        if isinstance(panel, Map):
            title, (box, _) = panel.title, draw_map(panel, painter, MAP_WIDTH)
        else:
            bare = Scene("", (panel,))
            layout.draw_scene(bare, painter, CHART_WIDTH)
            title, box = "", (0, 0, CHART_WIDTH, layout.page_height(bare, CHART_WIDTH))
        return [self._store(part) for part in (title, " ".join(f"{n:g}" for n in box), *painter.parts)]

    def _store(self, part: str) -> int:
        return self._parts.setdefault(part, len(self._parts))

    def _draw_icon(self, mark: Mark) -> str:
        """Draw a mark alone, as an `<svg>` element."""
        painter = SvgPainter(self._symbols)
        layout.draw_mark(mark, painter, 12, 12, 22)
        return f'<svg viewBox="0 0 24 24" aria-hidden="true">{"".join(painter.parts)}</svg>'
