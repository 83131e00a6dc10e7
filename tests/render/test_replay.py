"""The replay page: whole without a network, true to the record, inert to texts, and usable in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from examples.read_replay import read_html
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.events import Event, say_event
from harvestgym.core.view.scene import Map, Mark, Scene, Sprite, Stroke, Words
from harvestgym.core.view.timeline import ChatMessage, Record, Timeline, Track
from harvestgym.evaluate.export import RecordedEpisode
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.registry import family_function
from harvestgym.render.html_replay import to_html
from tests.browser import DESKTOP, PHONE, Visit, chromium, visit
from tests.long_form import long

pytest.importorskip("plotly", reason="needs pip install 'harvestgym[plot]'")

EVIL = "</script><script>window.pwned=1</script><img src=x onerror='window.pwned=1'>\u2028&<b>\"'"
FARM, FISHERY, FORAGER = "farm/paid-looks-1x1-v0", "fishing/logistic-survey-v0", "forager/two-biome-v0"
STEPS = 6


def toy() -> Timeline:
    """Record two plots of a crop that dies on step 4; the farmer looked on step 2 at the first plot only."""
    rng = np.random.default_rng(1)
    record = {
        "water": rng.random((STEPS, 2, 1), np.float32),
        "stage": np.asarray([0, 1, 1, 1, 2, 2], np.int32),
        "flag": np.asarray([0, 1, 0, 1, 0, 1], bool),
        "odd": np.asarray([np.nan, np.inf, -np.inf, 1e-40, 3, 4], np.float64),
        "count": np.asarray([2**53, -1, 0, 1, 2, 3], np.int64),
        "empty": np.zeros((STEPS, 0), np.float32),
        "reward": np.asarray([0, 1, -0.5, 2, 0, 1], np.float32),
    }
    seen = np.zeros((STEPS, 2, 1), bool)
    seen[2, 0, 0] = True
    tracks = (
        Track("water", f"F {EVIL}", f"water {EVIL}", "L", EVIL, ("(0, 0)", "(1, 0)"), observed_mask=seen),
        Track("stage", "F", "stage", codes={0: "none", 1: EVIL, 2: "dead"}, observed_mask=np.zeros(STEPS, bool)),
        Track(
            "odd", "F", "odd", observed_values=np.arange(STEPS, dtype=np.float64), observed_mask=np.ones(STEPS, bool)
        ),
    )
    return Timeline(
        when=[f"day {step}, {EVIL}" for step in range(STEPS)],
        watcher="the farmer",
        record=record,
        tracks=tracks,
        first=("water", "stage"),
        actions=(Event(2, "done", f"look {EVIL}", EVIL, cost=0.5), Event(3, "done", "harvest", "", cost=0.25)),
        gains={f"yield {EVIL}": record["reward"] + np.float32(0.5)},
        costs={"looks": np.full(STEPS, 0.5, np.float32)},
        events=(Event(4, "dead", "", f"died of {EVIL}"),),
        notes=(f"rule 1 of the expert ({EVIL}) never acted",),
        known=record,
        messages=(ChatMessage(2, EVIL, f"look\n{EVIL}"),),
    )


def toy_scene(text: str, step: int) -> Scene:
    leaf = Sprite("leaf", (Stroke("ellipse", ((0.5, 0.5), (0.4, 0.3)), "#009e73"),))
    marks = (Mark("square", (0.5, 0.5), meaning=EVIL), Mark(leaf, (1.5, 0.5), text=EVIL, meaning="a leaf"))
    return Scene(text, (Map(f"{text} {step}", (2, 1), marks), Words("Today", (EVIL, f"{text} on {step}"))))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    views = {name: lambda step, name=name: toy_scene(f"{name} {EVIL}", step) for name in ("true", "observed")}
    path = tmp_path_factory.mktemp("replay") / "toy.html"
    path.write_text(to_html(f"toy {EVIL}", EVIL, toy(), views), encoding="utf-8", newline="\n")
    return path


def recorded(id: str, policy: str, **overrides: Any) -> tuple[Any, Record]:
    env = harvestgym.make(id, **overrides)
    return env, record_episode(id, env, policy_named(id, env, policy), 0)


@pytest.fixture(scope="module")
def farm() -> tuple[Any, Record]:
    return recorded(FARM, "expert")


@pytest.fixture(scope="module")
def farm_page(farm: tuple[Any, Record], tmp_path_factory: pytest.TempPathFactory) -> Path:
    episode = RecordedEpisode(FARM, farm[0], "expert", 0, farm[1])
    return episode.replay(tmp_path_factory.mktemp("replay") / "farm.html")


class Tags(HTMLParser):
    """The elements of a page with their attributes, and what is said in its styles."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.styles, self._inside = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.styles += data if self._inside == "style" else ""


# -- the file --


