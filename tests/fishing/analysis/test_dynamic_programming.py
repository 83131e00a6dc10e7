"""Dynamic programming against Clark's and Reed's theorems, and against what is known of non-concave laws."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.rollout import evaluate
from harvestgym.fishing.analysis import tipping
from harvestgym.fishing.analysis.dynamic_programming import best_return, find_optimum, solve, stationary_return
from harvestgym.fishing.analysis.reference_points import find_best_escapement, find_reference_point
from harvestgym.fishing.control import follow_solution
from harvestgym.fishing.family import make, policies, summary
from tests.long_form import long

CELL = 2.0 / 400


@pytest.mark.parametrize("discount", [0.9, 0.95, 0.99, 0.999])
def test_constant_escapement_without_noise(discount: float) -> None:
    """The optimum is max(x - S*, 0) everywhere, S* by Clark's rule, to a grid cell."""
    env = make("logistic-v0", noise={"kind": "lognormal", "sigma": 0.0})
    found = solve(env, discount=discount)
    best = find_best_escapement(env.params.law, discount)
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
    best = find_best_escapement(env.params.law, 0.95)
    yearly = best + 0.3 * best * (1 - best) - best
    value = 0.75 - best + 0.95 / 0.05 * yearly
    assert np.interp(0.75, found.grid, found.value) == pytest.approx(value, rel=1e-4)


def test_finite_horizon_liquidates() -> None:
    """Over 101 undiscounted years, if the end pays nothing: 0.25 first, MSY every year, and then the rest; 8.25."""
    env = make("logistic-v0", noise={"kind": "none"}, Tmax=101, final_price=0.0)
    found = solve(env, n=801, discount=1.0, years=101)
    assert np.interp(0.75, found.grid, found.value[0]) == pytest.approx(8.25, abs=2e-3)
    assert float(found.target[-1].max()) == 0.0


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_a_priced_final_stock_leaves_no_end_effect(sigma: float) -> None:
    """Reed 1979: with V_T(x) = price x, constant escapement is optimal in every year of a finite horizon."""
    env = make("logistic-v0", sigma=sigma, Tmax=12)
    found = solve(env, years=12, discount=1.0, n=801)
    target, there = np.asarray(found.target), np.asarray(found.grid)
    best = find_best_escapement(env.params.law, 1.0)
    assert np.abs(target - np.minimum(there, best)).max() <= CELL / 2 + 1e-6
    value = 0.75 - best + 12 * 0.075 + best  # sold down to S*, MSY every year but the last, and the final stock
    if sigma == 0.0:
        assert np.interp(0.75, found.grid, found.value[0]) == pytest.approx(value, abs=2e-4)


@pytest.mark.parametrize("order", ["harvest first", "growth first"])
def test_the_year_is_worth_nothing_to_know(order: str) -> None:
    """The optimum that knows the horizon earns what the stationary rule earns, to a grid cell."""
    env = make("logistic-v0", Tmax=30, order=order)
    stationary, best = stationary_return(env), best_return(env)
    assert stationary is not None and best is not None
    assert 0 <= best - stationary + 1e-5 < CELL


@long
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


@long
def test_driver_plan_beats_a_steady_action() -> None:
    """Tipping point without noise: the plan's promised value is what it earns, above every steady action."""
    env = make("driver-v0", noise={"kind": "none"}, Tmax=150)
    plan = tipping.plan_actions(env, env.params, 150, n=101, m=101)

    def earned(policy: object) -> float:
        return float(evaluate(env, policy, jax.random.key(0), 1, 150).returns[0])  # type: ignore[arg-type]

    best = earned(tipping.follow_plan(env, plan))
    promised = np.interp(0.8, plan.stock, np.asarray(plan.value)[:, 38])
    assert best == pytest.approx(promised, rel=0.01)
    assert best > max(earned(tipping.steady_push(env, a)) for a in (0.0, 0.2, 0.3, 0.35, 0.37, 0.4))


def test_refusals() -> None:
    """The solver reports the problems that it cannot solve."""
    with pytest.raises(ConfigError, match="one stock"):
        solve(make("patches-v0"))
    with pytest.raises(ConfigError, match="discount < 1"):
        solve(make("logistic-v0"), discount=1.0)
    with pytest.raises(ConfigError, match="one law for all episodes"):
        solve(make("logistic-random-v0"))
    with pytest.raises(ConfigError, match="an action that is a catch"):
        solve(make("recovery-ricker-v0"))
    assert "sdp" not in policies(make("patches-v0"))


