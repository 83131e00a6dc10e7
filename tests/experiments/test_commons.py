"""The reference returns of the commons: what the file holds, and who acts in a pair of policies."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.commons import RESULTS, pair, play
from harvestgym.core.policy import constant_policy
from harvestgym.fishing.analysis.commons import find_equilibrium, share_optimum
from harvestgym.fishing.family import make_commons


def test_the_file_holds_what_the_solver_computes() -> None:
    """Simulated means agree with the values of the grid, to 2 %."""
    rows = {(row["own"], row["others"]): row for row in json.loads(RESULTS.read_text())["commons"]["pairs"]}
    for name, find in (("optimum", share_optimum), ("greedy", find_equilibrium)):
        row = rows[name, name]
        assert row["computed"] == pytest.approx(find(make_commons()).start, rel=1e-3)
        assert row["own return"][0] == pytest.approx(row["computed"], rel=0.02)


def test_fleet_0_follows_the_first_policy() -> None:
    env = make_commons(3, Tmax=2, final_price=0.0)
    idle, busy = (constant_policy(jnp.full(3, action)) for action in (-1.0, -0.9))
    returns, years = play(env, pair(idle, busy))
    assert np.all(years == 2) and np.all(returns[:, 0] == 0) and np.all(returns[:, 1:] > 0)
