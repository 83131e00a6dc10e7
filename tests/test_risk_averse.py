"""Utilities as rewards: what they pay in all, and that their mean orders samples as the risk measure does."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import import_file
from harvestgym.core.risk import CVaR, Entropic
from harvestgym.core.wrappers import Log, TimeLimit
from harvestgym.testing import check_env
from tests.load_script import ROOT
from tests.toy_env import Stock

example: Any = import_file(ROOT / "examples" / "risk_averse.py")
Exponential, Shortfall, Utility = example.Exponential, example.Shortfall, example.Utility


def run_steps(env: Env[Any, Any]) -> list[Timestep]:
    """Return the Timesteps of nine steps of moderate fishing."""
    state, _ = env.reset(jax.random.key(0), env.params)
    step, seen = jax.jit(env.step), []
    for t in range(9):
        state, timestep = step(jax.random.fold_in(jax.random.key(0), t), state, jnp.int32(1), env.params)
        seen.append(timestep)
    return seen


@pytest.mark.parametrize("utility", [Exponential(0.8), Shortfall(1.0, 0.25)], ids=str)
def test_a_utility_pays_in_all_what_the_return_is_worth(utility: Any) -> None:
    env = Utility(TimeLimit(Stock(shortest=20), 9), utility)
    seen = run_steps(env)
    total = np.cumsum([s.reward for s in run_steps(env.env)])
    paid = np.cumsum([s.reward for s in seen])
    np.testing.assert_allclose(paid, utility(total) - utility(0.0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose([s.info["return so far"] for s in seen], total, rtol=1e-6)
    assert [bool(s.truncated) for s in seen] == [False] * 8 + [True]


def test_a_utility_keeps_the_contract() -> None:
    check_env(Utility(Log(Stock()), Exponential(2.0)), steps=6)


def test_the_mean_utility_orders_samples_as_the_measure_does() -> None:
    """A return of 3 or 1 by the toss of a coin, and one that is sure: which is better depends on the aversion."""
    toss = jnp.asarray([3.0, 1.0])
    for aversion in (0.1, 1.0, 5.0):
        utility, measure = Exponential(aversion), Entropic(aversion=aversion)
        mean = float(jnp.mean(utility(toss)))
        np.testing.assert_allclose(-np.log1p(-aversion * mean) / aversion, measure(np.asarray(toss)), rtol=1e-4)
    for level in (0.25, 0.5, 0.75):
        best = max(float(jnp.mean(Shortfall(z, level)(toss))) for z in (1.0, 1.5, 2.0, 3.0))
        np.testing.assert_allclose(best, CVaR(level=level)(np.asarray(toss)), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Exponential(0.0), "aversion: expected a finite number above 0, got 0"),
        (lambda: Exponential(np.inf), "aversion: expected a finite number above 0, got inf"),
        (lambda: Shortfall(1, 1.5), "level: expected a number above 0, at most 1, got 1.5"),
    ],
)
def test_a_utility_of_no_use_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()
