"""Observation costs: their total is the sum of the steps, whoever observes, and changes nothing else."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.observation_costs import OBSERVATION_COST, TOTAL_COST, CostLog
from harvestgym.core.policy import constant_policy, random_policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate.run import horizon
from harvestgym.farm.engine.model import FarmModel
from tests.evaluate.reeds import DAYS, LOOK, reeds
from tests.long_form import long

KEY, SEASONS = jax.random.key(3), 8


@pytest.fixture(scope="module")
def farm() -> FarmModel:
    return reeds(mode="ao")


@pytest.mark.parametrize("every_morning", [0, 1])
def test_the_total_is_the_price_times_the_observations(farm: FarmModel, every_morning: int) -> None:
    """A day is two half-steps, and what is asked for in the evening half is not observed and not paid."""
    policy = constant_policy({"order": 0, "request": np.full(1, every_morning, np.int32)})
    episodes = evaluate(CostLog(farm), policy, KEY, SEASONS, horizon(farm))
    np.testing.assert_allclose(episodes.info[TOTAL_COST], DAYS * LOOK * every_morning, rtol=1e-4, atol=1e-7)


def test_the_total_is_the_sum_of_the_steps(farm: FarmModel) -> None:
    env, policy = CostLog(farm), random_policy(farm)
    step = jax.jit(env.step)
    state, timestep = env.reset(KEY, env.params)
    assert float(timestep.info[TOTAL_COST]) == 0
    paid = 0.0
    for t in range(6):
        now = jax.random.fold_in(KEY, t)
        action = policy.act((), timestep.obs, now)[1]
        state, timestep = step(now, state, action, env.params)
        paid += float(timestep.info[OBSERVATION_COST])
        assert float(timestep.info[TOTAL_COST]) == pytest.approx(paid, abs=1e-6)
    assert paid > 0


@long
def test_nothing_else_changes(farm: FarmModel) -> None:
    policy = random_policy(farm)
    logged, plain = (evaluate(env, policy, KEY, SEASONS, horizon(farm)) for env in (CostLog(farm), farm))
    np.testing.assert_array_equal(logged.returns, plain.returns)
    np.testing.assert_array_equal(logged.length, plain.length)
    assert logged.info.keys() - plain.info.keys() == {TOTAL_COST}
    assert unwrapped(CostLog(farm)) is farm


def test_a_new_episode_starts_from_nothing(farm: FarmModel) -> None:
    env = CostLog(farm)
    state, _ = env.reset(KEY, env.params)
    spent = state._replace(paid=jnp.float32(7.0))
    _, first = env.again(KEY, spent, jnp.asarray(True), env.params)
    assert float(first.info[TOTAL_COST]) == 0
