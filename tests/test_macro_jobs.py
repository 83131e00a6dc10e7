"""Macro jobs: the plot that needs it most, what is possible, and learners of flat actions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from examples.macro_jobs import JobState, MacroJobs
from harvestgym.core.errors import ConfigError
from harvestgym.farm.learn.map_farm import MapState
from harvestgym.gym.env import GymEnv
from tests.farm.ponds import farm
from tests.long_form import long

WATER = "Spring-0/available_Water#L"
VOLUME = "Spring-0.available_Water"
POUR = {"do": "Spring-0.pour", "plot": "each", "amount#L": 5.0}
DRIEST = POUR | {"plot": f"least {VOLUME}"}
CUT = {"do": "Reed-0.cut"}
POND = farm("po").model


def jobs(*wanted: Any) -> MacroJobs:
    return MacroJobs.of(POND, {f"job {i}": rule for i, rule in enumerate(wanted)})


def state(env: MacroJobs, obs: Any) -> JobState:
    """Return a state with this observation, and no order today."""
    return JobState(MapState(None, np.zeros(POND.schedule, np.int32), np.int32(0)), obs)  # type: ignore[arg-type]


def maps(env: MacroJobs, water: Any) -> dict[str, Any]:
    """Return an observation of the maps with this water on the plots, in litres, and everything possible."""
    space: Any = env.env.observation_space
    obs = {part: np.zeros(space[part].shape, np.float32) for part in ("plots", "farm")}
    at, scale = next((i, channel.scale) for i, channel in enumerate(env.env.plot_channels) if channel.name == WATER)
    obs["plots"][..., at] = np.divide(water, scale)
    return obs | {"mask": env.env.table.valid}


@pytest.mark.parametrize(
    ("job", "place"),
    [
        (DRIEST, 5),
        (POUR | {"plot": f"most {VOLUME}"}, 3),
        (POUR | {"plot": f"least abs({VOLUME} - 4)"}, 1),
        (POUR, 1),
        (POUR | {"when": f"{VOLUME} < 6", "plot": f"most {VOLUME}"}, 6),
        ([POUR | {"plot": [1, 2]}, POUR | {"plot": f"most {VOLUME}"}], 3),
    ],
)
def test_a_job_chooses_its_plot(job: Any, place: int) -> None:
    env = jobs(job)
    obs = maps(env, [[[4, 3, 9], [6, 1, 5]]])
    assert env.orders(state(env, obs)).tolist() == [[0, 0, 0], [1, place, 10]]
    obs["mask"] = obs["mask"] | {"where": obs["mask"]["where"] & (np.arange(7) != place)}
    assert env.orders(state(env, obs))[1, 1] not in (0, place)


def test_parameters_choose_the_amount() -> None:
    env = jobs(POUR | {"amount#L": 2.0}, {"do": "Reed-0.dye", "colour": "blue"})
    assert env.orders(state(env, maps(env, 1.0)))[:, 2].tolist() == [0, 4, 2]


@long
def test_a_job_is_done_once_a_day_on_a_plot_unless_again() -> None:
    env, key = jobs(DRIEST, DRIEST | {"every#day": 0}, CUT), jax.random.key(0)
    step = jax.jit(env.step)
    state, shown = jax.jit(env.reset)(key)
    assert env.observation_space.contains(np.asarray(shown.obs))
    before = env.orders(state)
    np.testing.assert_array_equal(before[1], before[2])
    state, _ = step(key, state, np.int32(1), env.params)
    after = env.orders(state)
    assert after[1, 1] != before[1, 1] == after[2, 1]
    state, _ = step(key, state, np.int32(3), env.params)
    assert env.action_mask(state, env.params).tolist() == [True, True, True, False]
    state, shown = step(key, state, np.int32(3), env.params)  # the next possible job: water the driest
    assert int(state.inner.inner.day) == 1 and shown.info["accepted"].tolist() == [True, True, True]


@pytest.mark.parametrize("action", [0, 1, 2])
def test_without_a_possible_job_the_day_passes(action: int) -> None:
    env, key = jobs(CUT, CUT), jax.random.key(0)
    step = jax.jit(env.step)
    state, _ = step(key, jax.jit(env.reset)(key)[0], np.int32(1), env.params)
    state, shown = step(key, state, np.int32(action), env.params)
    assert int(state.inner.inner.day) == 1 and shown.info["accepted"].sum() == 1


@pytest.mark.torch
def test_learners_see_a_vector_a_number_and_a_mask() -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = GymEnv(jobs(DRIEST, CUT))
    checker.check_env(env, warn=True, skip_render_check=False)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"do": "Spring-0.pours"}, r"jobs > job 0 > do > Spring-0: expected a known action, got 'pours'; try 'pour'"),
        (
            POUR | {"plot": "least Spring-0.available_Watr"},
            "jobs > job 0 > plot: character 1 .*try 'available_Water#L'",
        ),
        (POUR | {"plot": f"best {VOLUME}"}, "jobs > job 0: 1 mistake\n  plot: expected each, most VARIABLE, least"),
        (POUR | {"amount#L": 7.0}, "amount#L: expected a number from 0 to 5"),
        (POUR | {"amounts": 1.0}, "jobs > job 0: expected a known parameter, got 'amounts'; try 'amount#L'"),
        (POUR | {"every#day": 3}, "jobs > job 0 > every#day: expected 1, or 0 for several times a day, got 3"),
        ([], "jobs > job 0: expected a rule, or a list of rules, got none"),
    ],
)
def test_mistakes_have_the_nearest_name(job: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jobs(job)
    with pytest.raises(ConfigError, match="jobs: expected at least one, got none"):
        jobs()
    with pytest.raises(ConfigError, match="jobs: expected a mapping of rules, got "):
        MacroJobs.of(POND, [CUT])  # type: ignore[arg-type]
