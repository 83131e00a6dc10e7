"""The web server of the game: it uses the loopback address by default, with one episode per tab."""

from __future__ import annotations

import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nicegui import app, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from harvestgym import registry
from harvestgym.core.errors import mismatch
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.session import Session
from harvestgym.play.start_session import FishingSession, ForagerSession

from .farm_page import FarmPage
from .fishing_page import FishingPage
from .forager_page import ForagerPage
from .page import Page, add_style

RECONNECT = 120.0
"""Seconds without an answer after which a page counts as closed; a slow machine may not answer while it compiles."""

LOOPBACK = ["127.0.0.1", "localhost"]

PAGES: dict[Any, type[Page]] = {FarmSession: FarmPage, FishingSession: FishingPage, ForagerSession: ForagerPage}


def serve(first: Session, folder: Path, host: str, port: int, show: bool) -> None:
    """Serve the game of the session `first` until the process ends; each tab starts with the seed of `first`."""
    if host in LOOPBACK:
        # Rejects other host names that resolve to this machine (DNS rebinding).
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)

    @ui.page("/", title=f"{first.id} - HarvestGym")
    async def index() -> None:
        add_style()
        client = ui.context.client
        await client.connected()
        if not client.has_socket_connection:
            return  # the browser only prefetches the page
        tab = app.storage.tab  # kept when the page is reloaded
        if "session" not in tab:
            tab["session"] = first.again(first.seed)
        PAGES[type(first)](tab["session"], folder, Path(scratch)).build(first.id, registry.headline(first.id))

    with TemporaryDirectory(prefix="harvestgym-") as scratch:
        ui.run(
            host=host,
            port=port,
            show=show,
            reload=False,
            favicon="🌱",
            show_welcome_message=False,
            reconnect_timeout=RECONNECT,
        )


def find_port(host: str, port: int) -> int:
    """Return a free port: `port`, or any port if it is 0; raise ConfigError if it is in use."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            return found.getsockname()[1]
    except (OSError, OverflowError) as error:
        raise mismatch(f"{host}:{port}", "a free address", error, "another --port or --host") from None


def address(host: str, port: int) -> str:
    """Return the address of the page for a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"
