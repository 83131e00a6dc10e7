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
    many = objectives.RewardVector(gymnasium.make(objectives.ID, scoring=objectives.UNWEIGHTED))
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
