"""The text board: a chat model has all seats of a commons, and each seat is a conversation of its own."""

from __future__ import annotations

import json

from experiments.text_board import BLIND, COMMONS_ID, OUT, ChatFleets, answer_prudently, play_commons
from harvestgym.fishing.family import make_commons
from harvestgym.text import TASKS, TextCommons
from tests.chat_stub import serve_chat


def test_a_chat_model_has_the_seats_of_a_commons() -> None:
    game = TextCommons(make_commons(2, Tmax=3))
    game.reset(1)
    with serve_chat(lambda messages: "say hello\nquota 0.02\ndone") as stub:
        player = ChatFleets(stub.url, "stub")
        assert play_commons(game, player) == {"mistakes": 0}
    assert game.session.steps == 3 and player.used["completion_tokens"] > 0
    seats = [request["messages"][1]["content"] for request in stub.requests]
    assert [text.startswith("You are fleet_0") for text in seats] == [True, False] * 3
    assert 'fleet_1 says: "hello"' in stub.requests[2]["messages"][-1]["content"]


def test_a_prudent_fleet_reads_the_survey() -> None:
    assert answer_prudently("fleet_0", "Year 3 of 100. Survey: stock 0.74. Points 0.1.") == "quota 0.02000\ndone"
    assert answer_prudently("fleet_0", "Year 3 of 100. Survey: stock 0.5. Points 0.1.") == "quota 0.00000\ndone"


def test_the_files_have_a_row_for_each_task() -> None:
    ids = [task.id for task in TASKS] + [COMMONS_ID]
    assert [row["id"] for row in json.loads(BLIND.read_text(encoding="utf-8"))] == ids
    assert all(set(player["tasks"]) <= set(ids) for player in json.loads(OUT.read_text(encoding="utf-8")).values())
