"""Play in the browser: sessions for the three families, with a page for each.

Sessions are independent of the page; only `web` imports the library that serves it (extra `web`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from harvestgym.core.errors import check_extras
from harvestgym.evaluate.export import check_folder


def run(
    id: str,
    host: str = "127.0.0.1",
    port: int = 8080,
    seed: int = 0,
    horizon: int | None = None,
    folder: Path = Path(),
    *,
    show: bool = True,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve the page for an id until the process ends; `say` receives its address.

    Args:
        id: a registered id, or the path of a farm file.
        host, port: the address; port 0 selects any free port.
        seed: the seed of the first episode in each tab.
        horizon: the length of an episode in days, years or steps; by default as in the id.
        folder: the folder for saved episodes.
        show: whether to open a browser.

    Raises:
        ConfigError: for an unknown id, a port in use, a folder that cannot be written, or a missing extra `web`.
    """
    if find_spec("nicegui") is None:
        check_extras("play", web="nicegui", data="pyarrow", plot="plotly")  # the page also works without the last two
    check_folder("--out", folder)
    from .start_session import start_session
    from .web import server

    port = server.find_port(host, port)
    session = start_session(id, seed, horizon)
    say(f"preparing {id} …")
    session.rehearse()
    say(f"playing {id} at {server.address(host, port)} (Ctrl-C to end)")
    server.serve(session, folder, host, port, show)
