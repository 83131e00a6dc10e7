"""Commands that serve text games to language models."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from .console import Allow, Host

if TYPE_CHECKING:
    from harvestgym.text.sessions import Games

group = typer.Typer(no_args_is_help=True, help="Serve text games to language models.")

Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="ids from `harvestgym list`, or paths of farm files")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="port")]
Most = Annotated[int, typer.Option(min=1, help="maximum number of games at the same time")]
Idle = Annotated[float, typer.Option(min=1, help="seconds after which an unused game may be removed")]


@group.command()
def mcp(
    ids: Ids,
    http: Annotated[bool, typer.Option("--http", help="serve HTTP instead of standard input and output")] = False,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    most: Most = 200,
    idle: Idle = 600.0,
    allow: Allow = None,
) -> None:
    """Serve games as tools of the Model Context Protocol (MCP), for assistants and agents."""
    from harvestgym.text.mcp_server import serve_mcp
    from harvestgym.text.sessions import SIDES

    games = _open(ids, ("", *SIDES), most, idle)
    _say(f"serving MCP at http://{host}:{port}/mcp (Ctrl-C to end)" if http else "serving MCP on standard input")
    serve_mcp(games, port if http else None, host)


@group.command()
def openenv(
    ids: Ids, port: Port = 8000, host: Host = "127.0.0.1", most: Most = 200, idle: Idle = 600.0, allow: Allow = None
) -> None:
    """Serve games and their tasks with OpenEnv, for training language models."""
    from harvestgym.text.openenv_server import serve_openenv
    from harvestgym.text.sessions import SIDES

    games = _open(ids, SIDES, most, idle)
    _say(f"serving OpenEnv at http://{host}:{port} (Ctrl-C to end)")
    serve_openenv(games, port, host)


def _open(ids: list[str], sides: tuple[str, ...], most: int, idle: float) -> Games:
    """Return the games of a server; their environments are compiled in a thread, while the server already answers."""
    from harvestgym.text.sessions import Games, Limits

    games = Games(ids, sides, Limits(most, idle))
    Thread(target=games.prepare, args=(_say,)).start()
    return games


def _say(line: str) -> None:
    """Print a line where it does not disturb a protocol on standard output."""
    typer.echo(line, err=True)
