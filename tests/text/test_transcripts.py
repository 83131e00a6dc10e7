"""Golden transcripts: the words of three games; `python -m tests.text.test_transcripts` writes them again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from harvestgym.text import TextGame

FOLDER = Path(__file__).parent.parent / "golden" / "text"

GAMES = {
    "farm/full-1x1-v0": (
        "water 20 L\ndone", "wait 30 days until weeds > 2", "remove weeds\nput scarecrow\ndone", "watr 9 L\ndone",
        "look", "wait 100 days until stage is ripe", "done", "harvest\ndone",
    ),
    "fishing/three-species-v0": ("help", "quota 0.02 0.01\ndone", "wait 5 years", "quota 5 %\ndone", "done"),
    "forager/two-biome-v0": ("north 3\ndone", "west 2\neast 1\ndone", "fly", "look"),
}  # fmt: skip
"""The messages of each game, all with seed 4."""

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def locate(id: str) -> Path:
    """Return the file of a game."""
    return FOLDER / f"{id.replace('/', '-')}.txt"


def play(id: str) -> str:
    """Return what is said in a game."""
    game = TextGame(id)
    game.reset(4)
    for message in GAMES[id]:
        game.step(message)
    return "\n".join(f"[{said.sender}, step {said.step}]\n{said.text}\n" for said in game.list_transcript())


@pytest.mark.parametrize("id", GAMES)
def test_the_words_of_a_game_are_what_they_were(id: str) -> None:
    then, now = locate(id).read_text(encoding="utf-8"), play(id)
    assert NUMBER.sub("N", now).splitlines() == NUMBER.sub("N", then).splitlines()
    numbers = (np.asarray(NUMBER.findall(text), float) for text in (now, then))
    np.testing.assert_allclose(*numbers, rtol=0.02, atol=1e-4)


def test_a_page_shows_the_messages_at_their_steps(tmp_path: Path) -> None:
    game = TextGame("fishing/logistic-v0")
    game.reset(1)
    game.step("I fish little.\nquota 0.05\ndone")
    game.step("wait 3 years")
    game.write_page(tmp_path / "game.html")
    page = (tmp_path / "game.html").read_text(encoding="utf-8")
    assert '[0,"player","I fish little.\\nquota 0.05\\ndone"]' in page and '[4,"game","Year 4 of 100.' in page


if __name__ == "__main__":
    for name in GAMES:
        locate(name).write_text(play(name), encoding="utf-8")
