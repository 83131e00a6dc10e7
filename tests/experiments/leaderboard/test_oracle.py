"""The oracle follows the rewards that the world reports."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from experiments.leaderboard.oracle import InformedForager, make_oracle
from harvestgym.core.rollout import evaluate
from harvestgym.forager.family import make, policies
from harvestgym.forager.policies.navigator import navigator
from harvestgym.testing import check_env
from tests.forager.policies.test_navigator import KEY, STEPS, earn
from tests.long_form import long


@long
def test_the_expert_learns_a_random_series_that_the_oracle_reads() -> None:
    """Means over 32 lives of 720 steps; one that ignores what was paid stays with the first food, good or bad."""
    env = make("unending-v0")
    expert, ignorant = policies(env)["expert"], policies(env)["expert"]._replace(learn=lambda carry, last: carry)
    oracle = make_oracle(env)
    assert oracle is not None
    learned, ignored = (float(evaluate(env, policy, KEY, 32, STEPS).returns.mean()) for policy in (expert, ignorant))
    read = float(evaluate(*oracle, KEY, 32, STEPS).returns.mean())
    assert read > 0.25 * STEPS and learned > 0.6 * read and learned > ignored + 0.1 * STEPS


@long
def test_only_a_world_that_hides_rewards_has_an_oracle() -> None:
    """Elsewhere it would be the expert, who knows all that an oracle reads."""
    env = make("weather-v0")
    numbers = dict[str, Any](env.expert.numbers)
    informed = InformedForager.inform(env)
    reader, expert = navigator(informed, **numbers), policies(env)["expert"]
    assert earn(informed, reader, steps=60) == pytest.approx(earn(env, expert, steps=60))
    assert make_oracle(env) is None


@long
def test_an_informed_world_reports_the_rewards_that_it_pays() -> None:
    env = InformedForager.inform(make("unending-v0"))
    step, (state, seen) = jax.jit(env.step), env.reset(KEY, env.params)
    paid = 0
    for i in range(150):
        worth = np.asarray(seen.obs["worth"])
        state, seen = step(KEY, state, i % 4 if i % 9 else 0, env.params)
        if int(state.hit) >= 0 and env.world.kinds[int(state.hit)].collectable:
            assert float(seen.reward) == pytest.approx(worth[int(state.hit)], rel=1e-5)
            paid += 1
    assert paid > 0


@long
def test_an_informed_world_keeps_the_contract() -> None:
    check_env(InformedForager.inform(make("weather-v0")))
