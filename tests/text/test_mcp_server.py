"""The MCP server, played by the SDK's own client over standard input and HTTP; both versions of the SDK."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, closing
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

import mcp
from mcp import StdioServerParameters

from tests.long_form import long

TWO = hasattr(mcp, "Client")
"""True for version 2 of the SDK, which has another client."""

FISHERY = "fishing/logistic-v0"
COMMAND = ["-m", "harvestgym", "serve", "mcp", FISHERY]
Call = Callable[..., Awaitable[tuple[bool, str]]]


def play_over(target: Any, game: Callable[[Call], Awaitable[None]]) -> None:
    """Connect to a server, given by its address or command, and play a game with `call(tool, **arguments)`."""

    async def connect() -> None:
        async with AsyncExitStack() as stack:
            client = await _open(stack, target)

            async def call(tool: str, /, **arguments: Any) -> tuple[bool, str]:
                found: Any = await client.call_tool(tool, arguments)
                wrong = found.is_error if TWO else found.isError
                return wrong, "\n".join(part.text for part in found.content)

            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"list_games", "new_game", "look", "act", "wait", "score"}
            await game(call)

    asyncio.run(connect())


async def _open(stack: AsyncExitStack, target: Any) -> Any:
    """Return a client of either version of the SDK."""
    if TWO:
        client: Any = vars(mcp)["Client"]
        return await stack.enter_async_context(client(target))
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    opened = streamable_http_client(target) if isinstance(target, str) else stdio_client(target)
    read, write, *_ = await stack.enter_async_context(opened)
    session = await stack.enter_async_context(mcp.ClientSession(read, write))
    await session.initialize()
    return session


async def season(call: Call) -> None:
    """Play a short game, with mistakes."""
    wrong, text = await call("list_games")
    assert not wrong and json.loads(text)["id"] == FISHERY and "a constant stock" in text and '"test": ' in text
    wrong, text = await call("new_game", id=FISHERY, seed=3)
    assert not wrong and "Orders, one per line:" in text
    key = text.split()[1]
    assert "Year 0 of 100" in (await call("look", game=key))[1]
    wrong, text = await call("act", game=key, orders="quota 0.05\ndone")
    assert not wrong and "Year 1 of 100" in text
    assert "Year 4 of 100" in (await call("wait", game=key, text="3 years"))[1]
    assert "try: quota" in (await call("act", game=key, orders="quota many"))[1]
    assert "Year 4 of 100" in (await call("look", game=key))[1]
    assert '"step": 4' in (await call("score", game=key))[1]
    wrong, text = await call("look", game="another")
    assert wrong and "expected the key of a running game" in text and "Traceback" not in text
    wrong, text = await call("new_game", id="fishing/logistic-v9")
    assert wrong and f"try '{FISHERY}'" in text
    assert (await call("new_game", id=5))[0], "an id is text"
    assert "The game is over." in (await call("wait", game=key, text="200 years"))[1]
    splits = ("test", "test", "train")
    keys = [(await call("new_game", id=FISHERY, seed=1, split=split))[1].split()[1] for split in splits]
    years = [(await call("act", game=key, orders="quota 0\ndone"))[1] for key in keys]
    assert years[0] == years[1] != years[2], "a split has its own seasons"
    await call("wait", game=keys[0], text="200 years")
    assert abs(json.loads((await call("score", game=keys[0]))[1])["score"]) < 0.05
    assert "try 'test'" in (await call("new_game", id=FISHERY, split="tests"))[1]


def test_a_game_over_standard_input() -> None:
    play_over(StdioServerParameters(command=sys.executable, args=COMMAND, env={**os.environ}), season)


@pytest.fixture
def address() -> Iterator[str]:
    """Start a server and yield its address."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, *COMMAND, "--http", "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, server)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        assert server.poll() is None, "the server has ended"
        with closing(socket.socket()) as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not start")


@long
def test_a_game_over_http(address: str) -> None:
    play_over(address, season)
