"""The pages in a real browser against a server for each family: seasons, years and steps, by clicking."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import pytest

from harvestgym import play
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets import demonstration_files
from harvestgym.play.web import server
from tests.browser import PHONE, Visit, chromium, visit
from tests.long_form import long

COMMAND = [sys.executable, "-c", "from harvestgym.cli import app; app()", "play", "--no-browser"]
GAMES = {
    "farm": ["farm/bean-1x1-v0"],
    "paid": ["farm/paid-looks-1x1-v0", "--seed", "3"],
    "fishing": ["fishing/logistic-v0", "--horizon", "14"],
    "forager": ["forager/two-biome-v0"],
}


class Served(NamedTuple):
    """Address of a game, and the folder of its files."""

    url: str
    folder: Path


class Servers(dict[str, Served]):
    """A server for each game that a test plays, started when it is first needed."""

    def __init__(self, folder: Callable[[str], Path]) -> None:
        self.folder, self.started = folder, list[subprocess.Popen[str]]()

    def __missing__(self, name: str) -> Served:
        env = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
        command = [*COMMAND, *GAMES[name], "--port", "0", "--out", str(folder := self.folder(name))]
        self.started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
        self[name] = Served(address(self.started[-1]), folder)
        return self[name]


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Yield the servers by name."""
    servers = Servers(tmp_path_factory.mktemp)
    try:
        yield servers
    finally:
        for process in servers.started:
            process.terminate()
        for process in servers.started:
            process.communicate(timeout=20)


def address(process: subprocess.Popen[str]) -> str:
    """Return the address that a server says it has, when it answers there."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return wait_for(found[0])
    raise AssertionError("the server ended without an address")


def wait_for(url: str) -> str:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=10):
                return url
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError(f"nothing answers at {url}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a browser; its pictures of pages stay among pytest's own files where the run names no folder for them."""
    with pytest.MonkeyPatch.context() as patch, chromium() as found:
        if "HARVESTGYM_SHOTS" not in os.environ:
            patch.setenv("HARVESTGYM_SHOTS", str(tmp_path_factory.mktemp("shots")))
        yield found


def part(name: str) -> str:
    return f"[data-part='{name}']"


def wait_for_text(seen: Visit, name: str, text: str) -> None:
    """Until a part of the page says something."""
    seen.page.locator(part(name), has_text=re.compile(text)).first.wait_for(timeout=180_000)


def check_on_phone(seen: Visit, name: str) -> None:
    """Resize the page to a phone: nothing may be wider than it, the standings and the forecast included."""
    seen.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    seen.page.evaluate("scrollTo(0, 0)")
    cut = "who => [...document.querySelectorAll(who)].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert seen.page.evaluate(cut, ".standings, .forecast, .card, .main") == 0
    assert seen.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "the page is too wide"
    seen.shot(name)


def known(seen: Visit, what: str) -> str:
    """Return a fact of the chosen plot, as the page says it."""
    return (
        seen.page.locator(f"{part('known')} dt", has_text=what).locator("xpath=following-sibling::dd[1]").inner_text()
    )


@long  # tests/play/test_session.py plays a season without a browser
def test_farm_season_from_seed_to_harvest_and_comparison(browser: Any, games: Servers) -> None:
    """Looks once a week, waters where the plant is thirsty, harvests when it is ripe: better than doing nothing."""
    with visit(browser, games["farm"].url) as seen:
        wait_for_text(seen, "day", "day 0 of 220")
        wait_for_text(seen, "goal", "1 point for each kg harvested")
        seen.shot("play-farm-first-day", whole=False)
        seen.page.get_by_role("button", name="20 L").click()
        days, sprouted = 0, False
        while known(seen, "Bean stage") != "ripe":
            dry = float(known(seen, "Soil available Water").split()[0]) < 150
            if dry:
                seen.page.click(part("add-0"))
                seen.page.wait_for_selector(part("remove-0"))
                seen.page.keyboard.press("Enter")
                days += 1
            else:
                seen.page.click(part("skip-7"))
                days += 7
            wait_for_text(seen, "day", f"day {days} of")
            if not sprouted and known(seen, "Bean stage") == "grow":
                wait_for_text(seen, "news", "Bean: sprouted")
                sprouted = True
            if 40 <= days <= 46:
                seen.shot("play-farm-summer", whole=False)
        assert sprouted
        seen.page.click(part("add-1"))
        wait_for_text(seen, "today", "harvest")
        seen.page.click(part("go"))
        wait_for_text(seen, "ending", f"The end, after {days + 1} days")
        wait_for_text(seen, "standings", "the expert")
        seen.shot("play-farm-end", whole=False)
        rows = seen.page.locator(f"{part('standings')} tr").all_inner_texts()
        scores = [float(value) for value in rows[1].split("\t")[1:]]
        assert len(scores) == 3 and scores[0] > scores[2]
        check_on_phone(seen, "play-farm-end-phone")
        seen.page.click(part("save"))
        seen.page.wait_for_selector("text=Saved as")
        seen.page.click(part("make-replay"))
        seen.page.locator(part("replay")).wait_for(timeout=180_000)
        replay = seen.page.locator(part("replay")).get_attribute("href")
        assert replay is not None
    with visit(browser, urljoin(games["farm"].url, replay)) as again:
        again.page.wait_for_selector("text=played by a user, seed 0")
        again.check()
    seen.check()
    (kept,) = games["farm"].folder.iterdir()
    (episode,) = demonstration_files.read_demonstrations(kept).episodes
    assert len(episode) == days + 1 and episode.terminated[-1]
    assert episode.rewards.sum() == pytest.approx(scores[0], abs=1e-3)


