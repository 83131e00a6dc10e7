"""The fishery page: the survey, a slider for the year's decision, catch and score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from nicegui import ui

from harvestgym.core.view.scene import Chart, Line, Map
from harvestgym.fishing.view.scene import STOCK_COLOURS
from harvestgym.play.start_session import FishingSession

from .elements import box, card, chart, columns, image, legend, map_image, number, words
from .page import Page

CATCH_COLOUR = "#d55e00"


class FishingPage(Page):
    """A page for a fishery, year by year."""

    go = "End the year"
    parts, lasting = ("year", "course", "news", "share"), ("doing",)
    skips = {"Let 10 years pass like this": 10}

    def __init__(self, session: FishingSession, folder: Path, scratch: Path) -> None:
        super().__init__(session, folder, scratch)
        self.amounts = [0.0] * session.env.units.targets

    def tallies(self) -> list[tuple[str, str]]:
        return [("caught so far", f"{float(self.session.info['total_catch']):.2f}")]

    def take_step(self) -> None:
        self.session.fish(self.amounts)

    def body(self) -> None:
        self.year()
        columns(middle=[self.course], side=[self.news, self.doing])

    @ui.refreshable_method
    def year(self) -> None:
        """Show the year, the survey and last year's catch."""
        with box("section", "card sky", "sky"):
            number(f"Year {self.session.time}", f"of {self.session.longest}", "date", "day")
            for name, seen in zip(self._names(), self.session.survey, strict=True):
                number(f"{seen:.2f}", name)
            if self.session.env.params.vary is None:
                number(f"{float(self.session.env.params.law.capacity):.2f}", "unfished stock, K")
            if self.session.time and not self.session.protects:
                number(f"{float(self.session.info['catch']):.2f}", "caught last year")

    def _names(self) -> list[str]:
        seen, alone = len(self.session.survey), ["stock in the survey", "pressure on it"]
        return alone[:seen] if seen == 1 or self.session.drives else [f"stock {i + 1} by survey" for i in range(seen)]

    @ui.refreshable_method
    def course(self) -> None:
        """Show the surveys and catches so far; at the end, also show the true stock and the optimal trajectory."""
        if self.session.over:
            scene = self.session.scene()
            with card("truth", "What really happened"):
                for panel in scene.select(Map):
                    image(map_image(panel).address, "the stocks", "wide")
                with box("div", "charts"):
                    for panel in scene.select(Chart):
                        chart(panel)
                legend(scene)
            return
        observed = self.session.beliefs
        with box("section", "card course", "course"):
            for panel in () if observed is None else self.session.scene(observed).select(Map):
                image(map_image(panel).address, "the stocks, as observed", "wide")
            chart(self._survey_chart(), "survey results", width=640, height=250)
            chart(self._catch_chart(), "your decisions", width=640, height=250)

    def _survey_chart(self) -> Chart:
        observed = self.session.record["seen"].reshape(self.session.steps + 1, -1).T
        lines = [Line(*line) for line in zip(self._names(), observed, STOCK_COLOURS, strict=False)]
        return self._chart("Stock, by survey", lines)

    def _catch_chart(self) -> Chart:
        if self.session.protects:
            return self._chart("Score so far", [Line("", np.cumsum([0.0, *self.session.rewards]), STOCK_COLOURS[1])])
        caught = self.session.record["catch"].reshape(self.session.steps + 1, -1).sum(1).astype(float)
        caught[0] = np.nan
        return self._chart("Catch per year", [Line("", caught, CATCH_COLOUR)])

    def _chart(self, title: str, lines: list[Line]) -> Chart:
        """Make a chart over all years; its axis starts at zero, so that small changes look small."""
        values = np.concatenate([line.values for line in lines])
        top = float(np.max(values, initial=0.0, where=np.isfinite(values))) or 1.0
        low = float(np.min(values, initial=0.0, where=np.isfinite(values)))
        return Chart(title, "", self.session.longest, tuple(lines), {}, (1.1 * low, 1.1 * top))

    @ui.refreshable_method
    def doing(self) -> None:
        """Show a slider and a number field for each target; after Enter, the user can type the next quota."""
        if self.session.over:
            return
        with card("doing", self.session.question):
            for target in range(self.session.env.units.targets):
                self._slider(target)
            self.share()

    def _slider(self, target: int) -> None:
        """Show a slider up to about the observed stock, and a number field for any quota; Enter ends the year."""
        choices, units = self.session.choices, self.session.env.units
        step, most = float(choices[1] - choices[0]), float(choices[-1])
        with box("div", "slide"):
            if units.targets > 1:
                words("span", f"target {target + 1}")
            end = min(most, float(self.session.survey.max()) if self.session.allows_catch else units.bound / 2)
            slider = ui.slider(min=0.0, max=end, step=step, value=self.amounts[target])
            exact = ui.number(min=0.0, max=most, step=step, value=self.amounts[target])
            slider.props(f'label data-part=slider-{target} aria-label="{self.session.question}"')
            exact.props(f'dense outlined data-part=amount-{target} aria-label="{self.session.question}"')
            for control in (slider, exact):
                control.on("keyup.enter", self.guarded(self.advance))
                control.on_value_change(lambda e: self._decide(target, e.value, slider, exact))

    def _decide(self, target: int, amount: float | None, *controls: ui.slider | ui.number) -> None:
        """Set the amount of a target, limited to the possible ones, and show it in all controls."""
        if amount is not None:
            self.amounts[target] = float(np.clip(amount, 0.0, self.session.choices[-1]))
            for control in controls:
                control.value = self.amounts[target]
            if amount != self.amounts[target]:
                controls[-1].update()  # NiceGUI does not send a value back to the control that the user changes
            self.share.refresh()

    @ui.refreshable_method
    def share(self) -> None:
        """Show a quota as a percentage of the observed stock."""
        seen = float(self.session.survey.sum())
        if seen > 0 and self.session.allows_catch and not self.session.over:
            words("p", f"That is {100 * sum(self.amounts) / seen:.0f} % of the stock in the survey.", "quiet", "share")
