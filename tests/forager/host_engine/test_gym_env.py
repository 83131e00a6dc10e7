"""The Gymnasium environment of the host engine: its contract, and the episodes of the functional environment."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from harvestgym.forager.family import build_forager, make, make_gymnasium
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.gym.env import GymEnv
from tests.forager.worlds import SMALL
from tests.long_form import long


def test_the_environment_passes_the_checker_of_gymnasium():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checker advises on spaces in general
        check_env(ForagerGym.of(build_forager(SMALL), render_mode="rgb_array"), skip_render_check=False)


def test_the_environment_truncates_at_the_horizon_and_never_terminates():
    env = ForagerGym.of(build_forager(SMALL))
    env.reset(seed=3)
    ends = [env.step(0)[2:4] for _ in range(40)]
    assert ends == [(False, False)] * 39 + [(False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("name", ["seasons-v0", pytest.param("unending-v0", marks=long), "small"])
def test_the_registered_environment_has_the_episodes_of_the_functional_one(name):
    model = make(name) if name != "small" else build_forager(SMALL)
    fast, slow = make_gymnasium(model), GymEnv(model)
    assert isinstance(fast, ForagerGym)
    assert fast.observation_space == slow.observation_space
    actions = np.random.default_rng(0).integers(0, 4, 40).tolist()
    for seed in (5, None, None, 2**32 - 1):
        results = [env.reset(seed=seed) for env in (fast, slow)]
        assert_same(*results)
        for action in actions:
            results = [env.step(action) for env in (fast, slow)]
            assert_same(*results)


def assert_same(mine, other) -> None:
    """Observation, flags and integers are equal, floats to rounding."""
    assert (mine[0] == other[0]).all()
    assert mine[2:-1] == other[2:-1]
    assert mine[-1].keys() == other[-1].keys()
    for name, value in mine[-1].items():
        assert type(value) is type(other[-1][name]), name
        assert value == pytest.approx(other[-1][name], abs=1e-5, rel=1e-5), name
