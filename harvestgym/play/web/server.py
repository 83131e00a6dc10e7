"""The server of the page: on the loopback address unless it is told otherwise, a season for each tab."""

from __future__ import annotations

import socket
from pathlib import Path
from tempfile import TemporaryDirectory

from nicegui import app, ui
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.play.farmer import FarmerSession
from harvestgym.play.fisher import FisherSession
from harvestgym.play.forager import ForagerSession
from harvestgym.play.session import Session

from .farm import FarmPage
from .fishing import FishPage
from .forager import ForagePage
from .page import Page, dress, seed_of
from .parts import box, words

LOOPBACK = ["127.0.0.1", "localhost"]


def page_of(session: Session, folder: Path, scratch: Path) -> Page:
    """The page on which a session is played."""
    match session:
        case FarmerSession():
            return FarmPage(session, folder, scratch)
        case FisherSession():
            return FishPage(session, folder, scratch)
        case ForagerSession():
            return ForagePage(session, folder, scratch)
    raise TypeError(f"no page for a {type(session).__name__}")


def serve(first: Session, folder: Path, host: str, port: int, show: bool) -> None:
    """Serve the page of the environment of `first`, until the process is ended; tabs begin with its seed."""
    if host in LOOPBACK:
        # A page of another site cannot have itself taken for this one by a name that leads here.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)
    app.exception_handler(404)(_nothing_there)

    @ui.page("/", title=f"{first.id} - HarvestGym")
    async def index(seed: str = str(first.seed)) -> None:
        dress()
        await ui.context.client.connected()
        tab = app.storage.tab  # outlives a reload
        try:
            if tab.get("seed") != seed_of(seed):
                tab.update(seed=seed_of(seed), session=first.again(seed_of(seed)))
        except ConfigError as error:
            with box("section", "card", "mistake"):
                words("h1", "This season cannot begin")
                words("p", str(error))
            return
        page = page_of(tab["session"], folder, Path(scratch))
        page.begun = lambda session: tab.update(session=session)
        page.build(first.id, registry.doc(first.id))

    with TemporaryDirectory(prefix="harvestgym-") as scratch:
        ui.run(
            host=host, port=port, show=show, reload=False, title="HarvestGym", favicon="🌱", show_welcome_message=False
        )


def _nothing_there(request: Request, error: HTTPException) -> Response:
    return PlainTextResponse(f"There is nothing at {request.url.path}; the game is at /\n", status_code=404)


def port_at(host: str, port: int) -> int:
    """A port at which something can be served now: `port`, or any that is free for 0; ConfigError if it is taken."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            return found.getsockname()[1]
    except (OSError, OverflowError) as error:
        told = f"{host}:{port}: nothing can be served there ({error}); choose another --port or --host"
        raise ConfigError(told) from None


def address(host: str, port: int) -> str:
    """Where a browser on this machine finds the page."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"