@long
def test_the_page_is_one_file_that_may_fetch_nothing(page: Path, farm_page: Path) -> None:
    for path in (page, farm_page):
        tags = Tags(path)
        for tag, given in tags.found:
            assert not {"src", "srcset", "data", "action", "poster"} & set(given), tag
            assert given.get("href", "#").startswith("#") and tag not in ("link", "iframe", "object", "base")
        assert tags.styles and not re.findall(r"https?:|url\(|@import", tags.styles)
        (policy,) = [given["content"] for _, given in tags.found if "http-equiv" in given]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'" and rules["img-src"] == "data: blob:" and "http" not in policy
        assert all(word.startswith("'sha256-") for word in rules["script-src"].split()), (
            "scripts run by their hash alone"
        )
        assert path.stat().st_size < 8e6


def test_texts_of_a_file_are_no_markup(page: Path) -> None:
    tags = Tags(page)
    names = [tag for tag, _ in tags.found]
    assert names.count("script") == 5 and not {"img", "b"} & set(names)
    assert not any(name.startswith("on") for _, given in tags.found for name in given)


@long
def test_what_goes_into_a_page_comes_out_to_the_bit(page: Path, farm: tuple[Any, Record], farm_page: Path) -> None:
    for path, record in ((page, toy().record), (farm_page, farm[1])):
        found = read_html(path)
        assert list(found) == list(record)
        for name, values in record.items():
            assert found[name].dtype == values.dtype and found[name].shape == values.shape
            assert found[name].tobytes() == np.ascontiguousarray(values).tobytes(), name


