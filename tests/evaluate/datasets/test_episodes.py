"""Recorded episodes: their form, their seeds, and their equality with the episodes of a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from examples.gymnasium_episodes import collect_episodes
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.datasets.episodes import (
    DEMONSTRATION_BATCH,
    Demonstrations,
    Episode,
    play_episodes,
    record_demonstrations,
)
from harvestgym.evaluate.run import policy_named
from harvestgym.gym.env import GymEnv
from tests.long_form import long
from tests.toy_env import BoxStock

LEVELS = "fishing/logistic-levels-v0"
FARM = "farm/bean-1x1-v0"
YEARS = 9


@pytest.fixture(scope="module")
def recorded() -> Demonstrations:
    """More episodes than one batch, so that the last one is filled up."""
    return record_demonstrations(LEVELS, "random", DEMONSTRATION_BATCH + 2, 3, Tmax=YEARS)


def test_demonstrations_name_their_id_policy_seeds_and_overrides(recorded: Demonstrations) -> None:
    assert (recorded.id, recorded.by, recorded.overrides) == (LEVELS, "random", {"Tmax": YEARS})
    assert [episode.seed for episode in recorded.episodes] == list(range(3, 3 + DEMONSTRATION_BATCH + 2))
    assert recorded.steps == sum(map(len, recorded.episodes))


def test_every_episode_ends_once_at_its_last_step(recorded: Demonstrations) -> None:
    for episode in recorded.episodes:
        ends = episode.terminated | episode.truncated
        assert ends.tolist() == [False] * (len(episode) - 1) + [True]
        assert not (episode.terminated & episode.truncated).any()


def test_observations_and_infos_are_one_more_than_actions(recorded: Demonstrations) -> None:
    env = harvestgym.make(LEVELS, Tmax=YEARS)
    for episode in recorded.episodes:
        steps = len(episode)
        assert len(episode.observations) == steps + 1 and len(episode.actions) == steps
        assert {len(values) for values in episode.infos.values()} == {steps + 1}
        assert all(obs in env.observation_space for obs in episode.observations)
        assert all(action in env.action_space for action in episode.actions)


def test_the_batch_of_an_episode_changes_nothing(recorded: Demonstrations) -> None:
    """An episode recorded alone is the one recorded among others, bit for bit."""
    at = DEMONSTRATION_BATCH + 1
    [alone] = record_demonstrations(LEVELS, "random", 1, 3 + at, Tmax=YEARS).episodes
    together = recorded.episodes[at]
    assert alone.seed == together.seed
    np.testing.assert_array_equal(alone.actions, together.actions)
    np.testing.assert_array_equal(alone.rewards, together.rewards)
    np.testing.assert_array_equal(alone.observations, together.observations)


def test_the_catch_is_the_reward(recorded: Demonstrations) -> None:
    for episode in recorded.episodes:
        np.testing.assert_allclose(episode.rewards, episode.infos["catch"][1:], rtol=1e-6)
        assert episode.infos["catch"][0] == 0


@long
def test_a_split_has_its_seeds_and_its_years() -> None:
    found = record_demonstrations(LEVELS, "mixed", 2, 3, "test", Tmax=YEARS)
    first = splits.split(LEVELS, "test").seed(3)
    assert [episode.seed for episode in found.episodes] == [first, first + 1]
    again = record_demonstrations(LEVELS, "mixed", 2, first, Tmax=YEARS)
    for mine, theirs in zip(found.episodes, again.episodes, strict=True):
        np.testing.assert_array_equal(mine.actions, theirs.actions)
    farm = record_demonstrations(FARM, "none", 1, split="train")
    assert farm.overrides == splits.split(FARM, "train").overrides != {}


def test_a_custom_policy_is_recorded_without_a_name() -> None:
    env = harvestgym.make(LEVELS, Tmax=YEARS)
    found = record_demonstrations(LEVELS, policy_named(LEVELS, env, "expert"), 2, Tmax=YEARS)
    named = record_demonstrations(LEVELS, "expert", 2, Tmax=YEARS)
    assert (found.by, named.by) == ("policy", "expert")
    for mine, theirs in zip(found.episodes, named.episodes, strict=True):
        np.testing.assert_array_equal(mine.actions, theirs.actions)


def test_a_seed_and_the_actions_give_the_episode_again() -> None:
    """In the Gymnasium environment, which restarts from the seed and follows the recorded actions."""
    env = BoxStock()
    for episode in play_episodes(env, random_policy(env), (7, 8)):
        rows = iter(range(len(episode)))
        act = lambda obs: episode.actions[next(rows)]  # noqa: B023, E731
        [again] = collect_episodes(GymEnv(env), act, [episode.seed or 0])
        assert len(again) == len(episode)
        for mine, theirs in zip(leaves(episode), leaves(again), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def leaves(episode: Episode) -> list[np.ndarray]:
    return jax.tree.leaves((episode.observations, episode.rewards, episode.terminated, episode.truncated))


def make_episode(**changes: Any) -> Episode:
    """Return two steps with observations of one number."""
    steps: dict[str, Any] = {
        "observations": [np.float32([0.1 * i]) for i in range(3)], "actions": [np.int32(1), np.int32(0)],
        "rewards": [1.0, 0.5], "terminated": [False, True], "truncated": [False, False],
    }  # fmt: skip
    return Episode.of(**(steps | changes))


def test_steps_are_stacked_in_their_dtypes() -> None:
    episode = make_episode()
    assert episode.observations.shape == (3, 1) and episode.observations.dtype == np.float32
    assert episode.actions.tolist() == [1, 0] and episode.rewards.dtype == np.float64 and len(episode) == 2


@pytest.mark.parametrize(
    ("terminated", "truncated", "marked"),
    [([False, True], [False, False], [False, False]), ([False, False], [False, True], [False, True]),
     ([False, False], [False, False], [False, True])],
    ids=["ended", "cut", "interrupted"],
)  # fmt: skip
def test_only_an_interrupted_episode_is_marked_as_truncated(
    terminated: list[bool], truncated: list[bool], marked: list[bool]
) -> None:
    assert make_episode(terminated=terminated, truncated=truncated).truncated.tolist() == marked


def test_only_numbers_of_every_info_are_kept() -> None:
    infos = [{"stock": 0.5, "year": i, "rich": True, "name": "a", "map": np.zeros((2, 2))} for i in range(3)]
    infos[1] = infos[1] | {"late": 1.0}
    kept = make_episode(infos=infos).infos
    assert {name: (values.dtype.name, values.shape) for name, values in kept.items()} == {
        "stock": ("float32", (3,)), "year": ("int32", (3,)), "rich": ("bool", (3,)), "map": ("float32", (3, 2, 2)),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["observations", "actions", "rewards", "terminated", "truncated"])
def test_lists_of_different_lengths_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="expected one more observation .and info. than actions"):
        make_episode(**{name: []})
