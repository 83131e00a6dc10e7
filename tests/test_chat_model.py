"""The example for chat models plays a season with a local stub of a server."""

from __future__ import annotations

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
