"""The stock that remains when an episode is truncated is paid, so selling off at the end does not pay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import rollout
from harvestgym.fishing import FishingEnv, control, drop_in
from harvestgym.fishing.analysis.reference_points import find_best_escapement
from harvestgym.fishing.family import from_yaml, make
from harvestgym.fishing.model import FishingModel
from harvestgym.fishing.shared_stock import share_stock
from tests.long_form import long

YEARS = 20
SELL_ALL = 1e-6
"""Last target of a policy that sells off almost the whole stock, which does not collapse."""


def sell_off(env: FishingModel, target: float, last: float, years: int = 1) -> Policy:
    """Make the policy that leaves `target`, and `last` in the last years."""

    def act(year: Any, obs: Any, key: Any) -> Any:
        left = jnp.where(year < YEARS - years, target, last)
        return year + 1, env.units.action(jnp.maximum(env.units.survey(obs) - left, 0.0))

    return Policy(jnp.int32(0), act)


def run(env: FishingModel, policy: Policy, years: int = YEARS, episodes: int = 1) -> Any:
    return jax.device_get(rollout(env, policy, jax.random.key(0), episodes, years))


def earn(env: FishingModel, policy: Policy, episodes: int = 1) -> float:
    return float(run(env, policy, YEARS, episodes).reward.sum(0, dtype=np.float64).mean())


@pytest.mark.parametrize("years", [pytest.param(1, marks=long), 2, pytest.param(5, marks=long)])
def test_selling_off_earns_no_more_than_constant_escapement(years: int) -> None:
    """Without noise, exactly: at S*, the last unit grows by nothing, so any other last target loses."""
    env = make("logistic-v0", sigma=0.0, Tmax=YEARS)
    best = find_best_escapement(env.params.law)
    constant = earn(env, sell_off(env, best, best))
    assert constant == pytest.approx(0.75 + YEARS * 0.075, abs=1e-4)
    for last in (SELL_ALL, 0.3, 0.45, 0.55, 0.7):
        assert earn(env, sell_off(env, best, last, years)) <= constant + 1e-5
    assert earn(env, sell_off(env, best, SELL_ALL, years)) < constant - 0.05
    unpriced = make("logistic-v0", sigma=0.0, Tmax=YEARS, final_price=0.0)
    assert earn(unpriced, sell_off(unpriced, best, SELL_ALL)) > earn(unpriced, sell_off(unpriced, best, best)) + 0.4


def test_selling_off_loses_with_noise() -> None:
    env = make("logistic-v0", Tmax=YEARS)
    constant, sold = (earn(env, sell_off(env, 0.5, last), 400) for last in (0.5, SELL_ALL))
    assert sold < constant - 0.05


@pytest.mark.parametrize("name", ["logistic-v0", "walleye-v0", "patches-v0", "three-species-v0"])
def test_only_the_year_that_truncates_pays_for_the_stock_of_all_targets(name: str) -> None:
    """All other rewards are those without a final price; the stock that cannot be caught has no price."""
    more: Any = {"Tmax": 4, "price": 2.0}
    env, unpriced = make(name, **more), make(name, final_price=0.0, **more)
    policy = control.rate(env, 0.1)
    paid, plain = run(env, policy, 4, 3), run(unpriced, policy, 4, 3)
    np.testing.assert_allclose(paid.reward[:-1], plain.reward[:-1], rtol=1e-6)
    np.testing.assert_allclose(plain.reward, 2.0 * plain.info["catch"], rtol=1e-5)
    key = jax.random.key(1)
    state, last = env.reset(key)
    for _ in range(4):
        state, last = env.step(key, state, policy.act((), last.obs, key)[1])
    left = env.law(state, env.params).available(state.stock)
    assert left.shape == (env.units.targets,) and bool(last.truncated)
    assert float(last.reward) == pytest.approx(2.0 * float(last.info["catch"] + left.sum()), rel=1e-5)


def test_an_episode_that_terminates_pays_nothing_for_its_stock() -> None:
    """Below `collapse`, the stock that remains has no price, not even in the last year of the horizon."""
    env = make("logistic-v0", sigma=0.0, Tmax=1, collapse=0.5)
    for target, pays in ((0.3, 0.45), (0.6, 0.15 + 0.6 + 0.3 * 0.6 * 0.4)):
        path = run(env, control.escapement(env, target), 1)
        assert bool(path.terminated[0, 0]) == (target < 0.5) != bool(path.truncated[0, 0])
        assert float(path.reward[0, 0]) == pytest.approx(pays, abs=1e-5)


@pytest.mark.parametrize(("threshold", "pays"), [(0.9, 0.25), (0.1, 0.25 + 0.575)])
def test_an_overridden_end_of_the_episode_pays_nothing_either(threshold: float, pays: float) -> None:
    class Closed(FishingEnv):
        def terminal(self, state: Any, params: Any) -> Any:
            return state.stock[0] < threshold

    env = Closed(Tmax=1)
    env.reset(seed=0)
    _, reward, terminated, truncated, _ = env.step(np.array([-0.75], np.float32))
    assert reward == pytest.approx(pays, abs=1e-6) and terminated == (not truncated) == (threshold > 0.5)


def test_the_discounted_return_counts_the_final_stock_in_the_last_year() -> None:
    env = make("logistic-v0", sigma=0.0, Tmax=3, discount=0.5)
    path = run(env, control.quota(env, 0.0), 3)
    stock = path.info["biomass"][-1, 0]
    assert path.info["discounted_return"][-1, 0] == pytest.approx(0.25 * stock, rel=1e-5)


def test_fleets_share_the_final_stock_equally() -> None:
    env = share_stock(make("logistic-v0", sigma=0.0, Tmax=1), 3)
    state, _ = env.reset(jax.random.key(0))
    _, timestep = env.step(jax.random.key(0), state, jnp.full(3, -1.0))
    grown = 0.75 + 0.3 * 0.75 * 0.25
    np.testing.assert_allclose(timestep.info["own"]["reward"], np.full(3, grown / 3), rtol=1e-5)
    assert float(timestep.reward) == pytest.approx(grown, rel=1e-5)


def test_the_final_price_is_the_price_unless_it_is_given(tmp_path: Path) -> None:
    """In files, `make`, and `FishingEnv`; the stand-ins for published environments pay nothing."""
    file = tmp_path / "mine.yaml"
    file.write_text("law: {kind: fox, r: 0.4, K: 2.0}\nprice: 3.0\n")
    assert float(from_yaml(file).params.final_price) == 3.0
    file.write_text("law: {kind: fox, r: 0.4, K: 2.0}\nprice: 3.0\nfinal_price: 1.5\n")
    assert float(from_yaml(file).params.final_price) == 1.5
    cases: list[tuple[Any, float]] = [({}, 1.0), ({"price": 2.0}, 2.0), ({"price": 2.0, "final_price": 0}, 0.0)]
    for given, expected in cases:
        assert float(make("logistic-v0", **given).params.final_price) == expected
        assert float(FishingEnv(**given).model.params.final_price) == expected
    for published in (make("allee-published-v0"), drop_in.make("fishing-v1").model):
        assert float(published.params.final_price) == 0.0
    with pytest.raises(ConfigError, match="final_price"):
        make("logistic-v0", final_price=-1.0)
    with pytest.raises(ConfigError, match="final_price: expected none, because it has no effect in problem 'recovery'"):
        make("recovery-ricker-v0", final_price=1.0)
