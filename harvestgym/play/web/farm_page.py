"""The farm page: weather at the top, fields in the middle, known values and actions at the side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nicegui import ui

from harvestgym.core.view.scene import Chart, Map
from harvestgym.core.yaml_io import read_file
from harvestgym.farm.engine.actions import ActionRow
from harvestgym.farm.view.words import date_words, key_unit, key_words, number_text, say_tool, unit_words
from harvestgym.play.farm_session import Fact, FarmSession

from .elements import box, button, card, chart, columns, image, legend, map_image, number, show_message, words
from .page import Page

ARROW_STEPS = {"ArrowUp": (0, -1), "ArrowRight": (1, 0), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0)}

WEATHER: dict[str, str] = read_file(Path(__file__).with_name("weather.yaml"))
"""The weather variables that are always shown, in order, and their names."""

MOST_DESCRIBED = 6
"""Maximum number of actions with a visible description; if there are more, tooltips describe them."""


class FarmPage(Page):
    """A page for a season on a farm."""

    go = "End the day"
    parts = ("sky", "fields", "charts", "observations", "news", "today", "knowledge")
    lasting = ("doing",)

    def __init__(self, session: FarmSession, folder: Path, scratch: Path) -> None:
        super().__init__(session, folder, scratch)
        self.field, self.plot = 0, (0, 0)
        self.ticked: set[int] = set()
        self.picked: dict[tuple[int, int], int] = {}
        self.skips = {"Let 7 days pass": 7, "Go to the end": session.days}

    def tallies(self) -> list[tuple[str, str]]:
        return [(name, f"{value:+.3f}") for name, value in self.session.accounts.items() if abs(value) > 5e-7]

    def take_step(self) -> None:
        self.session.end_day()
        self.ticked.clear()
        for setback in self.session.setbacks:
            show_message(setback, "warning")

    def pressed(self, key: str) -> None:
        if key in ARROW_STEPS:
            at = tuple(np.add(self.plot, ARROW_STEPS[key]).tolist())
            if at in np.ndindex(self.session.env.fields[self.field].shape):
                self.choose(self.field, at)

    def choose(self, field: int, plot: tuple[int, int]) -> None:
        """Choose a plot."""
        self.field, self.plot = field, plot
        for part in (self.fields, self.knowledge, self.observations, self.doing):
            part.refresh()

    def _of_field(self, joined: str = " of ") -> str:
        """Return the name of the chosen field if there are several."""
        fields = self.session.env.fields
        return f"{joined}{fields[self.field].name}" if len(fields) > 1 else ""

    # Parts.

    def body(self) -> None:
        self.sky()
        side = [self.observations, self.news, self.today, self.doing, self.knowledge]
        columns("farm", middle=[self.fields], side=side, below=[self.charts])

    @ui.refreshable_method
    def sky(self) -> None:
        """Show the day, its weather and the forecast, for each field."""
        session = self.session
        for at, field in enumerate(session.env.fields):
            of = f", {field.name}" if len(session.env.fields) > 1 else ""
            with box("section", "card sky", "sky"):
                date = session.value(at, "day#int365")
                heading = f"Day {session.time}" if date is None else date_words(float(date))
                number(heading, f"day {session.time} of {session.days}{of}", "date", "day")
                for key, name in WEATHER.items():
                    value = session.value(at, key)
                    if value is not None:
                        text = f"{float(value):.3g}"
                        number(f"{text} {unit_words(key_unit(key), text)}", name)
                chances = session.value(at, "forecast/rain")
                if chances is not None:
                    self._forecast(chances.tolist())

    @staticmethod
    def _forecast(chances: list[float]) -> None:
        """Show a bar for each of the next days; its height is the probability of rain."""
        with box("div", "forecast", "forecast", title="Chance of rain in the next few days"):
            words("span", "chance of rain", "name")
            for i, chance in enumerate(chances):
                with box("div", "ahead"):
                    words("b", f"{100 * chance:.0f} %")
                    with box("div", "tube"):
                        box("div", "water", style=f"height: {100 * chance:.0f}%")
                    words("span", "tomorrow" if i == 0 else f"+{i + 1} days")

    @ui.refreshable_method
    def fields(self) -> None:
        """Show the fields, with a button for each plot."""
        scene = self.session.picture
        maps = scene.select(Map)
        with box("section", "card fields"):
            with box("div", "maps"):
                for field, panel in enumerate(maps):
                    with box("figure"):
                        words("figcaption", panel.title if len(maps) > 1 else "")
                        self._map(field, panel)
            legend(scene)

    @ui.refreshable_method
    def charts(self) -> None:
        """Show charts of the values that the farmer knows."""
        with box("section", "card charts"):
            for panel in self.session.picture.select(Chart):
                chart(panel)

    def _map(self, field: int, panel: Map) -> None:
        drawn = map_image(panel)
        x, y, w, h = (f"{100 * share:.4f}%" for share in drawn.plots)
        length, width = panel.shape
        grid = f"grid-template: repeat({width}, minmax(0, 1fr)) / repeat({length}, minmax(0, 1fr))"
        with box("div", "map", style=f"--aspect: {drawn.aspect:.4f}"):
            image(drawn.address, panel.title)
            with box("div", "plots", style=f"left: {x}; top: {y}; width: {w}; height: {h}; {grid}"):
                for j, i in np.ndindex(width, length):
                    chosen = "chosen" if (field, (i, j)) == (self.field, self.plot) else ""
                    planned = sum(o.row.field == field and o.plot == (i, j) for o in self.session.orders)
                    do, part = (lambda f=field, p=(i, j): self.choose(f, p)), f"plot-{field}-{i}-{j}"
                    button("✎" * planned, do, f"plot {chosen}", part, aria_label=f"plot ({i}, {j})")

    @ui.refreshable_method
    def knowledge(self) -> None:
        """Show the known values of the plot and the field."""
        with card("known", f"Known about plot {self.plot}{self._of_field()}"):
            self._facts(self.session.facts(self.field, self.plot))
            rest = [fact for fact in self.session.facts(self.field, None) if not fact.name.startswith("Weather")]
            if rest:
                words("h2", "What you know about the field")
                self._facts(rest)

    @staticmethod
    def _facts(facts: list[Fact]) -> None:
        if not facts:
            words("p", "Nothing yet.", "quiet")
        with box("dl"):
            for fact in facts:
                words("dt", fact.name)
                old = {0: "", 1: ", yesterday"}.get(fact.age, f", {fact.age} days ago")
                words("dd", f"{fact.value}{old}", "old" if fact.age else "")

    @ui.refreshable_method
    def doing(self) -> None:
        """Show the actions."""
        if self.session.over:
            return
        with card("doing", f"Actions on plot {self.plot}{self._of_field()}"):
            rows = self.session.env.actions.rows_of_fields[self.field]
            self._rows([row for row in rows if row.action.plot and self.plot in row.plots])
            whole = [row for row in rows if not row.action.plot]
            if whole:
                words("h2", f"Actions on the whole field{self._of_field(', ')}")
                self._rows(whole)

    @ui.refreshable_method
    def observations(self) -> None:
        """Show this morning's observations and their prices."""
        if self.session.over or not len(self.session.prices):
            return
        with card("looks", "Look this morning" if not self.session.looked else "Looked this morning"):
            offered = zip(self.session.env.offered.items, self.session.prices, strict=True)
            for at, (item, price) in enumerate(offered):
                if item.variable.field == self.field and item.plot in (None, self.plot):
                    self._observation(at, item, float(price))
            self.bill()

    def _observation(self, at: int, item: Any, price: float) -> None:
        where = "" if item.plot is None else f" on plot {item.plot}"
        label = f"{self.session.label(item.variable)}{where}, {price:g}"
        tick = ui.checkbox(label, value=at in self.ticked, on_change=lambda e: self._tick(at, e.value))
        tick.props(f"dense data-part=want-{at}").set_enabled(not self.session.looked)

    def _tick(self, at: int, yes: bool | None) -> None:
        (self.ticked.add if yes else self.ticked.discard)(at)
        self.bill.refresh()

    @ui.refreshable_method
    def bill(self) -> None:
        """Show the button that buys the selected observations, with their cost."""
        if not self.session.looked:
            price = float(sum(self.session.prices[list(self.ticked)]))
            button(f"Look (costs {price:g})", self.guarded(lambda: self.session.look(sorted(self.ticked))), "", "look")

    def _rows(self, rows: list[ActionRow]) -> None:
        if not rows:
            words("p", "No action is possible here.", "quiet")
        for row in rows:
            with box("div", "order", f"order-{row.number}", title=row.action.doc):
                words("b", say_tool(self.session.env, row))
                if len(self.session.env.actions.rows) <= MOST_DESCRIBED:
                    words("span", row.action.doc, "quiet")
                for k, (parameter, grid) in enumerate(zip(row.allowed, row.grids[1:], strict=True)):
                    if len(grid) > 1:
                        self._pick((row.number, k), parameter, grid)
                button("Add", self.guarded(lambda row=row: self._add(row)), "add", f"add-{row.number}")

    def _pick(self, place: tuple[int, int], parameter: Any, grid: Any) -> None:
        """Show a choice of parameter values, by index; the chosen value is kept until the user chooses another one."""
        values = grid if parameter.continuous else parameter.choices
        texts = {i: number_text(value, key_unit(parameter.key)) for i, value in enumerate(values)}

        def picked(event: Any) -> None:
            self.picked[place] = int(event.value)

        kind = ui.toggle if len(texts) <= 5 else ui.select
        pick = kind(texts, value=self.picked.get(place, 0), on_change=picked)
        pick.props("dense no-caps unelevated").classes("pick").tooltip(key_words(parameter.key))

    def _add(self, row: ActionRow) -> None:
        values = tuple(self.picked.get((row.number, k), 0) for k in range(len(row.allowed)))
        self.session.order(row.number, self.plot if row.action.plot else None, values)

    @ui.refreshable_method
    def today(self) -> None:
        """Show today's orders, each with a button that removes it."""
        if self.session.over:
            return
        with card("today", f"Today's list ({len(self.session.orders)} of at most {self.session.env.schedule})"):
            with box("ul"):
                for i, order in enumerate(self.session.orders):
                    with box("li"):
                        words("span", self.session.say(order))
                        remove = self.guarded(lambda i=i: self.session.remove(i))
                        button("✕", remove, "remove", f"remove-{i}", aria_label="take it off the list")
            if not self.session.orders:
                words("p", "No orders yet.", "quiet")
                if self.session.yesterday:
                    button("As yesterday", self.guarded(self.session.repeat), "quiet", "repeat")
