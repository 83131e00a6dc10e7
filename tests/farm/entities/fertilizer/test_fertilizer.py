"""Fertilizers: grams of nutrients from the bag to the soil, none of them lost on the way."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.fertilizer import Fertilizer
from harvestgym.farm.entities.spreadable import Pile, released_amount
from tests.farm.entities.test_spreadable import LOAM, morning, pile
from tests.farm.messages import air
from tests.farm.soil_plant_day import board, earth, field, share_of

SETS = ("basic_N", "basic_P", "basic_K", "basic_all", "slow_all", "fast_all", "urea", "compost")


@pytest.mark.parametrize(("which", "only"), [("basic_N", 0), ("basic_P", 1), ("basic_K", 2)])
def test_one_nutrient_is_set_free(which: str, only: int) -> None:
    place, today = morning(kind := Fertilizer.named(which))
    got = np.asarray(kind.feed(pile(0.01), place, today, {}).nutrients)[:, 0, 0]
    wanted = np.zeros(4)
    wanted[only] = 10 * (1 - math.exp(-float(kind.speed) / 7))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("which", SETS)
def test_no_more_nutrients_than_mass(which: str) -> None:
    kind = Fertilizer.named(which)
    assert 0 < float(np.sum(kind.shares)) <= 1 + 1e-6
    held = kind.holds(pile(2.0))["nutrients"]
    np.testing.assert_allclose(held[:, 0, 0], 2000 * kind.shares, rtol=1e-6)


def test_more_nutrients_than_mass_are_refused() -> None:
    with pytest.raises(ConfigError, match="expected a sum of at most 1, got 1.75"):
        Fertilizer.named({"extends": "basic_all", "N#%": 1})


def test_a_rounding_of_the_sum_of_shares_is_forgiven() -> None:
    """Up to a millionth of the mass."""
    shares = np.asarray([1e-6, 0.0, 0.0, 1.0])
    assert list(replace(Fertilizer.named("basic_all"), shares=shares).check()) == []


def test_any_amount_is_scattered_per_square_metre() -> None:
    kind = Fertilizer.named("urea")
    laid = kind.scatter(pile(0.0), field(scale=2.0), jnp.asarray([[True]]), jnp.float32(0.5))
    assert float(laid.state.amount[0, 0]) == 2.0 == float(laid.ledger.tally["fertilizer#kg"])


def test_urea_is_what_chemistry_says() -> None:
    """CO(NH2)2 of C 12.011, O 15.999, N 14.007, H 1.008."""
    mass = 12.011 + 15.999 + 2 * (14.007 + 2 * 1.008)
    assert float(Fertilizer.named("urea").shares[0]) == pytest.approx(2 * 14.007 / mass, abs=1e-3)


def test_compost_gives_a_tenth_in_a_season() -> None:
    """26 weeks at the microlife at which a soil starts."""
    kind, left = Fertilizer.named("compost"), 1.0
    for _ in range(7 * 26):
        left -= float(released_amount(jnp.float32(left), kind.speed, LOAM.start.microlife / 100))
    assert 1 - left == pytest.approx(0.1, abs=0.01)


def test_scattering_brings_nutrients_over_the_boundary() -> None:
    kind, where = Fertilizer.named("compost"), jnp.asarray([[True, False]])
    result = kind.scatter_bag(pile(0.5, 0.5), field((1, 2)), where, jnp.float32(2.0))
    flow = np.asarray(result.ledger.flows["nutrients:fertilizer"])
    np.testing.assert_allclose(flow[:, 0, 0], 4000 * kind.shares, rtol=1e-6)
    assert (flow[:, 0, 1] == 0).all()
    before, after = (kind.holds(s)["nutrients"] for s in (pile(0.5, 0.5), result.state))
    np.testing.assert_allclose(after - before, flow, rtol=1e-5)
    assert float(result.ledger.tally["fertilizer#kg"]) == pytest.approx(4.0)


def test_the_soil_gets_what_two_fertilizers_lose() -> None:
    kinds = [Fertilizer.named("basic_all"), Fertilizer.named("urea")]
    place, today = morning(kinds[0], microlife=60.0)
    soil = earth(LOAM, place, microlife=60.0)
    said = [("Weather-0", air()), ("allocator", share_of(place))]
    feeds = [(f"Fertilizer-{i}", kind.feed(pile(0.04), place, today, {})) for i, kind in enumerate(kinds)]
    (fed, out), (unfed, _) = (LOAM.update(soil, place, board(place, "Soil-0", *said, *f), {}) for f in (feeds, ()))
    lost = sum(k.holds(pile(0.04))["nutrients"] - k.holds(_after(k, microlife=60.0))["nutrients"] for k in kinds)
    air_borne = -sum(out.flows[f"nutrients:{gas}"] for gas in ("volatilisation", "N2O"))
    np.testing.assert_allclose(air_borne[:, 0, 0], [0.12 * lost[0, 0, 0], 0, 0, 0], rtol=1e-3)
    np.testing.assert_allclose(fed.nutrients - unfed.nutrients + air_borne, lost, rtol=1e-3)


def _after(kind: Fertilizer, microlife: float) -> Pile:
    place, today = morning(kind, microlife=microlife)
    return kind.update(pile(0.04), place, today, {})[0]


@pytest.mark.parametrize("which", SETS)
def test_every_parameter_matters(which: str) -> None:
    kind = Fertilizer.named(which)
    kind = replace(kind, shares=np.asarray(kind.shares) / 2)  # room for a little more of each
    place, today = morning(kind)

    def first_day(of: Fertilizer) -> np.ndarray:
        laid = of.scatter_bag(pile(0.0), place, jnp.asarray([[True]]), jnp.float32(1.0)).state
        return np.asarray(of.feed(laid, place, today, {}).nutrients)

    base = first_day(kind)
    shares = [replace(kind, shares=jnp.asarray(kind.shares).at[i].add(0.1)) for i in range(4)]
    for other in (*shares, replace(kind, speed=2 * kind.speed), replace(kind, bag=2 * kind.bag)):
        assert not np.allclose(first_day(other), base)
