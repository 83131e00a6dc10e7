"""One meaning of a seed: the first episode of seed s is the episode of `reset(seed=s)` in every tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.episode import episode_keys, seed_key
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.datasets.episodes import record_demonstrations
from harvestgym.evaluate.record import record_episode, record_first
from harvestgym.evaluate.run import BATCH, evaluate_id, evaluation_keys, horizon, policy_named, run_episodes
from harvestgym.play.start_session import start_session
from tests.long_form import ALL, long, some

SEED, STEPS = 11, 40
IDS = {"farm/bean-1x1-v0": "expert", "fishing/logistic-random-v0": "random", "forager/seasons-v0": "random"}
"""An id of each family with a random start or weather, and a policy."""

Rewards = np.ndarray


def by_gymnasium(id: str, actions: np.ndarray) -> Rewards:
    env = gymnasium.make(id)
    env.reset(seed=SEED)
    return np.asarray([env.step(action)[1] for action in actions[:STEPS]], np.float64)


def by_vector(id: str, actions: np.ndarray) -> Rewards:
    batch = harvestgym.make_vec(id, 2)
    batch.reset(seed=SEED)
    return np.asarray([batch.step(np.stack([action, action]))[1][0] for action in actions[:STEPS]])


def by_rollout(id: str, actions: np.ndarray) -> Rewards:
    env = harvestgym.make(id)
    made = harvestgym.rollout(env, policy_named(id, env, IDS[id]), jax.random.key(SEED), 2, min(STEPS, len(actions)))
    return np.asarray(made.reward[:, 0])


def by_record(id: str, actions: np.ndarray) -> Rewards:
    env = harvestgym.make(id)
    return record_episode(id, env, policy_named(id, env, IDS[id]), SEED)["reward"][1:]


def by_play(id: str, actions: np.ndarray) -> Rewards:
    session = start_session(id, SEED)
    return np.asarray([session.act(action) for action in actions[:STEPS]])


TOOLS: dict[str, Callable[[str, np.ndarray], Rewards]] = {
    "gymnasium.make": by_gymnasium, "make_vec": by_vector, "rollout": by_rollout, "record": by_record, "play": by_play,
}  # fmt: skip


@pytest.fixture(scope="module", params=some([*IDS], "logistic-random-v0", "seasons-v0"))
def demonstration(request: pytest.FixtureRequest) -> Any:
    """Record a demonstration, as Parquet files hold it: its id, actions and rewards."""
    id = request.param
    (episode,) = record_demonstrations(id, IDS[id], 1, SEED).episodes
    assert episode.seed == SEED and np.std(episode.rewards[:STEPS]) > 0
    return id, episode.actions, episode.rewards


@pytest.mark.parametrize("tool", TOOLS if ALL else [*TOOLS][:1])
def test_a_tool_plays_the_episode_of_the_seed(tool: str, demonstration: Any) -> None:
    id, actions, rewards = demonstration
    found = TOOLS[tool](id, actions)
    steps = min(STEPS, len(rewards))
    np.testing.assert_allclose(found[:steps], rewards[:steps], rtol=1e-5, atol=1e-6)


def test_an_evaluation_begins_with_the_episode_of_the_seed(demonstration: Any) -> None:
    id, _, rewards = demonstration
    if id.startswith("forager") and not ALL:
        pytest.skip("a whole life of a forager takes a long time: HARVESTGYM_TESTS=all")
    found = evaluate_id(id, IDS[id], 2, SEED)
    assert found.returns[0] == pytest.approx(rewards.sum(), rel=1e-4)
    assert found.returns[0] != found.returns[1]


@long
def test_an_evaluation_of_rollouts_takes_a_key_for_each_episode() -> None:
    id = "fishing/logistic-random-v0"
    env = harvestgym.make(id)
    rule, steps = policy_named(id, env, "expert"), horizon(env)
    whole = run_episodes(env, rule, 3, SEED, steps)
    alone = evaluate(env, rule, evaluation_keys(SEED, range(3)), 3, steps)
    np.testing.assert_allclose(alone.returns, whole.returns, rtol=1e-6)
    row = record_first(id, env, rule, SEED)[1]
    np.testing.assert_allclose(row.returns[0], whole.returns[0], rtol=1e-5)


def test_the_keys_of_episodes_differ_within_and_between_batches_and_seeds() -> None:
    keys = [episode_keys(seed_key(0), 64), *(evaluation_keys(seed, range(2 * BATCH)) for seed in (0, 1))]
    words = np.concatenate([jax.random.key_data(each) for each in keys])
    assert len(np.unique(words[64:], axis=0)) == len(words[64:]), "no episode twice in an evaluation"
    assert (words[0] == words[64]).all(), "the first of a rollout is the first of an evaluation"
