"""The forager page: the view, four directions and the rewards."""

from __future__ import annotations

import numpy as np
from nicegui import ui

from harvestgym.core.view.scene import Chart, Line, Map
from harvestgym.play.start_session import MOVE_NAMES

from .elements import box, button, chart, columns, image, legend, map_image, number, words
from .page import Page

SIGNS = {"north": "▲", "west": "◀", "east": "▶", "south": "▼"}


class ForagerPage(Page):
    """A page for an episode in a world larger than the view."""

    go = "Stop here"
    parts = ("view", "paid", "course")
    stopped = False

    @property
    def finished(self) -> bool:
        return self.stopped or self.session.over

    def tallies(self) -> list[tuple[str, str]]:
        return [("objects met", str(int(self.session.info["collected"])))]

    def take_step(self) -> None:
        self.stopped = self.session.steps > 0

    def pressed(self, key: str) -> None:
        if key in MOVE_NAMES:
            self.guarded(lambda: self.walk(MOVE_NAMES[key]))()

    def walk(self, direction: str) -> None:
        """Take a step; if the episode was stopped, it continues."""
        self.stopped, self.rivals = False, None
        self.session.go(direction)

    def body(self) -> None:
        columns(middle=[self.view], side=[self.doing, self.course])

    def doing(self) -> None:
        """Show the last reward and the direction pad."""
        with box("section", "card doing", "doing"):
            self.paid()
            with box("div", "pad"):  # its buttons are not recreated, because a click during this would be lost
                for direction, sign in SIGNS.items():
                    step = self.guarded(lambda direction=direction: self.walk(direction))
                    button(sign, step, f"way {direction}", direction, aria_label=direction)
            words("p", "Or use the arrow keys.", "quiet")

    @ui.refreshable_method
    def view(self) -> None:
        """Show the view with the forager in its centre; at the end, show the world."""
        record = {name: values for name, values in self.session.record.items() if self.finished or name != "world"}
        scene = self.session.scene(record)
        with box("section", "card fields views-card", "view"):
            legend(scene)
            with box("div", "views"):
                for panel in scene.select(Map):
                    with box("figure"):
                        words("figcaption", panel.title)
                        image(map_image(panel).address, panel.title)

    @ui.refreshable_method
    def paid(self) -> None:
        """Show the reward of the last step."""
        number(f"{self.session.last['reward']:+g}", "reward of the last step", "date", "paid")

    @ui.refreshable_method
    def course(self) -> None:
        """Show the reward so far."""
        total = np.cumsum([0.0, *self.session.rewards])
        lines = (Line("", total, "#009e73"),)
        with box("section", "card course"):
            chart(Chart("Reward so far", "", max(len(total) - 1, 10), lines, {}), f"reward so far: {total[-1]:g}")
