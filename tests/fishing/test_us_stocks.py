"""The fitted US stocks are complete and consistent, and their fisheries follow the fits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.fishing import us_stocks
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.growth import OneOf

STOCK = "fishing/us-stock-v0"
CONTEXT = "fishing/us-stocks-v0"


def test_the_table_has_the_reference_points_of_its_laws() -> None:
    """MSY, B_MSY and F_MSY of the table agree with those that are computed from its law."""
    assert len(us_stocks.read_stocks()) > 60
    for name, stock in list(us_stocks.read_stocks().items())[::6]:
        params = harvestgym.make(STOCK, stock=name).params
        point = find_reference_point(params.law)
        assert (point.catch, point.stock, point.rate) == pytest.approx((stock.msy, stock.b_msy, stock.f_msy), rel=2e-3)
        assert float(params.price) * stock.msy == pytest.approx(1.0, rel=1e-5)
        assert stock.last_year - stock.first_year >= 19


def test_the_splits_share_no_stock() -> None:
    train, test = us_stocks.list_stocks("train"), us_stocks.list_stocks("test")
    assert sorted(train + test) == us_stocks.list_stocks("all")
    assert 0.2 < len(test) / (len(train) + len(test)) < 0.45
    for side, names in {"train": train, "test": test}.items():
        (which,) = splits.make(CONTEXT, side).params.vary.sets["start"].shape
        assert which == len(names)


def test_a_drawn_stock_is_the_stock_in_shares_of_its_capacity() -> None:
    """Seeds with the same draws give the same years in tonnes and, with one stock to draw, in shares of K."""
    for name in us_stocks.list_stocks("all")[:3]:
        stock = us_stocks.read_stocks()[name]
        more: Any = {"noise": {"kind": "none"}, "correlation": 0, "Tmax": 10}
        one = harvestgym.make(STOCK, stock=name, control="rate", **more)
        drawn = harvestgym.make(CONTEXT, stocks=[name], **more)
        state, _ = one.reset(jax.random.key(0))
        share, _ = drawn.reset(jax.random.key(0))
        for year in range(10):
            action = jnp.full(1, -0.8)
            state, timestep = one.step(jax.random.key(1), state, action)
            share, other = drawn.step(jax.random.key(1), share, action)
            assert float(share.stock[0] * stock.K) == pytest.approx(float(state.stock[0]), rel=1e-4)
            assert float(other.reward) == pytest.approx(float(timestep.reward), rel=1e-4)
            assert bool(other.truncated) == (year == 9), "the last year also pays for the stock"


@pytest.mark.parametrize(
    ("given", "final"), [({}, "price"), ({"price": 2.0}, 2.0), ({"final_price": 0.0}, 0.0), ({"final_price": 3.0}, 3.0)]
)
def test_the_final_price_of_a_drawn_stock_is_its_price_unless_it_is_given(given: Any, final: Any) -> None:
    env = harvestgym.make(CONTEXT, **given)
    state = env.initial(jax.random.key(0), env.params)
    found = state.drawn.get("final_price", env.params.final_price)
    assert float(found) == float(state.drawn["price"] if final == "price" else final)


def test_growth_noise_is_drawn_with_the_stock() -> None:
    """The yearly errors of an unfished stock at its capacity have the stock's standard deviation and correlation."""
    names = us_stocks.list_stocks("all")
    name = min(names, key=lambda name: us_stocks.read_stocks()[name].sigma)
    stock = us_stocks.read_stocks()[name]
    env = harvestgym.make(CONTEXT, stocks=[name, name], start=1.0)
    keys = jax.random.split(jax.random.key(3), 2000)
    state, _ = jax.vmap(env.reset)(keys)
    errors = []
    for year in range(3):
        law: Any = jax.tree.map(lambda leaf: leaf[0], state.law)
        median = jax.vmap(law)(state.stock)
        state, _ = jax.vmap(env.step, (0, 0, None))(
            jax.random.split(jax.random.key(year), 2000), state, jnp.full(1, -1.0)
        )
        errors.append(np.log(np.asarray(state.stock / median))[:, 0])
    assert np.std(errors[2]) == pytest.approx(stock.sigma, rel=0.08)
    assert np.corrcoef(errors[1], errors[2])[0, 1] == pytest.approx(stock.correlation, abs=0.1)


def test_each_episode_draws_one_of_the_stocks() -> None:
    env = harvestgym.make(CONTEXT)
    state, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2000))
    assert isinstance(env.params.law, OneOf)
    assert len(np.unique(np.asarray(state.drawn["b_msy"]))) == len(us_stocks.list_stocks("train"))


def test_a_start_applies_to_every_stock() -> None:
    """As an entry and as an option of `reset`."""
    for env, options in ((harvestgym.make(CONTEXT, start=0.25), {}), (harvestgym.make(CONTEXT), {"start": 0.25})):
        env, params = env.set_options(env.params, options)
        state = env.initial(jax.random.key(1), params)
        assert float(state.stock[0]) == 0.25


@pytest.mark.parametrize(
    ("id", "options", "expected"),
    [
        (STOCK, {"stock": "haddock-georges-banks"}, "stock: expected a known stock, .* try 'haddock-georges-bank'"),
        (CONTEXT, {"stocks": "tets"}, "stocks: expected a known stock, got 'tets'; try 'test'"),
        (CONTEXT, {"stocks": ["haddock-georges-bnk"]}, "try 'haddock-georges-bank'"),
        (CONTEXT, {"stocks": []}, "stocks: expected"),
    ],
)
def test_an_unknown_stock_is_answered_with_the_nearest(id: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        harvestgym.make(id, **options)
