"""The base class of all pages: a header, a bar with the score and buttons, messages, and the end of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from nicegui import app, background_tasks, run, ui

from harvestgym.core.errors import MAX_SEED, ConfigError
from harvestgym.core.view.scene import COLOURS, Chart, Line
from harvestgym.core.view.tables import format_value
from harvestgym.core.yaml_io import read_file, read_text
from harvestgym.evaluate.run import read_abbreviations
from harvestgym.play.session import RIVALS, Session

from .elements import box, bullets, button, card, chart, number, show_message, words

RESULT_WORDS: dict[str, str] = read_abbreviations() | read_file(Path(__file__).with_name("results.yaml"))
"""Plain words for the names of results; a result with an empty name is not shown."""


def add_style() -> None:
    """Add the style and script of a page before the browser connects."""
    ui.add_css(Path(__file__).with_name("style.css"))
    ui.add_body_html(f"<script>{read_text(Path(__file__).with_name('page.js'))}</script>")


class Page:
    """The page in one browser tab, with its episode; each family defines the middle part.

    Args:
        session: the episode.
        folder: the folder for saved episodes.
        scratch: the folder for files that the server keeps until it stops.
    """

    go = "Next"
    """Text of the main button."""

    parts: tuple[str, ...] = ()
    """The methods that show the middle part of the page, each redrawn after every click."""

    lasting: tuple[str, ...] = ()
    """Those that are redrawn only at the start and at the end: a click or a key during redrawing would be lost."""

    skips: Mapping[str, int] = {}
    """The texts of the buttons that perform the main action several times, and how often."""

    def __init__(self, session: Session, folder: Path, scratch: Path) -> None:
        self.session: Any = session
        self.folder, self.scratch = folder, scratch
        self.rivals: dict[str, Session] | None = None
        self.replay = ""
        self.happened: list[str] = []

    # Defined by each family.

    def body(self) -> None:
        """Show the middle part of the page."""
        raise NotImplementedError

    def take_step(self) -> None:
        """Perform the action of the main button and Enter once."""
        raise NotImplementedError

    def pressed(self, key: str) -> None:
        """Handle a key other than Enter."""

    def tallies(self) -> list[tuple[str, str]]:
        """The names and numbers shown in the bar next to the score."""
        return []

    # Common to all families.

    def advance(self, steps: int = 1) -> None:
        """Perform the action of the main button and Enter `steps` times, or until the episode is over."""
        since = self.session.steps
        for _ in range(steps):
            if not self.session.over:
                self.take_step()
        self.happened = self.session.news(since)

    def build(self, title: str, subtitle: str) -> None:
        """Fill an empty page."""
        with box("header", "head"):
            words("h1", title)
            words("p", subtitle)
        with box("main", "main"):
            self.goal()
            self.ending()
            self.body()
        with box("footer", "bar"):
            self.bar()
            # No button is recreated, because a click during this would be lost. Tab reaches a single step first, and
            # a harmless button between it and those that cannot be undone.
            with box("div", "buttons"):
                go = [button(f"{self.go} ⏎", self.guarded(self.advance), "main-button", "go")]
                save = button("Save as demonstration", self.guarded(self._save), "main-button", "save")
                button("New", self._ask_seed, "quiet", "new", title="Begin another episode")
                for text, steps in self.skips.items():
                    go.append(button(text, self.guarded(partial(self.advance, steps)), "quiet", f"skip-{steps}"))
        save.bind_visibility_from(self, "finished")
        for one in go:
            one.bind_visibility_from(self, "finished", value=False)
        self._start_comparison()
        ui.keyboard(on_key=self._key).props["ignore"] += ["a", "div", "summary"]  # these have their own use of Enter

    def goal(self) -> None:
        """Show the goal and the scoring; the first move collapses them."""
        with box("details", "card goal", "goal") as self._goal:
            words("summary", "What is the goal?")
            bullets(self.session.goal)
        self._show_goal()

    def _show_goal(self) -> None:
        """Expand the goal before the first move; after that, leave it to the user."""
        if self.session.steps == 0:
            self._goal.props("open")
        elif self._goal.props.pop("open", None) is not None:
            self._goal.update()

    @ui.refreshable_method
    def bar(self) -> None:
        """Show the score and its parts."""
        with box("div", "tallies"):
            number(f"{self.session.total:z.3f}", "score so far", "score", "score")
            for name, value in self.tallies():
                number(value, RESULT_WORDS.get(name, name))

    @ui.refreshable_method
    def ending(self) -> None:
        """Show the result and the rivals' results on the same seed; empty before the end."""
        if not self.finished:
            return
        with card("ending", self.verdict()):
            if self.rivals is None:
                with ui.row().classes("items-center"):
                    ui.spinner(size="1.5em")
                    ui.label("Running the other policies on the same seed …")
                return
            everyone = {"you": self.session} | self.rivals
            with box("div", "side-by-side"):
                self._standings(everyone)
                chart(self._race(everyone), "score over time: yours and those of the other policies")
            bullets(self.session.lessons, "lessons")
            if self.replay:
                ui.link("Watch it again, in a new tab", self.replay, new_tab=True).props("data-part=replay")
            else:
                button("Make a replay", self._make_replay, "quiet", "make-replay")

    @ui.refreshable_method
    def news(self) -> None:
        """Show the events since the last click that the user knows about."""
        if self.happened:
            with card("news", "What happened"):
                bullets(self.happened)

    @property
    def finished(self) -> bool:
        """Return whether to show the results."""
        return self.session.over

    def verdict(self) -> str:
        """Return the result as a sentence."""
        unit = self.session.unit + ("s" if self.session.time != 1 else "")
        return f"The end, after {self.session.time} {unit}: your score is {self.session.total:z.3f}"

    def _standings(self, everyone: dict[str, Session]) -> None:
        columns = [session.columns for session in everyone.values()]
        rows = {"": [*everyone], "score": [f"{session.total:z.3f}" for session in everyone.values()]}
        shown = [name for name in columns[0] if RESULT_WORDS.get(name, name)]
        rows |= {name: [format_value(each.get(name)) for each in columns] for name in shown}
        with box("table", "standings", "standings"):
            for name, cells in rows.items():
                with box("tr", "best" if name == "score" else ""):
                    words("th", RESULT_WORDS.get(name, name))
                    for cell in cells:
                        words("td" if name else "th", cell)

    def _race(self, everyone: dict[str, Session]) -> Chart:
        drawn = zip(everyone.items(), COLOURS, strict=False)
        lines = tuple(Line(name, np.cumsum([0.0, *session.rewards]), colour) for (name, session), colour in drawn)
        longest = max(session.steps for session in everyone.values())
        return Chart(f"Score, by {self.session.env.step_unit.removesuffix('s')}", "", longest, lines, {})

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
        """Redraw the parts that change; at the end of the episode, run the rivals."""
        self.bar.refresh()
        self._show_goal()
        for name in (*self.parts, *(self.lasting if self.session.over or not self.session.steps else ())):
            getattr(self, name).refresh()
        self.ending.refresh()
        self._start_comparison()

    def _start_comparison(self) -> None:
        if self.finished and self.rivals is None:
            background_tasks.create(self.compare())

    async def compare(self) -> None:
        """Run the rivals in a thread and show their results."""
        session = self.session
        rivals = await run.io_bound(lambda: {RIVALS[name]: session.rival(name) for name in session.rivals})
        if session is self.session:
            self.rivals = rivals or {}
            self.ending.refresh()

    async def _make_replay(self) -> None:
        """Write the replay in a thread and show a link to it."""
        session, path = self.session, self.scratch / f"{uuid4().hex}.html"
        show_message("Drawing every step …")
        try:
            await run.io_bound(session.replay, path)
        except ConfigError as error:
            show_message(str(error), "warning")
            return
        self.replay = app.add_static_file(local_file=path, url_path=f"/replay/{path.name}")
        self.ending.refresh()

    def _key(self, event: Any) -> None:
        if event.action.keydown and not event.key.enter:
            self.pressed(event.key.name)
        elif event.action.keydown and not event.action.repeat and not self.session.over:
            self.guarded(self.advance)()

    def _save(self) -> None:
        show_message(f"Saved as {self.session.save(self.folder)}", "positive", seconds=10)

    def _ask_seed(self) -> None:
        with ui.dialog(value=True) as dialog, ui.card():
            ui.label("Begin another episode?")
            seed = ui.number("Seed", value=self.session.seed, min=0, max=MAX_SEED, precision=0).props("data-part=seed")
            with ui.row():
                button("Continue this one", dialog.close, "quiet")
                begin = self.guarded(lambda: self._begin(int(seed.value or 0), dialog))
                button("Begin", begin, "main-button", "begin")

    def _begin(self, seed: int, dialog: ui.dialog) -> None:
        self.session = app.storage.tab["session"] = self.session.again(seed)
        self.rivals, self.replay, self.happened = None, "", []
        dialog.close()
