"""The address of the page, and the texts of cells, without a browser."""

from __future__ import annotations

import socket

import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.start_session import FishingSession, ForagerSession
from harvestgym.play.web.page import Page
from harvestgym.play.web.server import PAGES, address, find_port


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", 80, "http://127.0.0.1:80/"),
        ("localhost", 8080, "http://localhost:8080/"),
        ("0.0.0.0", 80, "http://127.0.0.1:80/"),
        ("::", 80, "http://[::1]:80/"),
        ("::1", 80, "http://[::1]:80/"),
    ],
)
def test_the_address_is_one_that_a_browser_here_can_open(host: str, port: int, url: str) -> None:
    assert address(host, port) == url


def test_port_0_is_a_free_port() -> None:
    port = find_port("127.0.0.1", 0)
    with socket.create_server(("127.0.0.1", port)) as held:
        assert held.getsockname()[1] == port


def test_a_port_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: expected a free address"):
            find_port("127.0.0.1", port)


def test_every_session_has_its_page() -> None:
    assert set(PAGES) == {FarmSession, FishingSession, ForagerSession}
    assert all(issubclass(page, Page) and page.go != Page.go for page in PAGES.values())
