"""An MCP server of text games, for assistants and agents; needs the extra `mcp`, version 1 or 2 of the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from harvestgym.core.errors import ConfigError, check_extras

from .game import Reply
from .sessions import SIDES, Games
from .tasks import TASKS

check_extras("harvestgym.text.mcp_server", mcp="mcp")

Server: Any
ToolError: Any
try:
    from mcp.server.mcpserver import MCPServer as Server  # pyright: ignore[reportMissingImports]
    from mcp.server.mcpserver.exceptions import ToolError  # pyright: ignore[reportMissingImports]
except ImportError:  # version 1
    from mcp.server.fastmcp import FastMCP as Server  # pyright: ignore
    from mcp.server.fastmcp.exceptions import ToolError  # pyright: ignore[reportMissingImports]

INSTRUCTIONS = """Games on farms, in fisheries and in foraging worlds. Start one with new_game, and read its rules.
Send orders with act; only the line `done` and the tool wait let time pass."""


def _as_tool(function: Callable[..., Any]) -> Any:
    """Return a tool that runs in a thread, so that no client waits for another, and whose errors the client reads."""

    @wraps(function)
    async def tool(**arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(partial(function, **arguments))
        except ConfigError as error:
            raise ToolError(str(error)) from None

    return tool


def make_server(games: Games) -> Any:
    """Make the MCP server of games with and without splits; `.run("stdio")` serves it. See `serve_mcp` for HTTP."""

    def list_games() -> list[dict[str, Any]]:
        """List the ids that can be played, what a player must do well, and the number of seasons of each split."""
        tests = {task.id: task.tests for task in TASKS}
        seasons = {id: {side: len(games.list_seeds(id, side)) for side in SIDES} for id in games.ids}
        return [{"id": id, "tests": tests.get(id, ""), "seasons": seasons[id]} for id in games.ids]

    def new_game(id: str, seed: int = 0, split: str = "") -> str:
        """Start a game of an id; return its key, which the other tools need, the rules and the first observation.

        With the split `test` or `train`, the seed is the number of a held-out or a training season; without one, it is
        below 2^31. The same id, seed, split and orders give the same game.
        """
        key, text = games.start(id, seed, split)
        return f"game: {key}\n{text}"

    def look(game: str) -> str:
        """Show everything that is known in a game; no time passes."""
        return games.look(game)

    def act(game: str, orders: str) -> str:
        """Send orders to a game, one per line. The line `done` carries them out and ends the day, year or step."""
        return _write(games.send(game, orders))

    def wait(game: str, text: str) -> str:
        """Let time pass in a game, for example `7 days`, or `14 days until weeds > 5 or any news`."""
        return _write(games.send(game, f"wait {' '.join(text.split()).removeprefix('wait ')}"))

    def score(game: str) -> str:
        """Show the points of a game so far, and at its end the score: 0 for doing nothing, 1 for the best policy."""
        return json.dumps(games.score(game))

    server = Server("harvestgym", instructions=INSTRUCTIONS, log_level="WARNING")
    tools: tuple[Callable[..., Any], ...] = (list_games, new_game, look, act, wait, score)
    for tool in tools:
        server.tool()(_as_tool(tool))
    return server


def _write(reply: Reply) -> str:
    return reply.text + "\nThe game is over." * reply.done


def serve_mcp(games: Games, port: int | None = None, host: str = "127.0.0.1") -> None:
    """Serve games until the process ends: on standard input and output or, with a port, at `http://HOST:PORT/mcp`."""
    server = make_server(games)
    if port is None:
        server.run("stdio")
    elif Server.__name__ == "MCPServer":
        server.run("streamable-http", host=host, port=port)
    else:
        server.settings.host, server.settings.port = host, port
        server.run("streamable-http")
