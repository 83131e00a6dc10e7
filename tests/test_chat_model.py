"""The example for chat models plays a season with a local stub of a server."""

from __future__ import annotations

import urllib.request

import pytest

from harvestgym.text import TextGame
from tests.chat_stub import serve_chat
from tests.load_script import script

ANSWERS = ["I will water.\n\nwater 20 L\ndone", "water 7 L\ndone", "wait 200 days", "wait 200 days"]


def test_a_chat_model_plays_a_season() -> None:
    answers = iter(ANSWERS)
    with serve_chat(lambda messages: next(answers)) as stub:
        play = script("examples/chat_model.py").play
        result = play(stub.url, "stub", TextGame("farm/bean-1x1-v0"), seed=3)
    assert result["turns"] == len(stub.requests) and result["mistakes"] == 1
    assert result["completion_tokens"] == 5 * result["turns"]
    assert "has not ended" in stub.requests[2]["messages"][-1]["content"]


def test_a_server_that_cannot_be_reached_ends_with_a_sentence() -> None:
    send = script("examples/chat_model.py").send
    with pytest.raises(SystemExit, match="http://127.0.0.1:9/v1: .*refused"):
        send(urllib.request.Request("http://127.0.0.1:9/v1", b"{}"), waits=(0, 0, 0))


def test_a_busy_server_is_asked_again() -> None:
    send, calls = script("examples/chat_model.py").send, []

    def answer(messages: list[dict[str, str]]) -> str:
        calls.append(messages)
        if len(calls) < 3:
            raise ConnectionError  # the stub then closes the connection
        return "done"

    with serve_chat(answer) as stub:
        body = b'{"messages": []}'
        answered = send(urllib.request.Request(f"{stub.url}/chat/completions", body), waits=(0, 0, 0))
    assert answered["choices"][0]["message"]["content"] == "done" and len(calls) == 3
