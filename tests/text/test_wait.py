"""Waiting in a text game: numbers of steps, conditions, and what is said about mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.text import TextGame
from harvestgym.text.wait import parse_wait

FARM = "farm/full-1x1-v0"


@pytest.fixture(scope="module")
def games() -> dict[str, TextGame]:
    return {FARM: TextGame(FARM)}


def test_waiting_ends_with_a_condition(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    game.reset(3)
    reply = game.step("wait 60 days until weeds > 0")
    passed = reply.info["passed"]
    assert f"Stopped waiting after {passed} days: weeds > 0" in reply.text and 1 < passed < 60
    assert game.view.list_quantities()["weeds"].values.max() > 0
    assert game.step("wait 2").info["passed"] == 2


@pytest.mark.parametrize(
    ("text", "answer"),
    [("", "a number of days or a condition"), ("forever", "got 'forever'"), ("until wather < 3", "try 'water'"),
     ("until water", ""), ("0 days", "try wait 1"), ("500 days", "try wait 400"), ("a", "got 'a'"),
     ("2 months", "a number of days"), ("until stage is rip", "try 'ripe'"), ("until water and", "a condition on"),
     ("until water and weeds or pests", "conditions with `and`"), ("until weeds, pests and water", "with `and`"),
     ("until weeds and any news", "with `and`"),
     ("until water < nan", "a condition on"), ("until today", "temperature < "),
     ("twenty five three days", "a number of days")],
)  # fmt: skip
def test_waiting_explains_mistakes(games: dict[str, TextGame], text: str, answer: str) -> None:
    quantities = games[FARM].view.list_quantities()
    if not answer:
        assert parse_wait(text, "day", quantities).conditions
        return
    with pytest.raises(ConfigError) as error:
        parse_wait(text, "day", quantities)
    assert answer in str(error.value)


@pytest.mark.parametrize(
    ("text", "steps"),
    [("three days", 3), ("2 weeks", 14), ("a week", 7), ("for twenty-five days", 25), ("up to twenty one days", 21),
     ("14 days or until weeds > 2", 14), ("until weeds > two", 30), ("a day", 1), ("5", 5)],
)  # fmt: skip
def test_numbers_of_days_are_understood(games: dict[str, TextGame], text: str, steps: int) -> None:
    wait = parse_wait(text, "day", games[FARM].view.list_quantities())
    assert wait.steps == steps and all(one.limit == 2.0 for one in wait.conditions)


def test_conditions_with_and_hold_in_the_same_step(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    game.reset(3)
    first, second = "weeds > 0", "temperature > 15"
    reply = game.step(f"wait 60 days until {first} and {second}")
    assert f"days: {first} and {second}" in reply.text and 0 < (both := reply.info["passed"]) < 60
    game.reset(3)
    held = []
    for _ in range(both):
        game.step("done")
        known = game.view.list_quantities()
        held.append(known["weeds"].values.max() > 0 and known["temperature"].values.max() > 15)
    assert held == [False] * (both - 1) + [True]


def test_limits_are_compared_as_written(games: dict[str, TextGame]) -> None:
    three = {"weeds": games[FARM].view.list_quantities()["weeds"]._replace(values=np.asarray([[3.0, np.nan]]))}
    signs = ("<", "<=", ">", ">=", "is", "=", "==", "below", "above")
    held = [sign for sign in signs if parse_wait(f"until weeds {sign} 3", "day", three).find_reason(three)]
    assert held == ["<=", ">=", "is", "=", "=="]


def test_a_wait_without_a_number_is_limited(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    assert "without N, at most 30 days" in game.reset(3)
    reply = game.step("wait until temperature > 90")
    assert "Stopped waiting after 30 days: no condition holds" in reply.text and reply.info["passed"] == 30
