"""The web server of the game: on the loopback address by default, with an episode for each tab."""

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
from harvestgym.play.farm_session import FarmSession
from harvestgym.play.fishing_session import FishingSession
from harvestgym.play.forager_session import ForagerSession
from harvestgym.play.session import Session

from .elements import box, words
from .farm_page import FarmPage
from .fishing_page import FishingPage
from .forager_page import ForagerPage
from .page import Page, add_style, parse_seed

LOOPBACK = ["127.0.0.1", "localhost"]


PAGES: dict[type[Session], type[Page]] = {
    FarmSession: FarmPage, FishingSession: FishingPage, ForagerSession: ForagerPage,
}  # fmt: skip


def serve(first: Session, folder: Path, host: str, port: int, show: bool) -> None:
    """Serve the game of the session `first` until the process ends; each tab begins with its seed."""
    if host in LOOPBACK:
        # Refuses other host names that resolve to this machine (DNS rebinding).
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)
    app.exception_handler(404)(_not_found)

    @ui.page("/", title=f"{first.id} - HarvestGym")
    async def index(seed: str = str(first.seed)) -> None:
        add_style()
        await ui.context.client.connected()
        tab = app.storage.tab  # survives a reload
        try:
            if tab.get("seed") != parse_seed(seed):
                tab.update(seed=parse_seed(seed), session=first.again(parse_seed(seed)))
        except ConfigError as error:
            with box("section", "card", "mistake"):
                words("h1", "This game cannot start")
                words("p", str(error))
            return
        page = PAGES[type(tab["session"])](tab["session"], folder, Path(scratch))
        page.on_begin = lambda session: tab.update(session=session)
        page.build(first.id, registry.doc(first.id))

    with TemporaryDirectory(prefix="harvestgym-") as scratch:
        ui.run(
            host=host, port=port, show=show, reload=False, title="HarvestGym", favicon="🌱", show_welcome_message=False
        )


def _not_found(request: Request, error: HTTPException) -> Response:
    return PlainTextResponse(f"There is nothing at {request.url.path}; the game is at /\n", status_code=404)


def find_port(host: str, port: int) -> int:
    """Return a free port: `port`, or any for 0; ConfigError if it is in use."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            return found.getsockname()[1]
    except (OSError, OverflowError) as error:
        raise ConfigError(f"{host}:{port}: expected a free address, got {error}; try another --port or "
                          "--host") from None  # fmt: skip


def address(host: str, port: int) -> str:
    """Return the address of the page for a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"
