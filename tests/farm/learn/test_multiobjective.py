"""The vector of rewards is the scalar one taken apart: the same life, and weights that put it together again."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.tree import replace
from harvestgym.core.wrappers import TimeLimit
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.learn.multiobjective import MultiObjectiveEnv
from harvestgym.farm.schema import farm_spec
from harvestgym.gym.env import GymEnv
from tests.farm.engine.test_engine import FILE, REED, SPRING
from tests.toy import Stock

SCORE = {
    "intervention_cost": 0.5, "observation_cost": 0.1, "stage": 0.3, "yield": 0.9, "resource": 0.1,
    "terms": {"water": {"kind": "Tally", "prices": {"water#L": -0.7}}},
}  # fmt: skip


def farm(mode: str) -> FarmModel:
    wages = {"kind": "HourlyFarmer", "wage#h-1": 2}
    data = FILE | {"scoring": SCORE, "mode": mode, "farmers": [wages]}
    return build(farm_spec(data, "test"), {"Field-0": (SPRING, REED)})


def cut(env: GymEnv) -> Any:
    """Return the action that harvests."""
    model: Any = env.core
    order = model.actions.index(("HourlyFarmer-0", "Field-0", "Reed-0", "cut", {}))
    action = env.action_space.sample()
    return action | {"order": order} if isinstance(action, dict) else order


@pytest.fixture(scope="module", params=["po", "ao"])
def pair(request: pytest.FixtureRequest) -> tuple[GymEnv, MultiObjectiveEnv]:
    env = farm(request.param)
    return GymEnv(env), MultiObjectiveEnv(env)


def test_the_weighted_sum_of_the_vector_is_the_reward(pair: tuple[GymEnv, MultiObjectiveEnv]) -> None:
    one, many = pair
    seen: list[np.ndarray] = []
    for seed in range(3):
        one.action_space.seed(seed)
        one.reset(seed=seed)
        many.reset(seed=seed)
        over = False
        while not over:
            action = one.action_space.sample() if len(seen) % 3 else cut(one)
            obs, reward, terminated, truncated, _ = one.step(action)
            again, vector, *ends, _ = many.step(action)
            np.testing.assert_array_equal(gymnasium.spaces.flatten(one.observation_space, obs),
                                          gymnasium.spaces.flatten(one.observation_space, again))  # fmt: skip
            assert vector in many.reward_space and ends == [terminated, truncated]
            assert float(many.weights @ vector) == pytest.approx(reward, abs=1e-5)
            seen.append(vector)
            over = terminated or truncated
    paid = dict(zip(many.objectives, np.abs(seen).sum(0), strict=True))
    wanted = {"stage", "yield", "resource", "water", "intervention cost", "wages"}
    assert all(paid[name] > 0 for name in wanted), "the test has something to add up"


def test_objectives_are_named_as_the_info_names_them(pair: tuple[GymEnv, MultiObjectiveEnv]) -> None:
    _, many = pair
    _, info = many.reset(seed=0)
    gains = {name.removeprefix("reward/") for name in info if name.startswith("reward/")}
    assert set(many.objectives) == gains | {"intervention cost", "observation cost", "wages"}
    assert len(set(many.objectives)) == len(many.objectives) == len(many.weights)
    named: dict[str, Any] = dict(zip(many.objectives, many.weights.tolist(), strict=True))
    assert named["water"] == named["wages"] == 1 and named["soil"] == 0 and named["yield"] == pytest.approx(0.9)


def test_weights_are_of_the_parameters_in_force_and_change_no_vector(pair: tuple[GymEnv, MultiObjectiveEnv]) -> None:
    _, many = pair
    before = many.params
    other = replace(before, score=replace(before.score, stage=np.float32(7.0)))
    many.reset(seed=0, options={"params": other})
    assert many.params.score.stage == 7.0 and many.weights[many.objectives.index("stage")] == 7.0
    many.params = before
    assert many.weights[many.objectives.index("stage")] == pytest.approx(0.3)


def test_a_wrapped_farm_has_a_vector_too_and_what_is_no_farm_has_none() -> None:
    many = MultiObjectiveEnv(TimeLimit(farm("po"), 1))
    many.reset(seed=0)
    assert many.step(0)[3] and many.unwrapped is many
    with pytest.raises(ConfigError, match="expected a farm, whose score has terms, got Stock"):
        MultiObjectiveEnv(Stock())
