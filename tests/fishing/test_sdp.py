"""Dynamic programming against Clark's and Reed's theorems, and against what is known of non-concave laws."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.fishing import driver
from harvestgym.fishing.make import make, policies
from harvestgym.fishing.sdp import solve
from harvestgym.fishing.truth import escapement, reference

CELL = 2.0 / 400


@pytest.mark.parametrize("discount", [0.9, 0.95, 0.99, 0.999])
def test_constant_escapement_without_noise(discount: float) -> None:
    """The optimum is max(x - S*, 0) everywhere, S* by Clark's rule, to a grid cell."""
    env = make("logistic-v0", noise={"kind": "lognormal", "sigma": 0.0})
    found = solve(env, discount=discount)
    best = escapement(env.params.law, discount)
    exact = np.maximum(np.asarray(found.grid) - best, 0.0)
    assert np.abs(np.asarray(found.harvest) - exact).max() <= CELL
    assert float(found.residual) < 2e-5 and float(found.overflow) == 0.0


@pytest.mark.parametrize("width", [0.0, 0.05, 0.1, 0.13])
def test_reed(width: float) -> None:
    """Uniform shocks leave S* where it is as long as the stock sustains itself: until w = 0.134."""
    env = make("logistic-v0", noise={"kind": "uniform", "sigma": width})
    found = solve(env, n=1001, discount=0.99)
    assert float(found.target[-1]) == pytest.approx(0.48316, abs=2.1e-3)


@pytest.mark.parametrize(("width", "best"), [(0.2, 0.4864), (0.3, 0.4976), (0.4, 0.5144), (0.5, 0.5328)])
def test_beyond_reed(width: float, best: float) -> None:
    """Wider shocks raise S*, by as much as an independent solver found."""
    env = make("logistic-v0", noise={"kind": "uniform", "sigma": width})
    assert float(solve(env, n=1001, discount=0.99).target[-1]) == pytest.approx(best, abs=3e-3)


def test_value_of_the_deterministic_optimum() -> None:
    """At x >= S*: x - S* now, f(S*) - S* every year after."""
    env = make("logistic-v0", noise={"kind": "none"})
    found = solve(env, n=1001, discount=0.95)
    best = escapement(env.params.law, 0.95)
    yearly = best + 0.3 * best * (1 - best) - best
    value = 0.75 - best + 0.95 / 0.05 * yearly
    assert np.interp(0.75, found.grid, found.value) == pytest.approx(value, rel=1e-4)


def test_finite_horizon_liquidates() -> None:
    """Over 101 undiscounted years: 0.25 first, MSY every year, and all that is left at the end; 8.25 in sum."""
    env = make("logistic-v0", noise={"kind": "none"}, Tmax=101)
    found = solve(env, n=801, discount=1.0, years=101)
    assert np.interp(0.75, found.grid, found.value[0]) == pytest.approx(8.25, abs=2e-3)
    assert float(found.target[-1].max()) == 0.0


def test_allee_is_not_constant_escapement() -> None:
    """Doomed stocks are fished out, hopeful ones are spared."""
    env = make("tipping-v0", noise={"kind": "none"})
    found = solve(env, discount=0.99)
    grid, target = np.asarray(found.grid), np.asarray(found.target)
    assert target[grid < 0.495].max() == 0.0
    between = (grid > 0.51) & (grid < 0.76)
    assert np.array_equal(target[between], grid[between])
    assert target[-1] == pytest.approx(0.77, abs=CELL)


def test_cost_of_effort_raises_escapement() -> None:
    """A thin stock is dear to catch (Clark 1990), so more is left."""
    free, dear = (solve(make("logistic-v0", cost=c), discount=0.99).target[-1] for c in (0.0, 0.2))
    assert float(dear) > float(free) + 2 * CELL


def test_driver_plan_beats_a_steady_action() -> None:
    """Tipping point without noise: the plan's promised value is what it earns, above every steady action."""
    env = make("driver-calm-v0", Tmax=150)
    plan = driver.plan(env, env.params, 150, n=101, m=101)
    from harvestgym.core.rollout import evaluate

    def earned(policy: object) -> float:
        return float(evaluate(env, policy, jax.random.key(0), 1, 150).returns[0])  # type: ignore[arg-type]

    best = earned(driver.follow(env, plan))
    promised = np.interp(0.8, plan.stock, np.asarray(plan.value)[:, 38])
    assert best == pytest.approx(promised, rel=0.01)
    assert best > max(earned(driver.steady(env, a)) for a in (0.0, 0.2, 0.3, 0.35, 0.37, 0.4))


def test_refusals() -> None:
    """What the solver cannot do, it says."""
    with pytest.raises(ConfigError, match="one stock"):
        solve(make("patches-v0"))
    with pytest.raises(ConfigError, match="discount < 1"):
        solve(make("logistic-v0"), discount=1.0)
    assert "sdp" not in policies(make("patches-v0"))


def test_depensation_reference_matches_sdp() -> None:
    """For Myers without noise and little discounting the target is S_MSY."""
    env = make("myers-v0", noise={"kind": "none"})
    step = env.units.bound / 400
    best = reference(env.params.law).escapement
    assert float(solve(env, discount=0.999).target[-1]) == pytest.approx(best, abs=2 * step)
