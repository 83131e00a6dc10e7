"""Sessions of any family: their start, a new seed, demonstrations, replays and rivals."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from examples.read_replay import read_html
from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations
from harvestgym.evaluate.record import record_named
from harvestgym.play.start_session import (
    HORIZONS,
    MOST_STEPS,
    MOVE_NAMES,
    SESSIONS,
    FishingSession,
    ForagerSession,
    start_session,
)
from tests.long_form import long

FISHERY, FORAGER = "fishing/logistic-levels-v0", "forager/two-biome-v0"
YEARS, QUOTA = 4, 0.0


@pytest.fixture(scope="module")
def finished() -> FishingSession:
    session = start_session(FISHERY, 5, YEARS)
    assert isinstance(session, FishingSession)
    while not session.over:
        session.fish([QUOTA])
    return session


def test_every_family_has_a_session_and_a_horizon() -> None:
    assert set(SESSIONS) == set(HORIZONS) == set(registry.FAMILIES)


def test_a_horizon_limits_the_episode(finished: FishingSession) -> None:
    assert finished.steps == YEARS == finished.longest and finished.overrides == {"Tmax": YEARS}
    assert finished.unit == "year"


def test_an_episode_by_hand_equals_gymnasium(finished: FishingSession) -> None:
    env = gymnasium.make(FISHERY, Tmax=YEARS)
    obs, _ = env.reset(seed=5)
    seen, rewards = [obs], []
    for _ in range(YEARS):
        obs, reward, *_ = env.step(0)
        seen.append(obs)
        rewards.append(reward)
    np.testing.assert_array_equal(finished.episode.observations, np.stack(seen))
    np.testing.assert_array_equal(finished.rewards, rewards)


def test_a_new_seed_is_another_episode_of_the_same_environment(finished: FishingSession) -> None:
    other, same = finished.again(6), finished.again(5)
    assert other.env is finished.env and other.overrides == finished.overrides and other.steps == 0
    for session in (other, same):
        while not session.over:
            session.act(0)
    np.testing.assert_array_equal(same.record["stock"], finished.record["stock"])
    assert (other.record["stock"][1:] != finished.record["stock"][1:]).any()


def test_a_rehearsal_changes_nothing() -> None:
    session = start_session(FISHERY, 5, YEARS)
    session.rehearse()
    assert session.steps == 0 and session.total == 0


@long
def test_a_rival_is_the_policy_on_the_same_seed(finished: FishingSession) -> None:
    """Doing nothing is what the user did; the columns are those of the table of the command."""
    idle = finished.rival("none")
    np.testing.assert_array_equal(idle.rewards, finished.rewards)
    assert (idle.total, idle.columns) == (finished.total, finished.columns)
    expert = finished.rival("expert")
    recorded = record_named(FISHERY, "expert", 5, finished.env).record["reward"][1:]
    np.testing.assert_allclose(expert.rewards, recorded, rtol=1e-5)
    assert not any(finished.rewards[:-1]) and finished.total > 0, "only the stock that remains is paid"
    assert expert.total > 0
    with pytest.raises(ConfigError, match="expected a known policy, got 'experts'; try 'expert'"):
        finished.rival("experts")


def test_an_action_outside_of_the_space_is_refused() -> None:
    session = start_session(FISHERY, 0, YEARS)
    with pytest.raises(ConfigError, match="action"):
        session.act(10_000)
    assert session.steps == 0


def test_demonstrations_of_a_seed_are_numbered(finished: FishingSession, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    names = [finished.save(tmp_path).name for _ in range(3)]
    stem = "fishing-logistic-levels-v0-human-5"
    assert names == [f"{stem}.parquet", f"{stem}-1.parquet", f"{stem}-2.parquet"]
    kept = read_demonstrations(tmp_path / names[0])
    assert (kept.by, kept.overrides, kept.episodes[0].seed) == ("human", {"Tmax": YEARS}, 5)
    np.testing.assert_array_equal(kept.episodes[0].actions, [0] * YEARS)


def test_an_unfinished_episode_is_saved_as_truncated(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    session = start_session(FISHERY, 5, YEARS)
    session.act(0)
    [episode] = read_demonstrations(session.save(tmp_path)).episodes
    assert len(episode) == 1 and episode.truncated.tolist() == [True]
    with pytest.raises(ConfigError, match="at least one step"):
        _ = start_session(FISHERY, 5, YEARS).episode


def test_a_replay_holds_the_record(finished: FishingSession, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    finished.replay(tmp_path / "replay.html")
    for name, values in read_html(tmp_path / "replay.html").items():
        np.testing.assert_array_equal(values, finished.record[name])


def test_a_forager_moves_in_four_directions_up_to_a_limit() -> None:
    session = start_session(FORAGER, 0)
    assert isinstance(session, ForagerSession) and session.idle is None and session.longest <= MOST_STEPS
    start = session.last["x#cell"], session.last["y#cell"]
    for direction in MOVE_NAMES.values():
        session.go(direction)
    assert session.limit == session.steps == 4
    assert (session.last["x#cell"], session.last["y#cell"]) == start, "north, east, south and west again"
    short = start_session(FORAGER, 0, 2)
    assert isinstance(short, ForagerSession)
    short.go("north"), short.go("north")
    assert short.over
    with pytest.raises(ConfigError, match="expected"):
        short.go("north")


@pytest.mark.parametrize("id", ["fishing/logistic-level-v0", "farms/bean-v0", "absent.yaml"])
def test_an_unknown_id_is_refused(id: str) -> None:
    with pytest.raises(ConfigError):
        start_session(id)


def test_an_environment_of_another_package_cannot_be_played() -> None:
    registry.register("toy/stock-v0", "tests.toy_env:Stock")
    try:
        with pytest.raises(ConfigError, match=r"toy/stock-v0: expected an id of farm, fishing, forager"):
            start_session("toy/stock-v0")
    finally:
        registry.unregister("toy/stock-v0")
