"""A headless Chromium for the tests of pages: what a page says on its console and asks of the network is kept.

    with chromium() as browser, visit(browser, url) as seen:
        seen.page.click("#play")
    seen.check()

Where there is no Chromium or no driver the test is skipped with the reason. Set HARVESTGYM_SHOTS to a folder and
`Visit.shot` keeps its pictures there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DESKTOP, PHONE = (1280, 900), (390, 844)
LOOPBACK = ("127.0.0.1", "localhost", "::1", "")
"""Hosts that are this machine; a file, data: and blob: have none."""


@dataclass
class Visit:
    """A page that is open, and what it has said and asked for so far."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def left(self) -> list[str]:
        """The requests that would have left this machine."""
        return [url for url in self.requests if (urlsplit(url).hostname or "") not in LOOPBACK]

    def check(self) -> None:
        """Fail if the page complained or asked for anything outside this machine."""
        assert not self.errors, self.errors
        assert not self.left, self.left

    def shot(self, name: str, whole: bool = True) -> None:
        """Take a picture of the page, `name.png`, if the run keeps pictures."""
        folder = os.environ.get("HARVESTGYM_SHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=whole)


def found() -> str | None:
    """Return the Chromium of this machine, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a headless Chromium; skips the test where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    path = found()
    if path is None:
        pytest.skip(f"needs one of {', '.join(NAMES)} on the PATH (apt-get install chromium)")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visit(browser: Any, url: str, size: tuple[int, int] = DESKTOP, **context: Any) -> Iterator[Visit]:
    """Open a page in a fresh context of the browser (`color_scheme="dark"`, `offline=True`, `has_touch=True` ...)."""
    mine = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context)
    seen = Visit(mine.new_page())
    seen.page.on("console", lambda said: seen.errors.append(said.text) if said.type == "error" else None)
    seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    try:
        seen.page.goto(url)
        yield seen
    finally:
        mine.close()