def test_errors_make_it_only_a_bound() -> None:
    """A solution that ignores survey and quota errors says so, in both orders."""
    for order in ("harvest first", "growth first"):
        found = {
            name: solve(make(name, order=order), n=51).only_bound for name in ("logistic-survey-v0", "logistic-v0")
        }
        assert found == {"logistic-survey-v0": True, "logistic-v0": False}


def test_growth_first_without_noise() -> None:
    """As in gym_fishing: the same S* is left, so the optimum is max(f(x) - S*, 0), and V(f(x)) shifts by growth."""
    env = make("logistic-v0", noise={"kind": "none"}, order="growth first")
    found = solve(env, discount=0.99)
    best, law = find_best_escapement(env.params.law, 0.99), env.params.law
    exact = np.maximum(np.asarray(law(found.grid)) - best, 0.0)
    assert np.abs(np.asarray(found.harvest) - exact).max() <= CELL
    yearly = float(law(best)) - best  # type: ignore[arg-type]
    value = 0.75 + 0.3 * 0.75 * 0.25 - best + 0.99 / 0.01 * yearly
    assert np.interp(0.75, found.grid, found.value) == pytest.approx(value, rel=2e-4)
    assert float(found.residual) < 2e-5


@long
@pytest.mark.parametrize("control", ["quota", pytest.param("rate", marks=long)])
def test_growth_first_earns_what_it_promises(control: str) -> None:
    """With noise, through quotas or rates, the policy of 20 years earns its value, to five errors and a grid cell."""
    env = make("logistic-v0", order="growth first", control=control, cost=0.05, Tmax=20)
    whole = jax.device_get(evaluate(env, policies(env)["sdp-finite"], jax.random.key(0), 4000, 20))
    regret = summary(env, whole)["regret"]
    assert abs(regret.mean()) < 5 * regret.std() / np.sqrt(4000) + CELL


def test_growth_first_drifts_and_ends() -> None:
    """As growth falls off, less is taken; in the last year, an unpriced stock is taken as a whole."""
    found = solve(make("drifting-v0", order="growth first", final_price=0.0), years=60, n=201)
    there = np.asarray(found.there)
    assert there[0, 50] > there[59, 50] + 0.05
    assert np.asarray(found.target[-1]).max() < 1e-3 and np.asarray(found.target[0]).max() > 0.1


def test_depensation_reference_matches_sdp() -> None:
    """For Myers without noise and little discounting the target is S_MSY."""
    env = make("myers-v0", noise={"kind": "none"})
    step = env.units.bound / 400
    best = find_reference_point(env.params.law).escapement
    assert float(solve(env, discount=0.999).target[-1]) == pytest.approx(best, abs=2 * step)


@pytest.mark.parametrize(
    "change",
    [
        {"levels": 3},
        pytest.param({"levels": 3, "order": "growth first"}, marks=long),
        {"levels": 5, "control": "rate"},
        pytest.param({"levels": 2, "cost": 0.05}, marks=long),
    ],
)
def test_levels_are_honoured(change: dict[str, Any]) -> None:
    """The rule earns as much as its optimum claims, and less than continuous quotas earn."""
    years, episodes = 40, 3000
    env = make("logistic-v0", Tmax=years, **change)
    found, claimed = find_optimum(env), best_return(env)
    assert found is not None and claimed is not None
    earned = evaluate(env, follow_solution(env, found), jax.random.key(0), episodes, years).info["discounted_return"]
    assert claimed == pytest.approx(float(np.mean(earned)), abs=4 * float(np.std(earned)) / episodes**0.5 + 0.005)
    smooth = best_return(make("logistic-v0", Tmax=years, **(change | {"levels": 0})))
    assert smooth is not None and claimed < smooth


@long
@pytest.mark.parametrize("order", ["harvest first", "growth first"])
def test_the_stationary_return_is_that_of_the_endless_optimum(order: str) -> None:
    years, episodes = 30, 3000
    env = make("logistic-v0", Tmax=years, order=order, final_price=0.0)
    claimed, best = stationary_return(env), best_return(env)
    assert claimed is not None and best is not None and claimed < best - 0.2
    earned = evaluate(env, follow_solution(env, solve(env)), jax.random.key(0), episodes, years).info
    assert claimed == pytest.approx(float(np.mean(earned["discounted_return"])), abs=0.02)
    assert stationary_return(make("drifting-v0")) is None
