"""The Bellman solver against a tiny independent one in NumPy, and against closed forms."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.analysis.bellman import (
    Backup,
    DecisionProblem,
    evaluate_policy,
    iterate_policies,
    locate_cells,
    pick,
    solve_backwards,
    transition_matrix,
)
from harvestgym.fishing.analysis.dynamic_programming import best_return, find_optimum, solve
from harvestgym.fishing.analysis.tipping import plan_actions, steady_push
from harvestgym.fishing.family import make
from tests.long_form import long

STATES, CHOICES, DISCOUNT = 7, 4, 0.9


def random_problem(seed: int) -> tuple[np.ndarray, np.ndarray, DecisionProblem]:
    """Rewards (state, choice), probabilities (state, choice, next state), and the problem that they make."""
    rng = np.random.default_rng(seed)
    reward, chance = rng.normal(size=(STATES, CHOICES)), rng.dirichlet(np.ones(STATES), size=(STATES, CHOICES))
    gain, moves = jnp.asarray(reward, jnp.float32), jnp.asarray(chance, jnp.float32)

    def improve(value: jax.Array) -> Backup:
        worth = gain + DISCOUNT * (moves @ value)
        return Backup(worth.max(1), worth.argmax(1), worth)

    def follow(choice: jax.Array) -> tuple[jax.Array, jax.Array]:
        return pick(gain, choice), pick(moves, choice)

    return reward, chance, DecisionProblem(improve, follow, jnp.zeros(STATES, bool), jnp.float32(DISCOUNT))


def iterate_values(reward: np.ndarray, chance: np.ndarray, sweeps: int) -> np.ndarray:
    """Value iteration in float64, the slow and sure way."""
    value = np.zeros(len(reward))
    for _ in range(sweeps):
        value = (reward + DISCOUNT * chance @ value).max(1)
    return value


@pytest.mark.parametrize("seed", range(4))
def test_policy_iteration_finds_what_value_iteration_finds(seed: int) -> None:
    reward, chance, problem = random_problem(seed)
    choice, value, residual = iterate_policies(problem)
    exact = iterate_values(reward, chance, 400)
    np.testing.assert_allclose(value, exact, rtol=2e-5)
    np.testing.assert_array_equal(choice, (reward + DISCOUNT * chance @ exact).argmax(1))
    assert float(residual) < 1e-5


def test_a_policy_is_worth_the_sum_of_its_discounted_rewards() -> None:
    reward, chance, problem = random_problem(9)
    choice = np.array([0, 1, 2, 3, 0, 1, 2])
    rows = np.arange(STATES)
    exact = np.linalg.solve(np.eye(STATES) - DISCOUNT * chance[rows, choice], reward[rows, choice])
    np.testing.assert_allclose(evaluate_policy(problem, jnp.asarray(choice)), exact, rtol=2e-5)


def test_nothing_is_gained_where_the_episode_has_ended() -> None:
    reward, chance, problem = random_problem(3)
    ended = jnp.arange(STATES) < 2
    value = evaluate_policy(problem._replace(ended=ended), jnp.zeros(STATES, int))
    inside = np.eye(5) - DISCOUNT * chance[2:, 0, 2:]
    np.testing.assert_allclose(value, [0, 0, *np.linalg.solve(inside, reward[2:, 0])], atol=1e-5)


@pytest.mark.parametrize("years", [1, 3, 20])
def test_a_finite_horizon_is_as_many_sweeps(years: int) -> None:
    reward, chance, problem = random_problem(5)

    def decide(value: jax.Array, year: jax.Array) -> tuple[jax.Array, Any]:
        best = problem.improve(value)
        return best.value, (best.choice, year)

    first, (choices, when) = solve_backwards(decide, jnp.zeros(STATES), years)
    np.testing.assert_allclose(first, iterate_values(reward, chance, years), rtol=1e-5)
    np.testing.assert_array_equal(choices[-1], reward.argmax(1))
    np.testing.assert_array_equal(when, np.arange(years))


def test_cells_interpolate_as_numpy_does() -> None:
    """Inside the grid as `np.interp`, beyond it the last point."""
    grid = jnp.linspace(0.0, 3.0, 13)
    height = jnp.sin(grid)
    values = jnp.linspace(-0.5, 4.0, 50)
    cell, part = locate_cells(values, grid)
    found = height[cell] * (1 - part) + height[cell + 1] * part
    np.testing.assert_allclose(found, np.interp(values, grid, height), atol=1e-5)


def test_a_transition_matrix_conserves_probability_and_the_mean() -> None:
    grid, weight = jnp.linspace(0.0, 2.0, 9), jnp.array([0.2, 0.5, 0.3])
    outcomes = jax.random.uniform(jax.random.key(0), (9, 3), maxval=2.0)
    matrix = transition_matrix(*locate_cells(outcomes, grid), weight)
    np.testing.assert_allclose(matrix.sum(1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(matrix @ grid, outcomes @ weight, rtol=1e-5)


# -- fisheries ---------------------------------------------------------------------------------------------


def solve_by_search(years: int, n: int, cost: float, final_price: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the logistic fishery without noise, every escapement of a grid tried at every stock, in float64.

    The final stock is paid in the last year, so it is not discounted once more.
    """
    grid = np.linspace(0.0, 2.0, n)
    price = grid - cost * np.log(np.maximum(grid, 2e-3))
    value = final_price * grid / 0.95
    for _ in range(years):
        future = 0.95 * np.interp(np.maximum(grid + 0.3 * grid * (1 - grid), 0), grid, value) - price
        total = np.where(grid[None, :] <= grid[:, None], price[:, None] + future[None, :], -np.inf)
        value = np.where(grid > 0, total.max(1), 0.0)
    return value, grid[total.argmax(1)]


