"""The base of the pages: a head, a bar with the score and the buttons, messages, and the end of an episode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from nicegui import app, background_tasks, run, ui

from harvestgym.core.errors import ConfigError
from harvestgym.core.view.scene import Chart, Line
from harvestgym.play.session import Rival, Session
from harvestgym.registry import MAX_SEED

from .elements import box, button, cell_text, chart, number, show_message, words

STYLE = Path(__file__).with_name("style.css")
SCORE_COLOURS = ("#009e73", "#0072b2", "#e69f00", "#8a8a8a")
"""Colours of the user and the rivals in charts (Okabe and Ito 2008)."""

BLUR_BUTTONS = """
document.addEventListener('click', e => {
  const b = e.target.closest('button'); if (b && e.detail > 0) b.blur();
});
"""
"""Removes the focus from a clicked button, so that the page receives Enter."""


def add_style() -> None:
    """Add the style and the script of a page, before the browser connects."""
    ui.add_css(STYLE)
    ui.add_body_html(f"<script>{BLUR_BUTTONS}</script>")


class Page:
    """The page of one browser tab and the episode in it; families fill in the middle.

    Args:
        session: the episode.
        folder: for saved episodes.
        scratch: for files that the server keeps until it ends.
    """

    go = "Next"
    """Text of the main button."""

    def __init__(self, session: Session, folder: Path, scratch: Path) -> None:
        self.session: Any = session
        self.folder, self.scratch = folder, scratch
        self.rivals: list[Rival] | None = None
        self.replay = ""
        self.on_begin: Callable[[Session], None] = lambda session: None

    # Defined in the families.

    def body(self) -> None:
        """Show the middle of the page."""
        raise NotImplementedError

    def advance(self) -> None:
        """Perform the action of the main button and Enter."""
        raise NotImplementedError

    def pressed(self, key: str) -> None:
        """Handle a key other than Enter."""

    def tallies(self) -> list[tuple[str, str]]:
        """Names and numbers for the bar, next to the score."""
        return []

    # Common to all families.

    def build(self, title: str, doc: str) -> None:
        """Fill an empty page."""
        with box("header", "head"):
            words("h1", title)
            words("p", doc)
        with box("main", "main"):
            self.goal()
            self.ending()
            self.body()
        with box("footer", "bar"):
            self.bar()
            with box("div", "buttons"):
                button("New", self._ask_seed, "quiet", "new", title="Begin another episode")
                self.main = button(f"{self.go} ⏎", self.guarded(self.advance), "main-button", "go")
                self.keep = button("Save as demonstration", self._save, "main-button", "save")
        self._show_buttons()
        self._start_comparison()
        ui.keyboard(on_key=self._key, repeating=True)

    def goal(self) -> None:
        """Show the goal and the scoring; the first move collapses them."""
        with box("details", "card goal", "goal") as self._goal:
            words("summary", "What is the goal?")
            with box("ul"):
                for line in self.session.goal:
                    words("li", line)
        self._show_goal()

    def _show_goal(self) -> None:
        """Expand the goal before the first move; later the user decides."""
        if self.session.steps == 0:
            self._goal.props("open")
        elif self._goal.props.pop("open", None) is not None:
            self._goal.update()

    @ui.refreshable_method
    def bar(self) -> None:
        """Show the score and its parts."""
        with box("div", "tallies"):
            number(f"{self.session.total:.3f}", "score so far", "score", "score")
            for name, value in self.tallies():
                number(value, name)

    def _show_buttons(self) -> None:
        """Show one of two buttons; they stay the same elements, so that a quick click is not lost."""
        self.main.set_visibility(not self.finished)
        self.keep.set_visibility(self.finished)

    @ui.refreshable_method
    def ending(self) -> None:
        """Show the result and the results of rivals on the same seed; empty before the end."""
        if not self.finished:
            return
        with box("section", "card ending", "ending"):
            words("h2", self.verdict())
            if self.rivals is None:
                with ui.row().classes("items-center"):
                    ui.spinner(size="1.5em")
                    ui.label("Running the other policies on the same seed …")
                return
            with box("div", "side-by-side"):
                self._standings(self.rivals)
                chart(self._race(self.rivals), "score over time, yours and the rivals'")
            self.again()

    @ui.refreshable_method
    def again(self) -> None:
        """Show a link to the replay of the episode, or a button that makes it."""
        if self.replay:
            ui.link("Watch it again, in a new tab", self.replay, new_tab=True).props("data-part=replay")
        else:
            button("Make a replay", self._make_replay, "quiet", "make-replay")

    @property
    def finished(self) -> bool:
        """Return whether to show the end."""
        return self.session.over

    def verdict(self) -> str:
        """Return the result in a sentence."""
        unit = self.session.unit + ("s" if self.lasted != 1 else "")
        return f"The end, after {self.lasted} {unit}: your score is {self.session.total:.3f}"

    @property
    def lasted(self) -> int:
        """Length of the episode, in the unit of the session."""
        return self.session.steps

    def _standings(self, rivals: list[Rival]) -> None:
        mine = Rival("you", self.session.total, self.session.rewards, self.session.columns)
        everyone = [mine, *rivals]
        with box("table", "standings", "standings"):
            with box("tr"):
                for name in ("", *(r.name for r in everyone)):
                    words("th", name)
            self._row("score", [f"{r.total:.3f}" for r in everyone], "best")
            for name in mine.columns:
                self._row(name, [r.columns.get(name, "") for r in everyone])

    @staticmethod
    def _row(name: str, values: list[Any], kind: str = "") -> None:
        with box("tr", kind):
            words("th", name)
            for value in values:
                words("td", cell_text(value))

    def _race(self, rivals: list[Rival]) -> Chart:
        runs = [("you", self.session.rewards), *((r.name, r.rewards) for r in rivals)]
        lines = tuple(
            Line(name, np.cumsum([0.0, *rewards]), colour)
            for (name, rewards), colour in zip(runs, SCORE_COLOURS, strict=False)
        )
        longest = max(len(rewards) for _, rewards in runs)
        return Chart(f"Score, by {self.session.step_unit.removesuffix('s')}", "", longest, lines, {})

    # Events.

    def guarded(self, do: Callable[[], Any]) -> Callable[[], None]:
        """Return a function that calls `do`, shows its errors as messages, and redraws the page."""

        def act() -> None:
            try:
                do()
            except ConfigError as error:
                show_message(str(error), "warning")
            self.refresh()

        return act

    def refresh(self) -> None:
        """Redraw the parts that change; at the end, run the rivals."""
        self.bar.refresh()
        self._show_goal()
        self._show_buttons()
        self.redraw()
        self.ending.refresh()
        self._start_comparison()

    def _start_comparison(self) -> None:
        if self.finished and self.rivals is None:
            background_tasks.create(self.compare())

    def redraw(self) -> None:
        """Redraw the middle."""

    def advance_by(self, steps: int) -> None:
        """Advance some steps, until the episode is over."""
        for _ in range(steps):
            if not self.session.over:
                self.advance()

    async def compare(self) -> None:
        """Run the rivals in a thread, and show their results."""
        session = self.session
        rivals = await run.io_bound(lambda: [session.rival(name) for name in session.rivals])
        if session is self.session:
            self.rivals = rivals or []
            self.ending.refresh()

    async def _make_replay(self) -> None:
        """Write the replay, in a thread, and show its link."""
        session, path = self.session, self.scratch / f"{uuid4().hex}.html"
        show_message("Drawing every step …")
        try:
            await run.io_bound(session.replay, path)
        except ConfigError as error:
            show_message(str(error), "warning")
            return
        self.replay = app.add_static_file(local_file=path, url_path=f"/replay/{path.name}")
        self.again.refresh()

    def _key(self, event: Any) -> None:
        if not event.action.keydown:
            return
        if event.key.enter:
            if not self.session.over and not event.action.repeat:
                self.guarded(self.advance)()
        else:
            self.pressed(event.key.name)

    def _save(self) -> None:
        def save() -> None:
            show_message(f"Saved as {self.session.save(self.folder)}", "positive", seconds=10)

        self.guarded(save)()

    def _ask_seed(self) -> None:
        with ui.dialog(value=True) as dialog, ui.card():
            ui.label("Begin another episode?")
            seed = ui.number("Seed", value=self.session.seed, min=0, max=MAX_SEED, precision=0).props("data-part=seed")
            with ui.row():
                button("Continue this one", dialog.close, "quiet")
                button("Begin", lambda: self._begin(seed.value, dialog), "main-button", "begin")

    def _begin(self, seed: Any, dialog: ui.dialog) -> None:
        def begin() -> None:
            self.session = self.session.again(parse_seed(seed))
            self.rivals, self.replay = None, ""
            self.on_begin(self.session)
            dialog.close()

        self.guarded(begin)()


def parse_seed(given: Any) -> int:
    """Parse a seed from user input; ConfigError if it is invalid."""
    try:
        seed = int(given)
        if 0 <= seed <= MAX_SEED and seed == float(given):
            return seed
    except (TypeError, ValueError):
        pass
    raise ConfigError(f"seed: expected a whole number from 0 to {MAX_SEED}, got {given!r}")
