"""A commons in text: a year passes when all fleets are done, talk is heard, and each fleet has its own return."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.family import make_commons, policies
from harvestgym.text import COMMONS, TextCommons
from harvestgym.text.game import Reply

FLEETS = [f"fleet_{i}" for i in range(5)]


@pytest.fixture(scope="module")
def game() -> TextCommons:
    return TextCommons()


def send_all(game: TextCommons, message: str) -> dict[str, Reply]:
    return game.step(dict.fromkeys(game.seats, message))


def test_a_year_passes_when_every_fleet_is_done(game: TextCommons) -> None:
    game.reset(0)
    waiting = game.step({fleet: "quota 0.01\ndone" for fleet in FLEETS[1:]})
    assert game.session.steps == 0 and waiting["fleet_1"].text == "Waiting for the other fleets."
    replies = game.step({"fleet_0": "quota 0.03\ndone"})
    assert [reply.info["passed"] for reply in replies.values()] == [1] * 5
    assert "Caught last year: fleet_0 0.03, fleet_1 0.01, fleet_2 0.01" in replies["fleet_4"].text
    rewards = [replies[fleet].reward for fleet in FLEETS]
    assert rewards[0] > rewards[1] == rewards[4] > 0
    assert sum(rewards) == pytest.approx(game.session.total, abs=1e-5)
    assert f"Points {rewards[1]:.4g}." in replies["fleet_1"].text


def test_a_reset_without_a_seed_starts_the_same_season(game: TextCommons) -> None:
    game.reset(5)
    first = game.reset()
    assert game.session.seed == 5 and first == game.reset(5)


def test_talk_is_heard_by_the_others_only_once(game: TextCommons) -> None:
    game.reset(0)
    replies = game.step({"fleet_2": "say 0.02 each?", "fleet_3": "say: no"})
    assert 'fleet_2 says: "0.02 each?"' in replies["fleet_0"].text
    assert 'fleet_3 says: "no"' in replies["fleet_2"].text and "fleet_2 says" not in replies["fleet_2"].text
    assert "says" not in game.step({})["fleet_0"].text


def test_speech_is_heard_whole_or_holds_the_year(game: TextCommons) -> None:
    game.reset(0)
    long = f"I propose {'that we fish less ' * 20}; quota 0.5; done"
    replies = game.step({"fleet_0": f"- say {long}", "fleet_1": f"say {'x' * 2000}\ndone", "fleet_2": "Hm.\ndone"})
    assert long in replies["fleet_4"].text and "fleet_1 says" not in replies["fleet_4"].text
    assert replies["fleet_0"].info["queued"] == replies["fleet_0"].info["mistakes"] == []
    assert not game.seats["fleet_0"].view.ready and not game.seats["fleet_1"].view.ready
    assert "at most 2000 characters" in replies["fleet_1"].text and replies["fleet_1"].info["mistakes"]
    assert "Ignored: 'Hm'" in replies["fleet_2"].text and replies["fleet_2"].info["ignored"] == ["Hm"]


def test_mistakes_hold_the_year_and_strangers_are_refused(game: TextCommons) -> None:
    game.reset(0)
    held = send_all(game, "quota 5\ndone")
    assert (
        game.session.steps == 0
        and "expected 1 number from 0 to 2, or 0 % to 100 % of the stock, got 5" in held["fleet_3"].text
    )
    with pytest.raises(ConfigError, match="try 'fleet_"):
        game.step({"fleet_l": "done"})
    with pytest.raises(ConfigError, match="try 'greedy'"):
        TextCommons(partners={"fleet_1": "greedi"})


def test_partners_follow_their_policy() -> None:
    """Fleets that all follow the optimum, four by themselves and one by messages, do as its joint policy."""
    env = make_commons()
    game = TextCommons(env, partners=dict.fromkeys(FLEETS[1:], "optimum"))
    game.reset(7)
    policy = policies(env)["optimum"].traced()
    memory, act = policy.init, jax.jit(policy.act)
    while not game.session.over and game.session.steps < 5:
        memory, action = act(memory, game.session.obs, jax.random.key(0))
        reply = game.step({"fleet_0": f"quota {float(env.units.wanted(action)[0]):.7f}\ndone"})["fleet_0"]
        np.testing.assert_allclose(np.ravel(game.session.last["catch"]), float(env.units.wanted(action)[0]), rtol=1e-4)
        assert reply.info["passed"] == 1


def test_a_page_shows_what_every_fleet_said(game: TextCommons, tmp_path: Path) -> None:
    game.reset(0)
    send_all(game, "say 0.02 each?\nquota 0.02\ndone")
    send_all(game, "done")
    game.write_page(tmp_path / "commons.html")
    page = (tmp_path / "commons.html").read_text(encoding="utf-8")
    assert '[0,"fleet_3","say 0.02 each?\\nquota 0.02\\ndone"]' in page
    assert "fishing/commons-v0" in page and page.count("Orders, one per line") == 1
    assert '[0,"game to all","The fleets fleet_0' in page and '[1,"game to fleet_4","fleet_0 says: ' in page


def test_the_end_and_the_scale() -> None:
    game = COMMONS.start(season=1)
    last: dict[str, Reply] = {}
    while not game.session.over:
        quota = max(0.0, float(game.session.survey[0]) - 0.64) / 5
        last = send_all(game, f"quota {quota:.5f}\ndone")
    assert all(reply.done and "has ended" in reply.text for reply in last.values())
    assert 0.5 < COMMONS.scale(game) < 1.5
    closed = COMMONS.start(season=1)
    while not closed.session.over:
        send_all(closed, "done")
    assert abs(COMMONS.scale(closed)) < 0.2  # one season; its mean is 0
    assert "has ended" in send_all(game, "done")["fleet_0"].text