@pytest.mark.parametrize(("cost", "final_price"), [(0.0, 0.0), (0.05, 0.0), (0.05, 0.7)])
def test_escapement_form_equals_a_search(cost: float, final_price: float) -> None:
    """The running maximum over escapements finds what trying all of them finds."""
    env = make("logistic-v0", noise={"kind": "none"}, cost=cost, final_price=final_price)
    found = solve(env, n=101, years=12, discount=0.95)
    value, target = solve_by_search(12, 101, cost, final_price)
    np.testing.assert_allclose(found.value[0], value, atol=2e-5)
    assert (np.abs(np.asarray(found.target[0]) - target) < 1e-6).mean() > 0.97


def test_a_long_horizon_becomes_the_infinite_one() -> None:
    env = make("logistic-v0")
    far, ever = (solve(env, n=101, discount=0.9, years=years) for years in (150, None))
    np.testing.assert_allclose(far.value[0], ever.value, rtol=1e-4)
    np.testing.assert_array_equal(far.target[0], ever.target)


def test_value_grows_with_the_stock_and_the_horizon() -> None:
    found = solve(make("logistic-v0"), n=101, years=10)
    value = np.asarray(found.value)
    assert (np.diff(value, axis=1) > 0).all() and (np.diff(value[:, 1:], axis=0) < 0).all()


def test_both_orders_agree_without_growth_noise_up_to_a_year_of_growth() -> None:
    """Harvest first at f(x) is growth first at x: the same stock is there when the quota is taken."""
    first, late = (
        solve(make("logistic-v0", noise={"kind": "none"}, order=order), n=401, discount=0.95)
        for order in ("harvest first", "growth first")
    )
    x = np.linspace(0.3, 0.9, 13)
    grown = x + 0.3 * x * (1 - x)
    np.testing.assert_allclose(
        np.interp(x, late.grid, late.value), np.interp(grown, first.grid, first.value), rtol=2e-3
    )


def test_overflow_is_the_probability_of_leaving_the_grid() -> None:
    """With a grid that ends at K much noise passes its end; with one up to 6 K none does."""
    env = make("logistic-v0", sigma=0.3)
    assert float(solve(env, n=51, bound=1.0, years=2).overflow) > 0.3
    assert float(solve(env, n=51, bound=6.0, years=2).overflow) == pytest.approx(0.0, abs=1e-6)


def test_the_optimum_is_computed_once_for_equal_fisheries() -> None:
    one, same, other = (make("logistic-v0", Tmax=5, r=r) for r in (0.3, 0.3, 0.4))
    assert find_optimum(one) is find_optimum(same) is not find_optimum(other)
    low, high = best_return(one), best_return(other)
    assert low is not None and high is not None and low < high
    assert find_optimum(make("patches-v0")) is None and best_return(make("patches-v0")) is None


def test_refusals_say_what_was_expected() -> None:
    with pytest.raises(ConfigError, match="expected one stock, got 3; try `harvestgym tune`"):
        solve(make("three-species-v0"))
    with pytest.raises(ConfigError, match="expected discount < 1, got 1.0; try a finite horizon"):
        solve(make("logistic-v0"), discount=1.0)


@long
def test_a_plan_is_worth_less_under_more_pressure_and_more_over_more_years() -> None:
    """At every stock of the grid; and what it asks for is between no action and the bound."""
    env: Any = make("driver-v0", noise={"kind": "none"})
    short, long = (plan_actions(env, env.params, years, n=21, m=21, choices=5) for years in (10, 40))
    assert (np.diff(long.value, axis=1) <= 1e-4).all()
    assert (np.asarray(long.value) >= np.asarray(short.value) - 1e-4).all()
    assert long.action.shape == (40, 21, 21)
    assert float(long.action.min()) >= 0 and float(long.action.max()) <= env.units.bound


def test_a_steady_push_is_the_action_asked_for() -> None:
    env: Any = make("driver-v0", noise={"kind": "none"})
    _, action = steady_push(env, 0.37).act(steady_push(env, 0.37).init, jnp.zeros(1), jax.random.key(0))
    assert float(env.units.wanted(action)[0]) == pytest.approx(0.37, abs=1e-6)
