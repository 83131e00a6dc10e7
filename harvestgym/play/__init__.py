"""A person in the place of the policy: episodes in the hands of a farmer, a fisher or a forager, and a page for them.

The sessions know nothing of the web; `web` alone imports the library that serves the page (extra `web`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from harvestgym.core.errors import ConfigError


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
    """Serve the page of an id until the process is ended; `say` is told where it is.

    Args:
        id: a registered id, or the path of a farm file.
        host, port: where; port 0 is any that is free.
        seed: of the episode that a tab begins with.
        horizon: days, years or steps of an episode, if not the id's own.
        folder: for episodes that are kept.
        show: whether to open a browser.

    Raises:
        ConfigError: unknown id, a port that is taken, a folder that is none, or the extra `web` is missing.
    """
    if find_spec("nicegui") is None:
        raise ConfigError("the page needs pip install 'harvestgym[web]'")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"wanted a folder for episodes, found the file {folder}")
    from .sessions import start
    from .web import server

    port = server.port_at(host, port)
    session = start(id, seed, horizon)
    say(f"preparing {id} …")
    session.rehearse()
    say(f"playing {id} at {server.address(host, port)} (Ctrl-C to end)")
    server.serve(session, folder, host, port, show)
