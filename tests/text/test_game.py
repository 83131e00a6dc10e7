"""Games in text: only done and wait let time pass, mistakes change nothing, and nothing unknown is said."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from harvestgym.play.start_session import start_session
from harvestgym.text import TextGame
from harvestgym.text.phrases import list_lines
from tests.long_form import ALL, long

FARM, PAID, FISHERY, FORAGER = (
    "farm/full-1x1-v0", "farm/paid-looks-1x1-v0", "fishing/logistic-survey-v0", "forager/two-biome-v0",
)  # fmt: skip


@pytest.fixture(scope="module")
def games() -> dict[str, TextGame]:
    return {id: TextGame(id) for id in (FARM, PAID, FISHERY, FORAGER)}


def state_of(game: TextGame) -> Any:
    return game.session.steps, game.session.total, game.view.list_queued(), game.to_json()


def test_a_season_in_text_equals_the_same_season_in_gymnasium(games: dict[str, TextGame]) -> None:
    import gymnasium

    game = games[FARM]
    game.reset(3)
    replies = [game.step("water 20 L\ndone"), game.step("wait 3 days"), game.step("remove weeds\ndone")]
    env = gymnasium.make(FARM)
    env.reset(seed=3)
    table = game.session.env.actions
    numbers = {"water": table.numbers(table.rows[0])[2], "weeds": table.numbers(table.rows[5])[0]}
    steps = [env.step(action) for action in (numbers["water"], 0, 0, 0, numbers["weeds"])]
    assert sum(reply.reward for reply in replies) == pytest.approx(sum(float(step[1]) for step in steps), abs=1e-6)
    np.testing.assert_array_equal(game.session.obs, steps[-1][0])
    assert [reply.info["passed"] for reply in replies] == [1, 3, 1]


def test_only_done_and_wait_let_time_pass_and_a_mistake_holds_them(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    game.reset(0)
    assert game.step("water 20 L").info == {
        "step": 0, "return": 0.0, "passed": 0, "queued": ["water 20 L at (0, 0)"], "mistakes": [], "ignored": []
    }  # fmt: skip
    held = game.step("clear\nwater 7 L\ndone")
    assert "expected 5 L, 10 L or 20 L, got 7" in held.text and "has not ended" in held.text
    assert (held.info["passed"], held.info["mistakes"]) == (0, ["water 7 L"])
    assert game.step("done").info["passed"] == 1


def test_prose_and_fences_around_orders_are_ignored(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    game.reset(0)
    reply = game.step("The soil is dry, so I will act.\n\n1. water 10 L\n- **done**")
    assert reply.info["passed"] == 1 and not reply.info["mistakes"]
    assert list_lines("I think:\n```\nwater 20 L\n```\nThen wait 5.") == ["water 20 L"]
    assert game.step("The soil is dry, so I will water tomorrow.\ndone").info["passed"] == 1
    thought = game.step("<think>water 5 L\ndone</think>\nwater 20 L")
    assert thought.info["queued"] == ["water 20 L at (0, 0)"]
    for slip in ("action: water 20 L", "I water 20 L", "20 L water"):
        held = game.step(f"{slip}\ndone")
        assert held.info["passed"] == 0 and held.info["mistakes"] == [slip] and "start of the line" in held.text
    reply = game.step("I do not know.")
    assert reply.info["passed"] == 0 and "Not understood; try" in reply.text


@pytest.mark.parametrize("slip", ["sow bean", "stop fishing", "till the soil", "prune vines", "Let's harvest more"])
def test_a_short_line_that_is_no_sentence_holds_the_year(games: dict[str, TextGame], slip: str) -> None:
    game = games[FISHERY]
    game.reset(0)
    held = game.step(f"{slip}\ndone")
    assert (held.info["passed"], held.info["mistakes"]) == (0, [slip]) and "full stop" in held.text
    assert game.step(f"{slip}; done").info["passed"] == 0


SIGNED = [
    "-1", "-0.5", "- 0.5", "quota - 0.5", "quota -(0.5)", "quota: -0.5", "-.5!", "-1e-2",
    "\u22120.5", "\u2013 0.5", "quota \u22120.5", "quota \u2014 0.5",
    "1. -0.5", "* -0.5", "- -0.5", "--0.5", "**-0.5**", "- **0.5**", "-`0.5`", "-+0.5", "quota -$0.5", "- 5 %",
    "-one", "quota minus 0.5",
    "0.05-0.1", "quota 0.05\u20130.1", "- 0.5\n- done", "quota 0.05; -0.5",
]  # fmt: skip


@pytest.mark.parametrize("message", SIGNED)
def test_a_dash_before_a_number_is_a_sign(games: dict[str, TextGame], message: str) -> None:
    game = games[FISHERY]
    game.reset(0)
    reply = game.step(f"{message}\ndone")
    assert reply.info["passed"] == 0 and len(reply.info["mistakes"]) == 1


@pytest.mark.parametrize("mark", ["- ", "-", "* ", "+ ", "\u2013 ", "\u2212 ", "\u2022 ", "1. ", "2) ", "- **"])
def test_list_marks_before_orders_are_left_out(games: dict[str, TextGame], mark: str) -> None:
    assert games[FISHERY].step(f"{mark}quota 0.05").info["queued"] == ["quota 0.05"]
    assert games[FARM].step(f"clear\n{mark}water 10 L").info["queued"] == ["water 10 L at (0, 0)"]


@pytest.mark.parametrize("line", ["water - 10 L", "water \u221210 L", "- 10 L", "wait -3 days", "wait - 3 days"])
def test_a_farm_has_no_negative_amounts(games: dict[str, TextGame], line: str) -> None:
    reply = games[FARM].step(f"clear\n{line}")
    assert reply.info["passed"] == 0 and reply.info["mistakes"] and not reply.info["queued"]
    assert games[FORAGER].step("north - 3").info["mistakes"] == ["north - 3"]


@pytest.mark.parametrize(
    "message",
    ["I want half.\nquota 1\ndone\n</think>\n{}", "<thinking>quota 1\ndone</thinking>\n{}",
     "<THINK>\nquota 1\ndone\n</Think>{}", "quota 1\n</think>\nquota 1.5\n</thinking>\n{}", "[THINK]quota 1[/THINK]{}",
     "<think>so <think>and</think>\nquota 1\ndone</think>\n{}", "{}\n<think>\nquota 1\ndone",
     "<think>a</think>\n{}\n<think>quota 1\ndone</think>", "```\nquota 1\n```\n</ think >\n```\n{}\n```"],
)  # fmt: skip
def test_thoughts_are_not_carried_out(games: dict[str, TextGame], message: str) -> None:
    game = games[FISHERY]
    game.reset(0)
    reply = game.step(message.format("quota 0.02"))
    assert reply.info["queued"] == ["quota 0.02"] and not reply.info["mistakes"] and reply.info["passed"] == 0


def test_ignored_lines_are_listed(games: dict[str, TextGame]) -> None:
    game = games[FISHERY]
    game.reset(0)
    message = (
        "## Plan\n\n**Decision:**\n- The stock is low.\n- I want to let the stock grow to half\n---\nA.\n**.05**\ndone!"
    )
    reply = game.step(message)
    said = ["Decision:", "The stock is low", "I want to let the stock grow to half", "A"]
    assert reply.info["ignored"] == said and reply.info["passed"] == 1 and not reply.info["mistakes"]
    assert "Ignored: 'Decision:', 'The stock is low', " in reply.text
    assert "quota 0.05 is kept" in reply.text


def test_long_lines_and_messages_are_not_dropped_in_silence(games: dict[str, TextGame]) -> None:
    game = games[FISHERY]
    game.reset(0)
    held = game.step(f"quota {'0' * 2000}\ndone")
    assert held.info["passed"] == 0 and "expected at most 2000 characters, got 2006" in held.text
    assert game.step(f"{'The stock is low. ' * 200}\ndone").info["passed"] == 1
    helped = game.step("help\n" * 1900)
    assert helped.text.count("Commands:") == 1 and "Only the first 200 lines" in helped.text


@pytest.mark.parametrize(
    ("line", "answer"),
    [("done 5", "done: expected nothing else on the line, or wait N years for several, got '5'"),
     ("done for the next five years", "or wait N years"), ("done -1", "got '-1'"), ("done nan", "got 'nan'"),
     ("wait 3 years until", "a number of years or a condition"), ("quota 0_1", "got '0_1'"),
     ("observe", "observe: expected an order, got a request"), ("x" * 100_000, "expected at most 2000 characters")],
)  # fmt: skip
def test_a_line_that_says_more_or_less_than_an_order_is_refused(
    games: dict[str, TextGame], line: str, answer: str
) -> None:
    game = games[FISHERY]
    game.reset(0)
    reply = game.step(line)
    assert answer in reply.text and reply.info["passed"] == 0 and len(reply.text) < 400
    assert game.step("quota -0.0").info["queued"] == ["quota 0"]
    assert game.step("done \u2713").info["passed"] == 1


@pytest.mark.parametrize("message", [5, None, ["done"]])
def test_a_message_is_text(games: dict[str, TextGame], message: Any) -> None:
    with pytest.raises(TypeError, match="step: expected a message in text, got"):
        games[FISHERY].step(message)


def test_an_order_without_effect_is_reported_after_a_wait_too(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    for end in ("done", "wait 5"):
        game.reset(3)
        assert "day 0, 25 April: harvest bean: cost 0, nothing was ripe, no effect" in game.step(f"harvest\n{end}").text
    assert "no effect" not in game.step("done").text


def test_rules_name_the_scale_of_water_and_the_stocks(games: dict[str, TextGame]) -> None:
    rules = games[FARM].rules()
    assert re.search(r"Water of a plot in Field-0: \d+ L, at which plants wilt, to \d+ L at field capacity\.", rules)
    assert "until water < " in rules and "water < 100 or" not in rules
    fishery = TextGame("fishing/three-species-v0")
    assert (
        "AMOUNT1: first prey, AMOUNT2: second prey; not fished: predator; the episode ends early if any gets too low."
        in fishery.reset(0)
    )
    assert "try: quota 0.05 0.05" in fishery.step("quota 0.05").text


def test_a_quota_is_no_effort_and_percentages_are_of_the_survey() -> None:
    """Words of other fisheries are refused, hints are a few per cent of the stock, and large numbers are in full."""
    game = TextGame("fishing/us-stock-v0")
    survey = float(re.search(r"Survey: stock (\d+) t\.", game.reset(0))[1])  # type: ignore[index]
    for slip in ("effort 0.3", "rate 0.1", "add 5", "quota msy", "take 120 %"):
        reply = game.step(slip)
        hint = float(re.search(r"try: quota (\d+)", reply.text)[1])  # type: ignore[index]
        assert not reply.info["queued"] and hint == pytest.approx(0.05 * survey, rel=0.06)
    assert "from 0 to 300294 t" in game.rules() or "from 0 to 300300 t" in game.rules()
    assert game.step("quota 3000 t").info["queued"] == ["quota 3000"]
    for order in ("take 20 %", "quota 20 percent"):
        (queued,) = game.step(order).info["queued"]
        assert float(queued.split()[1]) == pytest.approx(0.2 * survey, rel=1e-3)


def test_a_rate_is_a_share_or_in_per_cent() -> None:
    game = TextGame("fishing/us-stocks-v0")
    assert "from 0 to 1, or 0 % to 100 %; it is kept" in game.reset(0)
    for refused in ("take 5", "take 100.0000001 %", "-0.1"):
        assert "from 0 to 1, or 0 % to 100 % of the stock, got" in game.step(refused).text
    assert game.step("take 5 %").info["queued"] == ["take 0.05"] and game.step("1").info["queued"] == ["take 1"]


def test_tonnes_have_no_exponents() -> None:
    """Neither the points of a year nor the example of a condition is written as 1.3e+03."""
    tonnes = start_session("fishing/logistic-v0", 0, 2, {"K": 10_000})
    game = TextGame("fishing/logistic-v0", session=tonnes)
    answers = [game.reset(0), game.step("quota 1300\ndone").text, game.step("done").text]
    assert "Points 1300. Change +1300." in answers[1] and "The episode has ended with" in answers[2]
    assert not re.search(r"\de\+\d", "".join([*answers, game.rules()]))


@pytest.mark.parametrize("id", [FARM, PAID, FISHERY])
def test_text_depends_only_on_what_was_observed(games: dict[str, TextGame], id: str) -> None:
    """Hidden numbers in the record are replaced; the words stay the same."""
    game = games[id]
    game.reset(1)
    game.step("done")
    buffers = game.session.record  # views of the arrays that the session keeps
    before = (game.view.describe(), game.view.look(), game.to_json())
    for name, rows in buffers.items():
        seen = buffers.get(f"seen/{name}")
        if seen is not None:
            rows[~seen] = 3
        elif name.startswith("Field-") or name in ("stock", "biomass", "shock"):
            rows[:] = 3
    vars(game.session).pop("known", None)
    assert (game.view.describe(), game.view.look(), game.to_json()) == before


def test_what_is_drawn_for_a_season_and_observed_is_said() -> None:
    game = TextGame("farm/contexts-1x1-v0")
    for seed in (3, 4, 5):
        text = game.reset(seed)
        env = game.session.env
        drawn = dict(zip(env.contexts.features, game.session.obs[-len(env.contexts.features) :], strict=True))
        said = game.to_json()["known"]
        assert drawn[f"Field-0/{said['site']}"] == drawn[f"Field-0/Soil-0/{said['soil']}"] == 1.0
        assert f"site {said['site']}, soil {said['soil']}." in text and "depth" not in text.splitlines()[-3]


def test_paid_observations_are_bought_once_a_day(games: dict[str, TextGame]) -> None:
    game = games[PAID]
    first = game.reset(0)
    assert "water" not in first.splitlines()[-1]
    bought = game.step("observe water, stage")
    assert bought.reward == pytest.approx(-0.006) and "water 1" in bought.text
    assert "expected one request per day" in game.step("observe water").text
    assert "try 'stage'" in game.step("observe stagg").text
    assert "(1 days ago)" in game.step("done").text
    assert "not done" in game.step("wait 5 until water < 80").text.lower()  # it would stay as it was


@pytest.mark.parametrize(
    ("line", "queued"),
    [("water twenty litres", ["water 20 L at (0, 0)"]), ("Water Ten L", ["water 10 L at (0, 0)"]),
     ("water two hundred litres", []), ("water twenty five litres", []), ("water ten and a half litres", []),
     ("water five or ten litres", [])],
)  # fmt: skip
def test_numbers_in_words_are_amounts(games: dict[str, TextGame], line: str, queued: list[str]) -> None:
    game = games[FARM]
    game.reset(3)
    reply = game.step(line)
    assert reply.info["queued"] == queued and bool(reply.info["mistakes"]) == (not queued)


def test_a_quota_is_kept_and_must_be_in_range(games: dict[str, TextGame]) -> None:
    game = games[FISHERY]
    game.reset(0)
    assert game.step("set quota to 0.05\ndone").info["passed"] == 1
    assert "quota 0.05 is kept" in game.step("done").text
    refused = game.step("5\ndone")
    assert (
        "expected 1 number from 0 to 2, or 0 % to 100 % of the stock, got 5" in refused.text
        and refused.info["passed"] == 0
    )
    assert game.step("0.1").info["queued"] == ["quota 0.1"]


def test_a_forager_walks_to_what_it_sees(games: dict[str, TextGame]) -> None:
    game = games[FORAGER]
    game.reset(3)
    place = game.view.list_facts()["in view"][0]
    moves = [f"{'east' if place['east'] > 0 else 'west'} {abs(place['east'])}"] * bool(place["east"])
    moves += [f"{'north' if place['north'] > 0 else 'south'} {abs(place['north'])}"] * bool(place["north"])
    reply = game.step("\n".join([*moves, "done"]))
    assert reply.reward != 0 and f"{reply.reward:+.3g}" in reply.text
    assert "expected a move" in game.step("done").text


def test_the_same_seed_and_messages_give_the_same_game(games: dict[str, TextGame]) -> None:
    game = games[FARM]
    game.reset(5)
    for message in ("water 20 L\ndone", "wait 4", "nonsense"):
        game.step(message)
    again = game.replay(5, game.messages)
    assert again.to_json() == game.to_json() and again.session.total == game.session.total


WORDS = [
    "water", "20", "L", "at", "(0,0)", "all", "harvest", "done?", "quota", "-5", "1e9", "nan", "\U0001f33d", "\x00",
    "observe", "wait", "until", "<", "in", "by", "```", "; DROP TABLE", "help", "[[1]]", "%", "north", "é" * 50,
]  # fmt: skip


@pytest.mark.parametrize("id", [FARM, PAID, FISHERY, FORAGER])
def test_arbitrary_messages_get_an_answer_and_change_nothing(games: dict[str, TextGame], id: str) -> None:
    game, chance = games[id], random.Random(0)
    game.reset(0)
    for _ in range(1250 if ALL else 100):
        line = " ".join(chance.choices(WORDS, k=chance.randint(1, 8)))
        before = state_of(game)
        reply = game.step(line)
        assert reply.text
        if reply.info["mistakes"] and len(list_lines(line)) <= 1:
            assert state_of(game) == before, line
        if reply.info["queued"]:
            game.step("clear")
        if reply.done:
            game.reset(0)


@long
@pytest.mark.parametrize("id", ["farm/full-3x4-v0", "fishing/three-species-v0"])
def test_a_player_that_reads_only_text_plays_as_the_expert(id: str) -> None:
    from experiments.text_expert import play_expert

    row, _ = play_expert(TextGame(id), 4)
    assert row["same orders"] == 1.0 and row["mistakes"] == 0