@long
def test_tabs_have_seasons_of_their_own_that_survive_a_reload(browser: Any, games: Servers) -> None:
    url = games["paid"].url
    with visit(browser, url) as one, visit(browser, url) as other:
        one.page.click(part("go"))
        wait_for_text(one, "day", "day 1 of")
        one.page.reload()
        wait_for_text(one, "day", "day 1 of")
        wait_for_text(other, "day", "day 0 of")
        other.page.click(part("go"))
        for seen in (one, other):
            wait_for_text(seen, "day", "day 1 of")
            seen.page.click(part("new"))
            seen.page.locator(f"input{part('seed')}, {part('seed')} input").first.fill("4")
            seen.page.click(part("begin"))
            wait_for_text(seen, "day", "day 0 of")
        assert one.page.inner_text(part("sky")) == other.page.inner_text(part("sky"))
    one.check()
    other.check()


@long
@pytest.mark.parametrize("size", [(1280, 720), PHONE])
def test_the_plots_are_above_the_bar_when_the_page_opens(browser: Any, games: Servers, size: tuple[int, int]) -> None:
    with visit(browser, games["farm"].url, size) as seen:
        plots, bar = (seen.page.locator(name).first.bounding_box() for name in (".plots", ".bar"))
        assert plots["y"] + plots["height"] <= bar["y"]


@long
def test_observations_cost_and_mistakes_are_shown(browser: Any, games: Servers) -> None:
    with visit(browser, games["paid"].url, PHONE) as seen:
        assert "Nothing yet" in seen.page.inner_text(part("known"))
        seen.page.click(part("want-0"))
        seen.page.click(part("want-1"))
        seen.page.locator(part("look"), has_text="0.006").click()
        wait_for_text(seen, "known", "Bean stage")
        assert seen.page.inner_text(f"{part('score')} b") == "-0.006"
        seen.page.click(part("add-0"))
        wait_for_text(seen, "today", "1 of at most 1")
        seen.page.click(part("add-0"))
        seen.page.wait_for_selector("text=at most 1 per day")
        seen.page.wait_for_timeout(500)  # it slides in
        message, head, bar = (seen.page.locator(name).first.bounding_box()
                              for name in (".q-notification", ".head", ".bar"))  # fmt: skip
        assert message["y"] >= head["y"] + head["height"] and message["y"] + message["height"] <= bar["y"]
        seen.page.evaluate("scrollTo(0, 0)")
        seen.shot("play-farm-phone", whole=False)
        seen.page.click(part("remove-0"))
        wait_for_text(seen, "today", "0 of at most 1")
        wide = seen.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, "the page is too wide"
    seen.check()


@long
def test_fishery_ends_with_the_optimum(browser: Any, games: Servers) -> None:
    with visit(browser, games["fishing"].url) as seen:
        seen.page.locator(f"input{part('amount-0')}, {part('amount-0')} input").first.fill("0.07")
        wait_for_text(seen, "share", "9 % of the stock")
        box = seen.page.locator(f"input{part('amount-0')}, {part('amount-0')} input").first
        box.fill("-3")
        wait_for_text(seen, "share", "That is 0 % of the stock")
        assert box.input_value() == "0"
        box.fill("0.07")
        wait_for_text(seen, "share", "9 % of the stock")
        box.press("Enter")
        wait_for_text(seen, "day", "Year 1")
        assert "unfished stock, K" in seen.page.inner_text(part("sky"))
        for year in range(2, 4):
            seen.page.click(part("go"))
            wait_for_text(seen, "day", f"Year {year}")
        seen.page.click(part("skip-10"))
        wait_for_text(seen, "day", "Year 13")
        seen.shot("play-fishing", whole=False)
        seen.page.click(part("go"))
        wait_for_text(seen, "standings", "the optimum")
        shown = seen.page.inner_text(".main")
        assert "AAV" not in shown and "regret" not in shown and "doing nothing" in shown
        seen.shot("play-fishing-end", whole=False)
        check_on_phone(seen, "play-fishing-end-phone")
        row = seen.page.locator(f"{part('standings')} tr").nth(1).inner_text().split("\t")
        mine, _, best, idle = (float(value) for value in row[1:])
        assert best > mine > 14 * 0.07, "the catches, and the stock that remains"
        assert mine > idle
    seen.check()


