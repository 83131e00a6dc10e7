"""Plans of continuous actions by gradient: no better than the optimum without noise, better where noise is known."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import harvestgym
from experiments.leaderboard.gradient import RATES, STEPS, plan_by_gradient
from harvestgym.evaluate.run import evaluation_keys, horizon, policy_named, run_episodes

LOGISTIC = "fishing/logistic-v0"


def plan(sigma: float, seasons: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return the returns of the plans and of the optimum in the same seasons."""
    env = harvestgym.make(LOGISTIC, sigma=sigma)
    optimum = policy_named(LOGISTIC, env, "sdp-finite")
    returns, tried = plan_by_gradient(env, evaluation_keys(0, range(seasons)), [optimum], horizon(env))
    assert tried == len(RATES) * STEPS
    return returns, np.asarray(run_episodes(env, optimum, seasons, 0, horizon(env)).returns)


def test_without_noise_there_is_nothing_to_know() -> None:
    """Dynamic programming on a grid misses the best return by less than a hundredth."""
    planned, optimum = plan(0.0, 2)
    assert jnp.all(planned >= optimum * (1 - 1e-6)) and jnp.all(planned < optimum * 1.01)


def test_who_knows_the_noise_earns_more_in_every_season() -> None:
    planned, optimum = plan(0.2)
    assert jnp.all(planned > optimum * 1.02)
