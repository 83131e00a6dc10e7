"""Games of many clients: isolation, limits, saving and restoring, and answers to bad requests."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.text.sessions import Games, Limits

FARM, FISHERY = "farm/bean-1x1-v0", "fishing/logistic-v0"
ORDERS = ("water 20 L", "look", "done", "nonsense", "wait 9 days", "done")


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture(scope="module")
def both() -> Games:
    """Return a server of a farm and a fishery with low limits."""
    return Games([FARM, FISHERY, FISHERY], limits=Limits(3, 60.0, 100, 500), clock=CLOCK)


@pytest.fixture
def games(both: Games) -> Games:
    """Return the server without games."""
    CLOCK.now += 1e6
    both.end(both.start(FISHERY)[0])
    assert len(both) == 0
    return both


def test_games_are_isolated(games: Games) -> None:
    alone, _ = games.start(FARM, 3)
    expected = [games.send(alone, order) for order in ORDERS]
    first, second = games.start(FARM, 3)[0], games.start(FARM, 4)[0]
    found = []
    for order in ORDERS:
        found.append(games.send(first, order))
        games.send(second, "water 5 L\ndone")
    assert found == expected
    assert games.look(first) == games.look(alone) != games.look(second)


def test_clients_may_play_at_the_same_time(games: Games) -> None:
    keys = [games.start(FISHERY, 1)[0] for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        for _ in range(5):
            replies = [*pool.map(lambda key: games.send(key, "quota 0.01\ndone"), keys)]
            assert replies[0] == replies[1] == replies[2]


def test_the_number_of_games_is_limited(games: Games) -> None:
    keys = [games.start(FISHERY, seed)[0] for seed in range(3)]
    assert len(set(keys)) == 3 and min(map(len, keys)) >= 22
    with pytest.raises(ConfigError, match="at most 3 at once"):
        games.start(FISHERY)
    games.end(keys[0])
    games.start(FISHERY)


def test_only_unused_games_are_removed(games: Games) -> None:
    used, unused, _ = (games.start(FISHERY, seed)[0] for seed in range(3))
    CLOCK.now += 50
    games.look(used)
    CLOCK.now += 50
    games.start(FISHERY)
    assert len(games) == 2 and games.look(used)
    with pytest.raises(ConfigError, match="key of a running game"):
        games.look(unused)


@pytest.mark.parametrize(("id", "orders"), [(FARM, ORDERS), (FISHERY, ("quota 0.1", "done", "done\ndone"))])
def test_a_saved_game_continues_exactly(games: Games, id: str, orders: tuple[str, ...]) -> None:
    key, _ = games.start(id, 5)
    for order in orders:
        games.send(key, order)
    saved = games.save(key)
    restored = games.load(saved)
    assert restored != key and games.save(restored) == saved
    assert games.look(restored) == games.look(key) and games.score(restored) == games.score(key)
    assert games.send(restored, "wait 3") == games.send(key, "wait 3")


def test_scores_use_the_reference_points(games: Games) -> None:
    key, _ = games.start(FISHERY)
    reply = games.send(key, "quota 0.1\ndone")
    assert games.score(key)["return"] == pytest.approx(reply.reward) and not games.score(key)["done"]
    idle, _ = games.start(FISHERY)
    assert games.send(idle, "quota 0\nwait 200 years").done
    assert games.score(idle)["done"] and games.score(idle)["score"] == pytest.approx(0.0, abs=0.05)
    assert "has ended" in games.send(idle, "done").text


def test_numbers_are_messages(games: Games) -> None:
    key, _ = games.start(FISHERY)
    assert games.send(key, 0.01).info["queued"] == ["quota 0.01"]


def test_splits_have_their_own_seeds_and_years() -> None:
    games = Games([FISHERY], ("train", "test"))
    train, test = (games.start(FISHERY, 2, side)[0] for side in ("train", "test"))
    saved = [json.loads(games.save(key)) for key in (train, test)]
    assert [one["seed"] for one in saved] == [splits.split(FISHERY, side).seeds[2] for side in ("train", "test")]
    with pytest.raises(ConfigError, match="split: expected a known name, got 'tests'"):
        games.start(FISHERY, 2, "tests")


SAVED: dict[str, Any] = {"id": FISHERY, "overrides": {}, "seed": 1, "messages": ["done"]}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"id": "farm/full-1x1-v0"}, "expected one of farm/bean-1x1-v0, fishing/logistic-v0"),
        ({"overrides": {"Tmax": 10**9}}, "with other settings"),
        ({"seed": -1}, "a seed up to"),
        ({"seed": True}, "expected JSON with id, overrides, seed, messages"),
        ({"messages": [1]}, "messages in text"),
        ({"messages": ["x" * 101]}, "at most 500 characters"),
        ({"messages": ["x" * 100] * 6}, "at most 500 characters"),
        ({"more": 1}, "expected JSON"),
    ],
)
def test_only_saved_games_are_loaded(games: Games, changed: dict[str, Any], expected: str) -> None:
    assert games.load(json.dumps(SAVED))
    with pytest.raises(ConfigError, match=expected):
        games.load(json.dumps(SAVED | changed))
    assert len(games) == 1


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "[" * 100_000, "null"])
def test_other_texts_are_refused(games: Games, text: str) -> None:
    with pytest.raises(ConfigError, match="saved game: expected JSON"):
        games.load(text)


@pytest.mark.parametrize(
    ("id", "seed", "expected"),
    [
        ("fishing/logistic-v9", 0, "try 'fishing/logistic-v0'"),
        (["x"], 0, "id: expected a known name"),
        (FISHERY, -1, "seed: expected an integer from 0 to 2147483647, got -1"),
        (FISHERY, 2**31 + 1, "try the split 'test'"),
        (FISHERY, "3", "seed: expected"),
        (FISHERY, True, "seed: expected"),
    ],
)
def test_wrong_games_are_refused(games: Games, id: Any, seed: Any, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        games.start(id, seed)
    assert len(games) == 0


def test_wrong_messages_are_refused(games: Games) -> None:
    key, _ = games.start(FISHERY)
    before = games.save(key)
    for message, expected in (("x" * 101, "at most 100 characters, got 101"), (["done"], "got list"), ({}, "got dict")):
        with pytest.raises(ConfigError, match=expected):
            games.send(key, message)
    for unknown in ("", "x", None, 5):
        with pytest.raises(ConfigError, match="key of a running game"):
            games.send(unknown, "done")  # pyright: ignore[reportArgumentType]
    assert games.save(key) == before
    for _ in range(5):
        games.send(key, "?" * 100)
    with pytest.raises(ConfigError, match="at most 500 characters in all"):
        games.send(key, "done")


def test_a_server_needs_ids_that_can_be_played() -> None:
    for ids, expected in (([], "at least one id"), (["farm/bean-1x1-v9"], "expected a known name")):
        with pytest.raises(ConfigError, match=expected):
            Games(ids)