@pytest.mark.parametrize(
    ("game", "buttons"),
    [
        ("farm", ["go", "new", "skip-7", "skip-220"]),
        pytest.param("fishing", ["go", "new", "skip-10"], marks=long),
        pytest.param("forager", ["go", "new"], marks=long),
    ],
)
def test_keys_reach_a_single_step_before_many_and_act_once(
    browser: Any, games: Servers, game: str, buttons: list[str]
) -> None:
    with visit(browser, games[game].url) as seen:
        seen.page.locator("summary").wait_for()
        order: list[str] = []
        while not order or order[-1] != buttons[-1]:
            seen.page.keyboard.press("Tab")
            order.append(seen.page.evaluate("document.activeElement.dataset.part ?? ''"))
        assert order[-len(buttons) :] == buttons and not set(order[: -len(buttons)]) & set(buttons)
        expanded = seen.page.locator(f"{part('goal')}[open]")
        seen.page.focus("summary")
        seen.page.keyboard.press("Enter")
        expanded.wait_for(state="detached")
        seen.page.keyboard.press("Enter")
        expanded.wait_for()
        seen.page.click(part("new"))
        seen.page.wait_for_function("document.activeElement.contains(document.querySelector('[data-part=begin]'))"
                                    "&& document.activeElement !== document.body")  # fmt: skip
        seen.page.keyboard.press("Enter")
        seen.page.get_by_role("button", name="Continue").click()
        seen.page.locator(part("begin")).wait_for(state="detached")
        assert expanded.count(), "the first move collapses the goal"
        if game != "forager":
            seen.page.keyboard.press("Enter")
            wait_for_text(seen, "day", "Year 1|day 1 of")
    seen.check()


@long  # tests/play/test_session.py moves a forager without a browser
def test_forager_moves_by_keys_and_buttons(browser: Any, games: Servers) -> None:
    with visit(browser, games["forager"].url) as seen:
        first = seen.page.locator(f"{part('view')} figure img").first.get_attribute("src")
        for key in ("ArrowLeft",) * 4 + ("ArrowUp",):
            seen.page.keyboard.press(key)
        seen.page.click(part("south"))
        seen.page.click(part("go"))
        wait_for_text(seen, "ending", "after 6 steps")
        wait_for_text(seen, "standings", "the expert")
        assert seen.page.locator(f"{part('view')} figure img").first.get_attribute("src") != first
        assert seen.page.inner_text(f"{part('score')} b") == "30.000"  # a morel, four steps west
        seen.shot("play-forager", whole=False)
        check_on_phone(seen, "play-forager-end-phone")
    seen.check()


@long
def test_forager_on_a_phone_needs_no_scrolling(browser: Any, games: Servers) -> None:
    with visit(browser, games["forager"].url, PHONE) as seen:
        seen.page.click(part("west"))
        seen.page.locator(f"{part('goal')} [open], {part('goal')}[open]").wait_for(state="detached")
        seen.page.locator(f"{part('view')} img").first.wait_for()
        figures = f"{part('view')} figure"
        seen.page.wait_for_function(f"document.querySelectorAll(`{figures}`).length > 1")
        boxes = "what => what.map(w => [...document.querySelectorAll(w)].map(e => e.getBoundingClientRect().toJSON()))"
        at_once = [".pad", f"{figures} img", ".bar", figures]  # the page may put new ones in their place at any time
        ways, views, bar, rows = seen.page.evaluate(boxes, at_once)
        assert views[0]["bottom"] <= bar[0]["top"] and ways[0]["bottom"] <= bar[0]["top"]
        assert rows[0]["top"] < rows[1]["top"], "what is in view has a row of its own"
        assert seen.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        seen.shot("play-forager-phone", whole=False)
    seen.check()


def test_only_the_page_is_served_and_only_locally(games: Servers) -> None:
    url = games["farm"].url
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{url}nowhere", timeout=10)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "example.org"}), timeout=10)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect(("192.0.2.1", 9))  # sends nothing: finds our address as seen from outside
        outside = route.getsockname()[0]
    port = int(url.rstrip("/").rpartition(":")[2])
    if not outside.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((outside, port), timeout=3)


def test_a_wrong_port_or_folder_is_refused_first(games: Servers, tmp_path: Path) -> None:
    port = int(games["farm"].url.rstrip("/").rpartition(":")[2])
    with pytest.raises(ConfigError, match="try another --port"):
        play.run("farm/bean-1x1-v0", port=port)
    with pytest.raises(ConfigError, match="try another --port or --host"):
        play.run("farm/bean-1x1-v0", host="203.0.113.1", port=0)
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigError, match="expected a folder"):
        play.run("farm/bean-1x1-v0", folder=file)


def test_addresses() -> None:
    assert server.address("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert server.address("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert server.address("::1", 80) == "http://[::1]:80/"