def test_another_file_is_no_page(tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<p>nothing</p>")
    with pytest.raises(ConfigError, match="expected a page written by `harvestgym run --html`"):
        read_html(other)


def test_the_command_writes_a_page_and_refuses_a_place_that_is_none(tmp_path: Path) -> None:
    asked = ["run", FISHERY, "--policy", "random", "--episodes", "1", "--html"]
    missing = CliRunner().invoke(app, [*asked, str(tmp_path / "nowhere" / "a.html")])
    assert missing.exit_code == 2 and "a.html: expected an existing folder, got none" in missing.output
    done = CliRunner().invoke(app, [*asked, str(tmp_path / "a.html")])
    assert done.exit_code == 0 and "a.html" in done.output, done.output
    assert len(read_html(tmp_path / "a.html")["reward"]) > 1
    assert "One episode of the policy random, seed 0." in (tmp_path / "a.html").read_text(encoding="utf-8")


# -- what the families tell --


@pytest.mark.parametrize("id", [FARM, "fishing/logistic-effort-v0", FORAGER])
def test_gains_less_costs_are_the_reward_of_every_step(id: str, farm: tuple[Any, Record]) -> None:
    env, record = farm if id == FARM else recorded(id, "random", **({"horizon": 60} if id == FORAGER else {}))
    before = {name: values.copy() for name, values in record.items()}
    story = family_function(id, "timeline")(env, record)
    sums = sum(story.gains.values()) - sum(story.costs.values(), np.float32(0))
    np.testing.assert_allclose(sums, record["reward"], atol=1e-5)
    assert len(story.when) == len(record["reward"]) and set(story.first) <= {t.name for t in story.tracks}
    for track in story.tracks:
        values = record[track.name]
        assert len(track.parts or ("",)) == values[0].size, track.name
        assert all(
            given is None or given.shape == values.shape for given in (track.observed_mask, track.observed_values)
        )
        assert not track.codes or set(np.unique(values).tolist()) <= set(track.codes)
    assert all(np.array_equal(before[name], record[name]) for name in record)
    if "effort" in story.costs:
        np.testing.assert_allclose(story.gains["catch"], float(env.params.price) * record["catch"][:, 0], atol=1e-6)


def test_actions_of_a_farm_cost_what_the_season_paid(farm: tuple[Any, Record]) -> None:
    story = family_function(FARM, "timeline")(*farm)
    paid = np.zeros(len(story.when))
    np.add.at(paid, [action.step for action in story.actions], [action.cost or 0.0 for action in story.actions])
    np.testing.assert_allclose(paid, story.costs["intervention cost"] + story.costs["observation cost"], atol=1e-6)
    assert {"looked ", "water 2"} <= {action.who[:7] for action in story.actions}


def test_a_death_has_its_cause_and_what_went_before(farm: tuple[Any, Record]) -> None:
    env, record = farm
    stage, cause, limit = (
        next(v for v in env.variables if v.attr == n) for n in ("stage", "cause_of_death", "limiting_factor")
    )
    died = {name: values.copy() for name, values in record.items()}
    died[stage.name][41:], died[limit.name][1:] = stage.meta.labels.index("dead"), limit.meta.labels.index("water")
    died[cause.name][41:] = cause.meta.labels.index("grow: strain")
    events = family_function(FARM, "timeline")(env, died).events
    (death,) = [event for event in events if event.kind == "dead"]
    assert death.step == 41 and say_event(death).startswith(
        "Bean: died: stress from other entities while growing; growth"
    )
    assert death.why.rpartition(" on ")[0].endswith("slowed by too little water")


# -- the page in a browser --


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def at(seen: Visit) -> str:
    return seen.page.locator("#when").inner_text()


def ready(seen: Visit) -> Visit:
    seen.page.wait_for_selector("body[data-ready]")
    return seen


@long
def test_slider_keys_and_play_move_the_step(browser: Any, page: Path) -> None:
    with visit(browser, page.as_uri(), DESKTOP, offline=True) as seen:
        ready(seen)
        assert at(seen).endswith("(0 of 5)")
        seen.page.keyboard.press("ArrowRight")
        assert at(seen).endswith("(1 of 5)")
        seen.page.locator("#step").press("End")
        assert at(seen).endswith("(5 of 5)")
        seen.page.locator("#step").fill("4")
        assert "died" not in seen.page.locator("#done").inner_text() and at(seen).endswith("(4 of 5)")
        seen.page.locator("#speed").select_option("12")
        seen.page.click("#play")
        seen.page.locator("#when", has_text="(5 of 5)").wait_for()
        seen.page.locator("#play", has_text="Play").wait_for()
        assert "true" in seen.page.locator("#drawing").inner_text() and "5" in seen.page.locator("#words").inner_text()
        seen.check()
        assert seen.requests == [page.as_uri()], "one file"


def test_texts_are_shown_and_do_nothing(browser: Any, page: Path) -> None:
    with visit(browser, page.as_uri()) as seen:
        ready(seen)
        seen.page.click("#picker summary")
        seen.page.locator("#step").fill("2")
        assert seen.page.evaluate("window.pwned") is None and seen.page.locator("img").count() == 0
        assert "<script>window.pwned" in seen.page.locator("h1").inner_text()
        assert "onerror" in seen.page.locator("#done").inner_text()
        assert "never acted" in seen.page.locator("#notes").inner_text()
        seen.check()


def test_switch_shows_observed_or_true_values(browser: Any, page: Path) -> None:
    water = toy().record["water"]
    with visit(browser, page.as_uri()) as seen:
        ready(seen)
        seen.page.locator("#part").select_option("(0, 0)")
        seen.page.locator("#step").fill("3")
        truth = seen.page.locator("#values tbody tr").first.locator("td").all_inner_texts()
        assert float(truth[1]) == pytest.approx(float(water[3, 0, 0]), rel=1e-3)
        assert float(truth[2]) == pytest.approx(float(water[2, 0, 0]), rel=1e-3) and truth[3].startswith("day 2")
        seen.page.locator("input[name=view][value=observed]").check()
        assert float(truth[1]) not in [float(t) for t in seen.page.evaluate("byId('lines').data[0].y.filter(Boolean)")]
        assert "true" not in seen.page.locator("#values thead").inner_text()
        assert "observed" in seen.page.locator("#drawing").inner_text()
        assert seen.page.locator("#unseen").inner_text().startswith("Never observed: F stage")
        seen.check()


def test_a_season_on_a_phone_in_the_dark_fits_the_screen(
    browser: Any, farm: tuple[Any, Record], farm_page: Path
) -> None:
    with visit(browser, farm_page.as_uri(), PHONE, color_scheme="dark", has_touch=True) as seen:
        ready(seen)
        assert seen.page.evaluate("document.documentElement.scrollWidth") == PHONE[0]
        seen.page.click("#picker summary")
        seen.page.fill("#find", "fruit_weight")
        seen.page.locator("#list input").first.check()
        assert seen.page.evaluate("byId('lines').data.length") == 4
        shown = seen.page.evaluate("byId('lines').data.map((line) => line.y)")
        name = "Field-0/Plant-0/fruit_weight#g"
        np.testing.assert_allclose(shown[-1], farm[1][name].ravel(), rtol=1e-6)
        reward = seen.page.evaluate("total().reduce((a, b) => a + b, 0)")
        assert reward == pytest.approx(float(farm[1]["reward"].sum()), abs=1e-4)
        seen.shot("replay-phone")
        seen.check()
    with visit(browser, farm_page.as_uri()) as seen:
        ready(seen)
        seen.page.locator("#step").fill("80")
        seen.shot("replay-desktop")
        seen.check()


@long
def test_charts_keep_their_heights_when_the_window_is_resized(browser: Any, farm_page: Path) -> None:
    heights = "[...document.querySelectorAll('.chart')].filter(c => !c.hidden).map(c => c.offsetHeight)"
    with visit(browser, farm_page.as_uri()) as seen:
        before = ready(seen).page.evaluate(heights)
        for _ in range(600):  # until they are drawn; the page's policy forbids `wait_for_function`
            if len(before) >= 2 and min(before) > 150:
                break
            seen.page.wait_for_timeout(50)
            before = seen.page.evaluate(heights)
        assert len(before) >= 2
        for width in (700, 390, 1280):
            seen.page.set_viewport_size({"width": width, "height": 800})
            seen.page.wait_for_timeout(400)
            assert seen.page.evaluate(heights) == before and min(before) > 150, width
        widths = seen.page.evaluate("['charts', 'events'].map((id) => byId(id).offsetWidth)")
        assert widths[0] == widths[1], "both cards fill the row"
        seen.shot("replay-resized")
    seen.check()
