"""The soil's equations at their limits, and the soil on plots of any size, by hand."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.messages import Feed, Litter, Share, Tilth
from harvestgym.farm.entities.soil import Soil, equations
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import field

from .test_soil import LOAM, f, full, state_of, tomorrow

LARGE = field(scale=2.0)
"""A plot of 4 m2; a loam of it holds 500 L, and plants cannot take 240 of them."""
BUCKET = equations.Bucket(jnp.float32(100.0), jnp.float32(40.0))


def test_nothing_evaporates_below_half_the_wilting_point() -> None:
    """And a soil whose water the hosts have taken is empty, not negative."""
    day = equations.water_balance(f(20.0, 5.0, 20.5, 30.0), BUCKET, f(0, 0, 0, 30.0), f(9, 9, 9, 9), f(0, 0, 0, 0))
    np.testing.assert_allclose(day.evaporated, [[0, 0, 0.5, 0]], atol=1e-6)
    np.testing.assert_allclose(day.tomorrow, [[20, 5, 20, 0]], atol=1e-6)


def test_water_is_conserved_over_a_day() -> None:
    rng = np.random.default_rng(0)
    water, served, evaporable, rain = (jnp.asarray(rng.uniform(0, high, (1, 60))) for high in (150, 30, 12, 60))
    served = jnp.minimum(served, water)
    day = equations.water_balance(water, BUCKET, served, evaporable, rain)
    assert (day.evaporated <= evaporable).all() and (day.tomorrow <= BUCKET.capacity).all() and (day.surplus >= 0).all()
    flows = rain - jnp.minimum(served, jnp.minimum(water, BUCKET.capacity)) - day.evaporated - day.surplus
    np.testing.assert_allclose(day.tomorrow, water + flows, atol=1e-4)


def test_rain_and_decay_share_the_loss_of_a_cide_as_their_rates() -> None:
    """The loss of 3 g at a strength of 0.2 and a decay of 0.4 on half a life of the soil: half of it by rain."""
    rates = f(0.2, 0.0, 0.2, 0.0), jnp.float32(0.4), f(0.5, 1.0, 0.0, 0.0)
    np.testing.assert_allclose(equations.cide_leached(f(3.0, 3.0, 3.0, 0.0), *rates), [[1.5, 0, 3, 0]], rtol=1e-6)
    left = equations.cide_left(f(2.0, 2.0, 2.0, 2.0), *rates)
    np.testing.assert_allclose(left, 2 * np.exp([[-0.4, -0.4, -0.2, 0]]), rtol=1e-6)


def test_a_dry_soil_evaporates_from_its_wet_part_only() -> None:
    """Shade beyond the whole plot leaves no sun, not less than none."""
    found = equations.evaporable(jnp.float32(6.0), f(0, 0, 0.5, 3.0), f(0, 1.0, 4.0, 4.0), jnp.float32(4.0))
    np.testing.assert_allclose(found, [[0, 6, 12, 0]], atol=1e-6)


def test_a_bedrock_releases_its_milligrams_a_square_metre() -> None:
    """At a microlife of 50 % half of them, from 4 m2, in grams, less the share to which the soil is full."""
    state = state_of(LARGE, water=full(LARGE, 300.0))
    after, ledger = tomorrow(LOAM, state, LARGE, air())
    level = np.asarray(LOAM.start.nutrients_max) * 4
    released = (level - 10) * (1 - np.exp(-np.asarray(LOAM.bedrock) / 1000 * 4 / 2 / level))
    np.testing.assert_allclose(ledger.flows["nutrients:bedrock"][:, 0, 0], released, rtol=1e-4)
    np.testing.assert_allclose(after.nutrients[:, 0, 0] - 10, released, rtol=1e-4)


def test_what_rain_washes_out_is_tallied() -> None:
    """Of 5 g at a strength of 0.3: nitrogen by half of the microlife, a cide by the share of rain in its loss."""
    soil, place = replace(LOAM, cide_decay=jnp.float32(0.6)), field()
    state = state_of(place, cide=full(place, 5.0, 1), nutrients=full(place, 10.0, 4))
    after, ledger = tomorrow(soil, state, place, air(rain=3, rain_intensity=0.3))
    lost = 5 * (1 - math.exp(-0.6))
    np.testing.assert_allclose(after.cide, [[[5 - lost]]], rtol=1e-5)
    assert float(ledger.tally["leached_cide#g"]) == pytest.approx(lost / 2, rel=1e-5)
    assert float(ledger.tally["leached_N#g"]) == pytest.approx(10 * 0.3 * 0.5, rel=1e-5)


def test_a_cide_harms_the_microlife_by_its_grams_a_square_metre() -> None:
    harmed = []
    for place, grams in ((field(), 2.0), (LARGE, 8.0)):
        state = state_of(place, cide=full(place, grams, 1), water=full(place, 90.0 * float(place.surface)))
        harmed.append(float(tomorrow(LOAM, state, place, air())[0].microlife[0, 0]))
    assert harmed[0] == pytest.approx(harmed[1], rel=1e-6) and harmed[0] < 50


def test_an_order_of_water_is_litres_a_square_metre() -> None:
    """For 30 of the 1440 minutes of a day the whole of 4 m2 is wet; at most the plot is."""
    here = jnp.full((1, 1), True)
    result = LOAM.watering_discrete(state_of(LARGE), LARGE, here, jnp.float32(5.0), jnp.float32(30.0))
    assert float(result.state.water[0, 0]) == 120 and float(result.ledger.tally["water#L"]) == 20
    assert float(result.state.wet_surface[0, 0]) == pytest.approx(4 / 48)
    soaked = state_of(LARGE, wet_surface=full(LARGE, 3.99))
    again = LOAM.watering_discrete(soaked, LARGE, here, jnp.float32(0.5), jnp.float32(60.0))
    assert float(again.state.wet_surface[0, 0]) == 4.0


def test_other_kinds_drain_and_cover_the_soil_at_most_whole() -> None:
    """Two kinds that take 0.3 and 0.9 of it leave nothing; one that takes 0.3 leaves 0.7."""
    place = field()
    state = state_of(place, water=full(place, 150.0), wet_surface=full(place, 1.0))
    one, other = (message(Tilth, place, drainage=share, cover=share) for share in (0.3, 0.9))
    bare, part, all_ = (tomorrow(LOAM, state, place, air(), *kinds) for kinds in ((), (one,), (one + other,)))
    for name, shares in (("water:evaporation", (1, 0.7, 0)), ("nutrients:leaching", (1, 0.7, 0))):
        flows = [float(ledger.flows[name].sum()) for _, ledger in (bare, part, all_)]
        assert flows == pytest.approx([share * flows[0] for share in shares], rel=1e-5, abs=1e-6) and flows[0] < 0, name
    assert float(all_[0].microlife[0, 0]) == pytest.approx(55), "it does not harm the microlife either"
    assert float(all_[1].flows["water:drainage"][0, 0]) == float(bare[1].flows["water:drainage"][0, 0]) == -25


def test_hosts_take_their_nutrients_before_any_leaches() -> None:
    place = field(hosts=("Plant-0", "Weeds-0"))
    share = message(Share, place, nutrients=2.0, water=3.0)
    after, ledger = tomorrow(LOAM, state_of(place), place, air(rain=1, rain_intensity=0.5), share=share)
    assert float(ledger.flows["nutrients:leaching"][0, 0, 0]) == pytest.approx(-(10 - 4) * 0.5 * 0.5, rel=1e-5)
    assert float(after.water[0, 0]) == pytest.approx(100 - 6 + 1, rel=1e-6)
    greedy, _ = tomorrow(LOAM, state_of(place), place, air(), share=message(Share, place, nutrients=9.0))
    np.testing.assert_allclose(greedy.nutrients[:, 0, 0], np.asarray(LOAM.bedrock) / 2000, rtol=2e-3)


def test_release_slows_as_the_stock_fills() -> None:
    """Empty, a soil gains its rate; at its level nothing; above it, what is too much is bound."""
    found = equations.mineralised(f(0, 9, 10, 20), jnp.float32(10.0), jnp.float32(0.01))
    np.testing.assert_allclose(found[0], [0.01, 0.001, 0, -0.01], rtol=1e-3, atol=1e-7)
    assert float(equations.mineralised(f(5), jnp.float32(0.0), jnp.float32(0.01))[0, 0]) >= -5


def test_some_nitrogen_is_lost_to_the_air() -> None:
    """IPCC 2019: 11 % of 2 g from a fertilizer as ammonia, 1 % of these and of 1 g of litter as N2O; in the ledger."""
    place = field()
    feed, litter = message(Feed, place, nutrients=2.0), message(Litter, place, nutrients=1.0)
    after, ledger = tomorrow(LOAM, state_of(place), place, air(), feed, litter)
    assert ledger.flows["nutrients:volatilisation"][:, 0, 0].tolist() == pytest.approx([-0.22, 0, 0, 0])
    assert ledger.flows["nutrients:N2O"][:, 0, 0].tolist() == pytest.approx([-0.03, 0, 0, 0])
    assert float(ledger.tally["volatilised_N#g"]) == pytest.approx(0.22)
    assert float(ledger.tally["N2O_N#g"]) == pytest.approx(0.03)
    released = ledger.flows["nutrients:bedrock"][:, 0, 0]
    np.testing.assert_allclose(after.nutrients[:, 0, 0], 10 + released + 3 - np.asarray([0.25, 0, 0, 0]), rtol=1e-5)


def test_the_limits_of_a_start_are_the_capacity_and_the_plot() -> None:
    assert LOAM.limits(LARGE) == {"water": 500, "wet_surface": 4}
    dry = LOAM.init(jax.random.key(0), field((2, 2)))
    assert not dry.wet_surface.any() and not dry.cide.any()


def test_a_soil_keeps_water_for_plants() -> None:
    same = {"extends": "loam", "wilting_point#L.m-3": 250, "max_water_capacity#L.m-3": 250}
    with pytest.raises(ConfigError, match=r"wilting_point#L.m-3: expected less than max_water_capacity#L.m-3 \(250\)"):
        Soil.named(same)
    assert Soil.named(same | {"max_water_capacity#L.m-3": 250.5}) is not None


def test_the_choices_of_watering_contain_those_of_the_paper() -> None:
    """Its file of interventions has 1 to 5 L for 30 or 60 minutes; up to 20 L can be poured, as with any amount."""
    actions: dict[str, Any] = {action.name: action.parameters for action in Soil.actions}
    amounts, minutes = (p.choices for p in actions["watering_discrete"])
    assert amounts == (1, 2, 3, 4, 5, 10, 15, 20) and minutes == (30, 60)
    assert actions["watering_continuous"][0].range == (0, 20) and max(amounts) == 20
