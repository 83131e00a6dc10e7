"""Options of `reset`: the day and the start values of one episode, checked as in a file."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.farm.build.test_starts import bare
from tests.long_form import long

INIT: dict[str, Any] = {"Weather-0": {"day": [100, 110]}, "Soil-0": {"available_Water#L": {"each": "(90, 100)"}}}
SEEN = ["Weather-0.day", "Soil-0.available_Water#L", "Soil-0.microlife_health_index#%"]


@pytest.fixture(scope="module")
def env() -> GymEnv:
    return GymEnv(bare(INIT, (1, 2), free_observations=SEEN))


def start(env: Any, **options: Any) -> list[float]:
    return np.asarray(env.reset(seed=3, options=options or None)[0]).round(3).ravel().tolist()


def test_a_day_and_a_start_concern_one_episode_and_compile_nothing(env: GymEnv) -> None:
    plain = start(env)
    programs, params = env._programs, env.params
    water = {"Field-0": {"Soil-0": {"available_Water#L": 120}}}
    assert start(env, day="1 May", start=water)[:3] == [121, 120, 120]
    assert start(env, start=water)[0] == plain[0], "the other values are drawn as before"
    assert start(env, day=5)[1:] == plain[1:]
    assert start(env) == plain and env._programs is programs and env.params is params
    model, changed = env.core.set_options(params, {"day": 7, "start": water})  # type: ignore[attr-defined]
    assert model is env.core and jax.tree.structure(changed) == jax.tree.structure(params)


def test_a_start_that_the_file_lacks_compiles_another_first_day(env: GymEnv) -> None:
    plain = start(env)
    other = start(env, start={"field-0": {"soil-0": {"microlife_health_index": [[40, 60]]}}})
    assert other == [*plain[:3], 40, 60]
    assert start(env) == plain


@long
def test_all_of_a_batch_may_start_on_a_day(env: GymEnv) -> None:
    batch = VecEnv(env.core, 2)
    assert np.asarray(batch.reset(seed=0, options={"day": 200})[0])[:, 0].tolist() == [200, 200]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dya": 3}, "reset option: expected a known name, got 'dya'; try 'day'"),
        ({"day": 400}, "reset > day > Field-0 > Weather-0 > day#int365: expected a number from 1 to 365, got 400"),
        ({"day": "30 Feb"}, "expected a day of a year of 365 days, got '30 Feb'"),
        ({"start": {"Field-0": {"Soil-0": {"available_Watr#L": 3}}}}, "reset > start > Field-0 > Soil-0: expected a "),
        ({"start": {"Field-0": {"Soil-0": {"available_Water#L": 999}}}}, "available_Water#L: expected a number from 0"),
        ({"start": 3}, "reset > start: 1 mistake\n  init: expected a mapping"),
        ({"day": 3, "start": {"Field-0": {"Weather-0": {"day": 4}}}}, "expected one spelling, got two"),
        ({"day": 3, "params": 5}, "params: expected an object of the class FarmParams, got 5"),
    ],
)
def test_a_wrong_option_changes_nothing(env: GymEnv, options: dict[str, Any], words: str) -> None:
    obs = start(env, day=50)
    state = env.run_state
    with pytest.raises(ConfigError) as error:
        env.reset(seed=4, options=options)
    assert words in str(error.value), error.value
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(state.state), jax.tree.leaves(env.run_state.state))
    assert obs[0] == 50
