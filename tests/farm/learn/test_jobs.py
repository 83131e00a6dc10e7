"""Macro jobs: the plot that needs it most, what is possible, and learners of flat actions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.learn.jobs import Job, MacroJobs
from harvestgym.gym.env import GymEnv
from tests.farm.ponds import farm

WATER = "Spring-0/available_Water#L"
DRIEST = Job("water the driest", "Spring-0/pour", least=WATER)
CUT = Job("cut the reed", "Reed-0/cut")
POND = farm("po").model


def jobs(*wanted: Job) -> MacroJobs:
    return MacroJobs.of(POND, wanted)


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
        (Job("water the wettest", "Spring-0/pour", most=WATER), 3),
        (Job("water the middle", "Spring-0/pour", least=lambda read: abs(read(WATER) - 4)), 1),
        (Job("water any", "Spring-0/pour"), 1),
        (Job("water the wettest below 6 L", "Spring-0/pour", most=WATER, only=(lambda read: 6 - read(WATER),)), 6),
    ],
)
def test_a_job_chooses_its_plot(job: Job, place: int) -> None:
    env = jobs(job)
    obs = maps(env, [[[4, 3, 9], [6, 1, 5]]])
    assert env.orders(obs).tolist() == [[0, 0, 0], [1, place, 10]]
    obs["mask"] = obs["mask"] | {"where": obs["mask"]["where"] & (np.arange(7) != place)}
    assert env.orders(obs)[1, 1] not in (0, place)


def test_values_choose_the_amount() -> None:
    env = jobs(Job("some", "Spring-0/pour", values={"amount#L": 2.0}), Job("dye", "Reed-0/dye"))
    assert env.orders(maps(env, 1.0))[:, 2].tolist() == [0, 4, 2]


def test_a_job_is_done_once_a_day_on_a_plot_unless_again() -> None:
    again = Job("water the driest again", "Spring-0/pour", least=WATER, again=True)
    env, key = jobs(DRIEST, again, CUT), jax.random.key(0)
    step = jax.jit(env.step)
    state, shown = jax.jit(env.reset)(key)
    assert env.observation_space.contains(np.asarray(shown.obs))
    before = env.orders(state.obs)
    np.testing.assert_array_equal(before[1], before[2])
    state, _ = step(key, state, np.int32(1), env.params)
    after = env.orders(state.obs)
    assert after[1, 1] != before[1, 1] == after[2, 1]
    state, _ = step(key, state, np.int32(3), env.params)
    assert env.action_mask(state, env.params).tolist() == [True, True, True, False]
    state, shown = step(key, state, np.int32(3), env.params)  # the next possible job: water the driest
    assert int(state.inner.inner.day) == 1 and shown.info["accepted"].tolist() == [True, True, True]


@pytest.mark.parametrize("action", [0, 1, 2])
def test_without_a_possible_job_the_day_passes(action: int) -> None:
    env, key = jobs(CUT, Job("cut more", "Reed-0/cut")), jax.random.key(0)
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
        (Job("x", "Spring-0/pours"), r"jobs > x: expected a known order, .*'Spring-0/pours'; try 'Spring-0/pour'"),
        (
            Job("x", "Spring-0/pour", least="Spring-0/water"),
            "jobs > x: .* channel, .*try 'Spring-0/available_W",
        ),
        (Job("x", "Spring-0/pour", least=WATER, most=WATER), "jobs > x: expected most or least, got both"),
        (Job("x", "Spring-0/pour", values={"amount#L": 7.0}), "amount#L: expected a number in"),
        (Job("x", "Spring-0/pour", values={"amounts": 1.0}), "amounts"),
    ],
)
def test_mistakes_have_the_nearest_name(job: Job, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        jobs(job)
    with pytest.raises(ConfigError, match="jobs: expected at least one, got none"):
        jobs()
