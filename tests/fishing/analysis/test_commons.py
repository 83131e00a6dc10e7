"""The commons as a game: a closed form from outside, no profitable deviation in the environment, one fleet, errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import par
from harvestgym.core.rollout import evaluate
from harvestgym.fishing import FishingEnv
from harvestgym.fishing.analysis.commons import Strategy, find_equilibrium, respond, share_optimum
from harvestgym.fishing.control import follow_strategy
from harvestgym.fishing.family import make, make_commons, policies
from harvestgym.fishing.growth import GrowthLaw
from harvestgym.fishing.model import copy_fields
from harvestgym.fishing.shared_stock import CommonsModel, share_stock

YEARS = 12


class Power(GrowthLaw):
    """s^alpha, the growth of Levhari and Mirman."""

    alpha: Array = par("alpha", "exponent", low=0.0, high=1.0, default=0.5)

    def __call__(self, left: Array) -> Array:
        return left**self.alpha


@dataclass(frozen=True, repr=False)
class LogUtility(CommonsModel):
    """Fleets whose reward is the logarithm of their catch, plus a constant that makes the end of the stock worse."""

    def worth(self, after: Any, params: Any) -> Array:
        return 5 + jnp.log(jnp.maximum(after.catch, 1e-6))


@pytest.fixture(scope="module")
def commons() -> CommonsModel:
    """Return a short commons without noise."""
    return make_commons(Tmax=YEARS, sigma=0.0)


@pytest.fixture(scope="module")
def greedy(commons: CommonsModel) -> Strategy:
    """Return its equilibrium."""
    return find_equilibrium(commons)


@pytest.mark.parametrize("fleets", [1, 2, 5])
def test_great_fish_war(fleets: int) -> None:
    """Levhari and Mirman 1980: share 1 / (n + alpha discount B), with B = 1 + alpha discount B of the next year."""
    alpha, discount, years = 0.5, 0.9, 6
    alone = FishingEnv(law=Power(), control="rate", Tmax=years, discount=discount, final_price=0.0).core
    shared = share_stock(alone, fleets)
    found = find_equilibrium(LogUtility(**copy_fields(shared, units=replace(shared.units, bound=1.0))))
    seen = np.asarray(found.grid) > 0.4
    slope = 0.0
    for year in reversed(range(years)):
        exact = 1 / (fleets + alpha * discount * slope)
        share = np.minimum(np.asarray(found.request)[year, seen], 1 / fleets)  # of all there is, an equal share
        assert share == pytest.approx(np.full(seen.sum(), exact), rel=0.06), year
        slope = 1 + alpha * discount * slope


def play(env: CommonsModel, strategy: Strategy, year: Array, request: Array) -> Array:
    """Return the return of fleet 0, which makes another request than all others in one year."""
    policy = follow_strategy(env, strategy)

    def step(carry: Any, now: Array) -> Any:
        state, obs, memory = carry
        memory, action = policy.act(memory, obs, jax.random.key(0))
        action = jnp.where(now == year, action.at[0].set(env.units.action(request[None])[0]), action)
        state, last = env.step(jax.random.key(0), state, action)
        return (state, last.obs, memory), last.info["own"]["reward"][0]

    state, first = env.reset(jax.random.key(0))
    return jax.lax.scan(step, (state, first.obs, policy.init), jnp.arange(YEARS))[1].sum()


def test_no_deviation_in_any_year_pays(commons: CommonsModel, greedy: Strategy) -> None:
    """In the environment itself: fleet 0 tries 101 rates in each year, and gains at most 0.1 % of the equilibrium."""
    tried = jnp.linspace(0, 1, 101)
    find = jax.jit(jax.vmap(jax.vmap(partial(play, commons, greedy), (None, 0)), (0, None)))
    honest = float(play(commons, greedy, jnp.int32(-1), jnp.float32(0)))
    returns = np.asarray(find(jnp.arange(YEARS), tried))
    assert honest == pytest.approx(greedy.start, rel=5e-3)
    assert returns.shape == (YEARS, 101) and returns.max() - honest < 1e-3 * honest
    assert returns.min() < 0.9 * honest, "requests matter"


def test_the_best_response_to_the_equilibrium_gains_nothing(commons: CommonsModel, greedy: Strategy) -> None:
    assert respond(commons, greedy).start - greedy.start < 2e-3 * greedy.start


def test_greed_pays_a_fleet_and_costs_all(commons: CommonsModel, greedy: Strategy) -> None:
    """The tragedy: a cheater earns more than a share of the optimum, and all greedy fleets earn less."""
    best = share_optimum(commons)
    assert respond(commons, best).start > 1.5 * best.start > 3 * greedy.start


def test_one_fleet_is_the_optimum() -> None:
    """With one fleet, equilibrium, best response and shared optimum are the owner's optimum."""
    env = make_commons(1, Tmax=YEARS)
    best = share_optimum(env).start
    assert find_equilibrium(env).start == pytest.approx(best, rel=1e-3)
    assert respond(env, share_optimum(env)).start == pytest.approx(best, rel=1e-3)


def test_without_a_cost_greedy_fleets_take_all_at_once() -> None:
    """With a linear reward the only equilibrium is the largest request in every year: f' < fleets everywhere."""
    found = find_equilibrium(share_stock(make("logistic-v0", Tmax=YEARS, discount=1.0), 5))
    assert np.all(np.asarray(found.request)[:, 1:] == 2.0) and not np.asarray(found.regret).any()
    assert found.start == pytest.approx(0.75 / 5)


@pytest.mark.parametrize("name", ["optimum", "greedy"])
def test_policies_earn_the_computed_value(name: str) -> None:
    env = make_commons(Tmax=YEARS)
    found = {"optimum": share_optimum, "greedy": find_equilibrium}[name](env)
    returns = np.asarray(evaluate(env, policies(env)[name], jax.random.key(1), 400, YEARS).returns)
    error = 4 * float(returns.std()) / 20
    assert returns.mean() == pytest.approx(5 * found.start, abs=error + 2e-3)


def test_mistakes_are_refused() -> None:
    with pytest.raises(ConfigError, match="commons: expected harvest first"):
        find_equilibrium(make_commons(order="growth first"))
    with pytest.raises(ConfigError, match="commons: expected growth noise without correlation"):
        share_optimum(make_commons(correlation=0.5))
