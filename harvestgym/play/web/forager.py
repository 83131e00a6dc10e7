"""The page of a forager: what is in view, four ways to go, what it paid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from nicegui import ui

from harvestgym.core.scene import Chart, Line, Map
from harvestgym.play.forager import WAYS, ForagerSession
from harvestgym.registry import family_function

from .drawing import chart_of, legend_of, map_of
from .page import Page
from .parts import box, button, number, picture, words

SIGNS = {"north": "▲", "west": "◀", "east": "▶", "south": "▼"}


class ForagePage(Page):
    """A life in a world larger than what is in view."""

    go = "Stop here"

    def __init__(self, session: ForagerSession, folder: Path, scratch: Path) -> None:
        super().__init__(session, folder, scratch)
        self.stopped = False

    @property
    def finished(self) -> bool:
        return self.stopped or self.session.over

    def tallies(self) -> list[tuple[str, str]]:
        return [("objects met", str(int(self.session.info["collected"])))]

    def advance(self) -> None:
        self.stopped = self.session.steps > 0

    def pressed(self, key: str) -> None:
        if key in WAYS:
            self.guarded(lambda: self.walk(WAYS[key]))()

    def walk(self, way: str) -> None:
        """A step; a life that was looked back at goes on."""
        self.stopped, self.rivals = False, None
        self.session.go(way)

    def body(self) -> None:
        with box("div", "columns"):
            with box("div", "middle"):
                self.view()
            with box("div", "side"):
                with box("section", "card doing", "doing"):
                    self.paid()
                    self._pad()
                self.course()

    def redraw(self) -> None:
        for part in (self.view, self.paid, self.course):
            part.refresh()

    @ui.refreshable_method
    def view(self) -> None:
        """What is in view, the forager in the middle; at the end the world."""
        record = {name: values for name, values in self.session.record.items() if self.finished or name != "world"}
        scene = family_function(self.session.id, "scene")(self.session.env, record, self.session.steps)
        with box("section", "card fields", "view"):
            with box("div", "views"):
                for panel in (panel for panel in scene.panels if isinstance(panel, Map)):
                    with box("figure"):
                        words("figcaption", panel.title)
                        picture(map_of(panel).address, panel.title)
            with box("ul", "legend"):
                for icon, meaning in legend_of(scene):
                    with box("li"):
                        picture(icon, "", "icon")
                        words("span", meaning)

    @ui.refreshable_method
    def paid(self) -> None:
        """What the last step paid."""
        number(f"{self.session.last['reward']:+g}", "paid by the last step", "date", "paid")

    def _pad(self) -> None:
        """Four ways to go; they stay the same elements, so that a click in haste is not lost."""
        with box("div", "pad"):
            for way, sign in SIGNS.items():
                button(sign, self.guarded(lambda way=way: self.walk(way)), f"way {way}", way, aria_label=way)
        words("p", "Or use the arrow keys.", "quiet")

    @ui.refreshable_method
    def course(self) -> None:
        """The reward so far."""
        total = np.cumsum([0.0, *self.session.rewards])
        chart = Chart("Reward so far", "", max(len(total) - 1, 10), (Line("", total, "#009e73"),), {})
        with box("section", "card course"):
            picture(chart_of(chart), f"reward so far: {total[-1]:g}")
