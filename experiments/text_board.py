"""The text board: players of the twelve tasks in held-out seasons; results/text-board.json and a table in docs/text.md.

python -m experiments.text_board model URL MODEL    # a chat model with an OpenAI-compatible address
python -m experiments.text_board expert             # the player of `experiments.text_expert`, which reads only text
python -m experiments.text_board page               # write the table

A score is the mean over `--seasons` seasons on the scale of the task, from 0 to 1. In the commons, a player has all
five seats; each seat is a separate conversation. Mistakes and tokens are sums per season. An interrupted run
continues at the next task, and `--ids` plays some of them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import partial
from typing import Any

import numpy as np

from experiments.test_side import LOG, RESULTS, log_opening
from experiments.text_expert import play_expert
from harvestgym.core.view.tables import Table
from harvestgym.text import COMMONS, TASKS, TextCommons, TextGame
from tests.load_script import script
from tools.docs_blocks import body, put

chat_model = script("examples/chat_model.py")

OUT, BLIND = RESULTS / "text-board.json", RESULTS / "text-tasks.json"

COMMONS_ID = "fishing/commons-v0"

STOCK = 0.64
"""The stock that the prudent fleets of the scripted player leave, as the social optimum does."""

Counts = dict[str, int]


def play_commons(game: TextCommons, answer: Callable[[str, str], str]) -> Counts:
    """Play a season; `answer(fleet, text)` returns the messages of a fleet. Return the counts of mistakes."""
    shown, mistakes = game.reset(), 0
    while not game.session.over:
        replies = game.step({fleet: answer(fleet, text) for fleet, text in shown.items()})
        mistakes += sum(len(reply.info["mistakes"]) for reply in replies.values())
        shown = {fleet: reply.text for fleet, reply in replies.items()}
    return {"mistakes": mistakes}


def answer_prudently(fleet: str, text: str) -> str:
    """Ask for a fifth of what the survey shows above the stock to leave."""
    survey = re.search(r"stock ([\d.]+)\. ", text)
    assert survey is not None
    return f"quota {max(0.0, float(survey[1]) - STOCK) / 5:.5f}\ndone"


class ChatFleets:
    """Conversations of a chat model, one for each fleet."""

    def __init__(self, url: str, model: str) -> None:
        self._start = partial(chat_model.Conversation, url, model)
        self._fleets: dict[str, Any] = {}

    def __call__(self, fleet: str, text: str) -> str:
        return self._fleets.setdefault(fleet, self._start())(text)

    @property
    def used(self) -> Counts:
        """The tokens of all fleets so far."""
        fleets = [fleet.used for fleet in self._fleets.values()]
        return {name: sum(used[name] for used in fleets) for name in fleets[0]}


def play_tasks(
    pattern: str,
    seasons: int,
    play: Callable[[TextGame], Counts],
    answer: Callable[[], Callable[[str, str], str]],
    rows: dict[str, Any],
) -> Iterator[None]:
    """Add the scores and counts of a player to `rows`, task by task; `answer()` is a new player of a commons."""
    for task in TASKS:
        if task.id in rows or not fnmatch(task.id, pattern):
            continue
        totals, counts = list[float](), list[Counts]()
        for season in range(seasons):
            game = task.start(season)
            counts.append(play(game))
            totals.append(game.session.total)
        rows[task.id] = {"score": task.scale(float(np.mean(totals)))} | _average(counts)
        print(task.id, rows[task.id], flush=True)
        yield
    if COMMONS_ID in rows or not fnmatch(COMMONS_ID, pattern):
        return
    scores, counts = list[float](), list[Counts]()
    for season in range(seasons):
        commons, player = COMMONS.start(season), answer()
        counts.append(play_commons(commons, player) | getattr(player, "used", {}))
        scores.append(COMMONS.scale(commons))
    rows[COMMONS_ID] = {"score": float(np.mean(scores))} | _average(counts)
    yield


def _average(counts: list[Counts]) -> dict[str, float]:
    return {name: float(np.mean([count[name] for count in counts])) for name in counts[0]}


def play_script(game: TextGame) -> Counts:
    """Play the expert's orders from the text of a season."""
    return {"mistakes": play_expert(game, game.session.seed)[0]["mistakes"]}


def play_model(url: str, model: str, game: TextGame) -> Counts:
    """Let a chat model play a season."""
    result = chat_model.play(url, model, game, game.session.seed)
    return {name: result[name] for name in ("turns", "mistakes", "prompt_tokens", "completion_tokens")}


def make_table() -> Table:
    """Return the table of the docs: a row for each task, a column for each player."""
    board, blind = (json.loads(path.read_text(encoding="utf-8")) for path in (OUT, BLIND))
    players = {name: player["tasks"] for name, player in board.items()}
    tests = {task.id: task.tests for task in TASKS} | {COMMONS_ID: COMMONS.tests}
    rows = [
        (f"`{row['id']}`", tests[row["id"]], f"{row['not observing']:.2f}",
         *(f"{tasks[row['id']]['score']:.2f}" if row["id"] in tasks else "" for tasks in players.values()))
        for row in blind
    ]  # fmt: skip
    return Table("Text board", ("task", "what it tests", "not observing", *players), rows)


def main() -> None:
    """Play the tasks, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("player", choices=["model", "expert", "page"])
    parser.add_argument("address", nargs="*", help="for a model: the server's address, up to /v1, and the model's name")
    parser.add_argument("--seasons", type=int, default=5)
    parser.add_argument("--ids", default="*", help="a pattern of the tasks to play, such as 'fishing/*'")
    args = parser.parse_args()
    if args.player == "page":
        put("text.md", "board", body(make_table())[2:])
        return
    log_opening(f"text board: {args.player}", [task.id for task in TASKS], RESULTS / LOG.name)
    if args.player == "expert":
        name, play, answer = "expert, from text", play_script, lambda: answer_prudently
    else:
        url, name = args.address
        answer = partial(ChatFleets, url, name)
        play = partial(play_model, url, name)
    board = json.loads(OUT.read_text(encoding="utf-8")) if OUT.is_file() else {}
    if board.get(name, {}).get("seasons") != args.seasons or len(board[name]["tasks"]) > len(TASKS):
        board[name] = {"seasons": args.seasons, "tasks": {}}
    for _ in play_tasks(args.ids, args.seasons, play, answer, board[name]["tasks"]):
        OUT.write_text(json.dumps(board, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
