"""The first season of seed s of a study is the episode of `reset(seed=s)` of what it studies, for all its arms."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.studies import fishing, forager, memory, risk
from experiments.studies.common.trials import WATER, Case, make_trial_farm, run_seasons, soil_of
from harvestgym.core.env import Env
from harvestgym.core.episode import seed_key
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.rollout import rollout
from harvestgym.evaluate.record import record_episode
from harvestgym.fishing import control
from harvestgym.fishing.family import make as make_fishery
from harvestgym.gym.env import GymEnv

SEED = 11


def play(env: Env[Any, Any], policy: Policy, seed: int) -> float:
    """Return the return of the episode of `reset(seed=seed)` under a policy."""
    assert isinstance(policy, Policy)
    return float(record_episode("fishing/logistic-v0", env, policy, seed)["reward"][1:].sum())


def test_trials() -> None:
    """Two cases of one farm have the weather and the soil of the episode, day by day."""
    days = 20
    farm = make_trial_farm([("Weather", "montpellier"), ("Soil", "clay"), ("Plant", "bean")], days=days)

    def watch(state: Any, report: Any) -> dict[str, Any]:
        return {"water": soil_of(state).water.sum(), "warmth": state.fields[0][0].temperature.sum()}

    def leave(litres: Any, state: Any) -> list[Any]:
        return [(WATER, False, (litres, 60.0))]

    found = run_seasons([Case({}, farm, jnp.float32(a)) for a in (0.0, 1.0)], leave, watch, 2, SEED)
    env = GymEnv(farm)
    env.reset(seed=SEED)
    for day in range(days):
        env.step(np.zeros(farm.schedule, int))
        for name, value in watch(env.run_state.state, None).items():
            np.testing.assert_allclose(found[name][:, 0, day], value, rtol=1e-5)
    assert (found["warmth"][0, 0] != found["warmth"][0, 1]).any()


def test_fisheries() -> None:
    env, problem = make_fishery("logistic-random-v0"), fishing.make_tipping_problem()
    policy = control.escapement(env, 0.4)
    assert memory.run_policy(env, policy, 2, SEED)[0] == pytest.approx(play(env, policy, SEED), rel=1e-4)
    noisy = make_fishery("tipping-v0", sigma=0.2, Tmax=100, final_price=0.0)
    returns = risk.run_escapements(0.2, (0.4, 0.6), SEED, 2).returns[:, 0]
    assert returns == pytest.approx([play(noisy, control.escapement(noisy, left), SEED) for left in (0.4, 0.6)], 1e-4)
    idle = fishing.tipping.steady_push(problem, 0.0)
    (row,) = fishing.run_rules("tipping", problem, {("none", ""): idle}, SEED, 1)
    assert row.mean == pytest.approx(play(problem, idle, SEED), rel=1e-4)


def test_lives_of_foragers() -> None:
    """Agents with a fixed policy live the life of the seed that they have in every tool."""
    world, steps = forager.make_changing_world(), 300
    agents = forager.make_agents(world)
    for name, policy in (("random", random_policy(world)), ("fixed: greedy on first worths", forager.greedy(world))):
        lives = forager.run_lives(world, agents[name], 2, steps, SEED)
        made = rollout(world, policy, seed_key(SEED), 2, steps)
        np.testing.assert_array_equal(lives[0], np.asarray(made.reward)[:, 0])
        assert (lives[0] != lives[1]).any()
