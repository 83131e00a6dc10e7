"""The pictures of an episode for a page: each sprite and each line of SVG is kept once, and used on many days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.marks import Map, Mark, Panel, Scene, Sprite, Words
from . import page
from .svg import Vector

Views = Mapping[str, Callable[[int], Scene]]
MOST = 500
"""Pictures of one view; of a longer episode every n-th step is drawn."""

WIDTH = 360
"""Of a panel in its own unit, px: narrow, so that its letters can be read on a phone."""


@dataclass(frozen=True)
class Pictures:
    """Pictures by view.

    Attributes:
        frames: `parts`, lines of SVG and of text; the `size` of a panel; of each view the `drawings`, as parts for each
            panel of a picture, and the `words` beside them: the first of the scene, title first. The page tells what the
            further ones say (deeds, reward) by itself.
        symbols: the sprites, as SVG.
        legend: `[svg, meaning]` of everything that is drawn on some day.
        every: steps from one picture to the next.
    """

    frames: dict[str, Any]
    symbols: str
    legend: list[tuple[str, str]]
    every: int

    @classmethod
    def of(cls, views: Views, steps: int, progress: Callable[[int], None] | None = None) -> Pictures:
        """The pictures of `steps` steps of each view."""
        every = max(1, -(-steps // MOST))
        album = Album()
        drawn = {name: album.view(scene, range(0, steps, every), progress) for name, scene in views.items()}
        legend = [(album.icon(mark), meaning) for meaning, mark in album.legend.items()]
        frames = {"parts": list(album.parts), "size": [WIDTH, page.height(Scene("", ()), WIDTH)], "views": drawn}
        return cls(frames, "".join(album.symbols.values()), legend, every)


class Album:
    """Pictures under way, and what they share."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}
        self.symbols: dict[Sprite, str] = {}
        self.legend: dict[str, Mark] = {}

    def view(self, scene: Callable[[int], Scene], steps: range, progress: Callable[[int], None] | None) -> dict[str, Any]:
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

    def _drawn(self, panel: Panel) -> list[int]:
        """A panel alone on its page."""
        bare, pen = Scene("", (panel,)), self._pen()
        page.lay(bare, pen, WIDTH)
        return [self._number(part) for part in pen.parts]

    def _pen(self) -> Vector:
        pen = Vector()
        pen.symbols = self.symbols
        return pen

    def _number(self, part: str) -> int:
        return self.parts.setdefault(part, len(self.parts))

    def icon(self, mark: Mark) -> str:
        """A mark alone, as an `<svg>` of the page."""
        pen = self._pen()
        page.symbol(mark, pen, 12, 12, 22)
        return f'<svg viewBox="0 0 24 24" aria-hidden="true">{"".join(pen.parts)}</svg>'


def _shown(scene: Scene) -> list[Panel]:
    """The maps of a scene, or else its charts; words and legend are left to the page."""
    maps = [panel for panel in scene.panels if isinstance(panel, Map)]
    return [_silent(panel) for panel in maps] or [panel for panel in scene.panels if not isinstance(panel, Words)]


def _silent(panel: Map) -> Map:
    return replace(panel, marks=tuple(replace(mark, meaning="") for mark in panel.marks), legend=())
