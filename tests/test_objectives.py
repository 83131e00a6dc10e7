"""The example of several objectives: on each day the vector, weighted as in the file, is the reward of the farm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import harvestgym

DAYS = 60


def test_each_vector_with_the_weights_of_the_score_is_the_reward(import_example: Callable[[str], Any]) -> None:
    objectives = import_example("objectives")
    many: Any = gymnasium.make("objectives/bean-1x1-v0")  # as `mo_gymnasium.make` does
    assert many.unwrapped.reward_space.shape == many.get_wrapper_attr("reward_space").shape
    many = many.unwrapped
    one = gymnasium.make(objectives.ID)
    score: Any = harvestgym.make(objectives.ID).spec.scoring.model_dump(by_alias=True)  # type: ignore[attr-defined]
    weights = np.asarray([score.get(name, 1.0) for name in many.objectives])
    assert len(set(many.objectives)) == len(many.objectives) == len(weights)
    many.reset(seed=2)
    one.reset(seed=2)
    one.action_space.seed(2)
    for _ in range(DAYS):
        action = one.action_space.sample()
        _, vector, *ends, _ = many.step(action)
        _, reward, terminated, truncated, _ = one.step(action)
        assert vector in many.reward_space and ends == [terminated, truncated]
        assert float(weights @ vector) == pytest.approx(reward, abs=1e-5)
        if terminated or truncated:
            break


def test_an_id_that_pays_numbers_has_no_space_of_vectors() -> None:
    env: Any = gymnasium.make("fishing/logistic-v0").unwrapped
    assert not hasattr(env, "reward_space")
    with pytest.raises(AttributeError, match="expected an id whose rewards are vectors, such as objectives/"):
        _ = env.reward_space


def test_the_ids_of_the_example_pass_the_wrappers_of_mo_gymnasium(import_example: Callable[[str], Any]) -> None:
    mo_gymnasium: Any = pytest.importorskip("mo_gymnasium")
    import_example("objectives")
    env = mo_gymnasium.make("objectives:objectives/bean-1x1-v0")
    env.reset(seed=0)
    size = env.unwrapped.reward_space.shape
    assert env.step(env.action_space.sample())[1].shape == size
    weighted = mo_gymnasium.wrappers.LinearReward(env, weight=np.ones(size))
    weighted.reset(seed=0)
    assert np.ndim(weighted.step(env.action_space.sample())[1]) == 0


def test_the_wrappers_of_mo_gymnasium_refuse_an_id_that_pays_numbers() -> None:
    mo_gymnasium: Any = pytest.importorskip("mo_gymnasium")
    env = mo_gymnasium.make("harvestgym:farm/bean-1x1-v0")
    with pytest.raises(AttributeError, match="reward_space: expected"):
        mo_gymnasium.wrappers.LinearReward(env)
    with pytest.raises(AttributeError, match="reward_space: expected"):
        mo_gymnasium.wrappers.MORecordEpisodeStatistics(env)
