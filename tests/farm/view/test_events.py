"""Events of a season in words, and the last event of a season."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import harvestgym
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.view.action_log import action_words
from harvestgym.farm.view.events import find_last_event, list_events
from harvestgym.farm.view.recorder import known
from tests.long_form import long

ID = "farm/full-3x4-v1"


@pytest.fixture(scope="module")
def season() -> tuple[Any, dict[str, np.ndarray]]:
    """Return a farm with all kinds on twelve plots and a season of its expert."""
    env = harvestgym.make(ID)
    return env, dict(record_episode(ID, env, policy_named(ID, env, "expert"), 0))


@long
def test_every_death_and_harvest_is_an_event(season: tuple[Any, dict[str, np.ndarray]]) -> None:
    env, record = season
    steps = len(record["reward"]) - 1
    lines = list_events(env, record, 0, steps)
    stage = record["Field-0/Plant-0/stage"]
    died = int(np.sum((stage[1:] == 6) & (stage[:-1] != 6)))
    counted = [int(line.split(" on ")[1].split()[0]) for line in lines if "died (" in line]
    assert died > 0 and sum(counted) == died
    assert any(line.endswith("of 12 plots") and ": harvested on" in line for line in lines)
    assert any("pests came" in line for line in lines) and lines[0].startswith("day ")
    assert list_events(env, record, 5, 5) == []
    parts = [*list_events(env, record, 0, 20), *list_events(env, record, 20, steps)]
    assert parts == lines


def test_what_was_not_observed_is_no_event() -> None:
    id = "farm/paid-looks-1x1-v1"
    env = harvestgym.make(id)
    record = record_episode(id, env, policy_named(id, env, "none"), 0)
    assert list_events(env, record, 0, 120)
    assert not any("Plant" in line for line in list_events(env, known(env, record), 0, 120))


@long
def test_last_event_is_followed_by_nothing_but_the_final_reward() -> None:
    """A crop that nobody sows again lives for a third of the season."""
    id = "farm/full-1x1-v1"
    env = harvestgym.make(id)
    record = record_episode(id, env, policy_named(id, env, "none"), 0)
    last = find_last_event(record)
    assert 0 < last < len(record["reward"]) - 10
    assert not record["reward"][last + 1 : -1].any() and not record["info/effective"][last + 1 : -1].any()
    stage = record["Field-0/Plant-0/stage"]
    lives = ~np.isin(stage, (0, 6))
    assert not lives[last + 1 :].any()
    assert lives[last].any() or record["info/effective"][last].any() or record["reward"][last] != 0


def test_action_words_differ_within_an_entity() -> None:
    env = harvestgym.make("farm/full-1x1-v1")
    words = [(row.names, action_words(env, row)) for row in env.actions.rows]
    assert len(set(words)) == len(words) and all("_" not in text for _, text in words)
