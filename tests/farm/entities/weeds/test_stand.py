"""Weeds by hand: bare plots, single weeds, plots of any size, and narrow fields."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.messages import Canopy, Litter, Need, Share
from harvestgym.farm.entities.weeds import Weeds, equations
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board

from .test_weeds import DRIVERS, WEED, chance, field, ground, live, morning, scatter, state_of, uniforms

PLACE = field((2, 2), scale=2.0)
"""Plots of 4 m2."""


def test_on_two_plots_half_of_the_seeds_fall_on_each() -> None:
    """Of 200, 100 within three standard deviations, in a row or in a column; a single plot keeps all."""
    for shape in ((2, 1), (1, 2)):
        seeds = jnp.zeros(shape, jnp.int32).at[0, 0].set(200)
        found = np.asarray(equations.scatter_seeds(seeds, jnp.full((2, *shape, 2), 0.5)))
        assert found.sum() == 200 and abs(found[0, 0] - 100) <= 21
    assert scatter([[50]], 0).tolist() == [[50]]


def test_a_single_weed_dies_whole() -> None:
    """It leaves its water to the air and its nutrients to the soil."""
    before = state_of(PLACE, growing=1, water=0.5, nutrients=0.1)
    after, ledger = live(before, PLACE, air(t_mean=-1000.0), ground(PLACE), uniforms(PLACE, 0))
    today = morning(before, PLACE, air(t_mean=-1000.0), ground(PLACE))
    share = today.read_own(Share)
    assert not after.growing.any() and not after.flowering.any() and not after.water.any() and not after.nutrients.any()
    np.testing.assert_allclose(after.remains, 0.1 + share.nutrients, rtol=1e-6)
    lost = ledger.flows["water:transpiration"] + ledger.flows["water:drying"]
    np.testing.assert_allclose(lost, -(0.5 + share.water), rtol=1e-6)
    assert (ledger.flows["water:drying"] < 0).all() and float(ledger.tally["weeds#nb"]) == 0


def test_living_weeds_keep_what_they_get_and_lose_what_they_transpire() -> None:
    before = state_of(PLACE, seeds=9, growing=60, flowering=20, water=2.0, nutrients=0.3, remains=0.2)
    after, ledger = live(before, PLACE, air(), ground(PLACE), uniforms(PLACE, 1))
    share = morning(before, PLACE, air(), ground(PLACE)).read_own(Share)
    flows = ledger.flows
    water = after.water - before.water - share.water
    np.testing.assert_allclose(water, flows["water:transpiration"] + flows["water:drying"], atol=1e-4)
    assert (flows["water:transpiration"] < 0).all() and (flows["water:drying"] <= 0).all()
    np.testing.assert_allclose(after.nutrients + after.remains, before.nutrients + share.nutrients, rtol=1e-5)
    assert float(ledger.tally["weeds#nb"]) == 4 * int((after.growing + after.flowering).sum())
    held = WEED.holds(before)
    np.testing.assert_allclose(held["nutrients"], 0.5 * jnp.ones((4, 2, 2)), rtol=1e-6)
    np.testing.assert_array_equal(held["water"], before.water)
    litter = WEED.litter(before, PLACE, board(PLACE, "Weeds-0"), {})
    assert isinstance(litter, Litter) and (np.asarray(litter.nutrients) == np.float32(0.2)).all()


def test_the_canopy_of_a_bare_and_of_a_full_plot() -> None:
    """A weed of 30 cm shades a disc, 15 to a plot of 1 m2; a bare plot has seeds only."""
    place = field((1, 3), scale=2.0)
    state = state_of(place, seeds=5, growing=jnp.asarray([[0, 1, 200]]), flowering=jnp.asarray([[0, 1, 0]]))
    said = WEED.canopy(state, place, board(place, "Weeds-0"), {})
    disc = math.pi * 0.15**2
    np.testing.assert_allclose(said.shade, [[0, 2 * disc, 1]], rtol=1e-5)
    np.testing.assert_allclose(said.alive, [[0, 8, 800]])
    np.testing.assert_allclose(said.height, [[0, 30, 30]])
    np.testing.assert_allclose(said.repulsion, np.asarray([[0, 1, 1]]) * float(WEED.repulsion), rtol=1e-6)
    np.testing.assert_allclose(said.flowers, [[0, 4 * float(WEED.flowers), 0]])
    np.testing.assert_allclose(said.seeds, [[20, 20, 20]])


def test_weeds_close_their_stomata_in_drought_and_need_nothing_that_they_hold() -> None:
    """At 113.5 L, half of the way from the wilting point to the threshold of 117 L."""
    place = field()
    state = state_of(place, growing=8, water=0.0)
    needs = [morning(state, place, air(et0=5), ground(place, water=w)).read_own(Need).water for w in (150.0, 113.5)]
    body = float(needs[0][0, 0]) - 5 * 1.03 * 8 * math.pi * 0.15**2
    assert body == pytest.approx(8 * float(WEED.water) * 300 / 1000, rel=1e-4)
    assert float(needs[1][0, 0]) == pytest.approx(body + 2.5 * 1.03 * 8 * math.pi * 0.15**2, rel=1e-4)
    full = state_of(place, growing=8, water=99.0)
    assert float(morning(full, place, air(), ground(place)).read_own(Need).water[0, 0]) == 0.0


def test_weeds_in_the_shade_transpire_less() -> None:
    place = field(hosts=("Plant-0", "Weeds-0"))
    state = state_of(place, growing=8, water=0.0)
    crop = message(Canopy, place, shade=0.6, height=30.0)
    shaded = morning(state, place, air(et0=5), ground(place), ("Plant-0", crop)).read_own(Need).water
    alone = morning(state, place, air(et0=5), ground(place)).read_own(Need).water
    transpired = 5 * 1.03 * 8 * math.pi * 0.15**2
    np.testing.assert_allclose(alone - shaded, [[0.3 * transpired]], rtol=1e-3)


def test_herbicide_counts_by_its_grams_a_square_metre() -> None:
    small, large = field(), field(scale=2.0)
    for place, grams in ((small, 1.5), (large, 6.0)):
        state = state_of(place, growing=5)
        day = WEED.compute_drivers(state, place, morning(state, place, air(), ground(place, herbicide=grams)))
        np.testing.assert_allclose(day["herbicide"], [[1.5]])


def test_help_makes_nothing_more_than_certain() -> None:
    assert chance("stay", strain_death=-9.0) == chance("grow", strain_growth=-9.0) == 1.0
    generous = replace(WEED, shed_rate=np.float32(1.0))
    assert float(equations.daily_chances(generous, DRIVERS).shed) == 1.0


def test_what_grows_next_to_a_full_stand_finds_no_room() -> None:
    """With all seeds sprouting next to 240 weeds, ten of the largest number of 250 come up."""
    full = jnp.ones((1, 1))
    sure = equations.DailyChances(0 * full, full, 0 * full, full, 0 * full)
    numbers: Any = tuple(jnp.full((1, 1), n, jnp.int32) for n in (50, 200, 40))
    found = equations.draw_fates(jnp.int32(0), numbers, sure, jnp.full((4, 1, 1, 2), 0.5))
    assert int(found.sprouted[0, 0]) == 10
    assert (int(found.growing[0, 0]), int(found.flowering[0, 0])) == (200, 40)


def test_a_start_keeps_what_stands() -> None:
    place = field((1, 3))
    said = state_of(
        place, growing=jnp.asarray([[0, 1, 100]]), flowering=jnp.asarray([[0, 0, 7]]), water=1.0, nutrients=2.0
    )
    state = WEED.settle(jax.random.key(0), said, place)
    assert state.growing.tolist() == [[0, 1, 100]] and state.flowering.tolist() == [[0, 0, 7]]
    assert state.water.tolist() == [[0, 1, 1]] and state.nutrients[2].tolist() == [[0, 2, 2]]
    crowded = WEED.settle(jax.random.key(0), state_of(place, seeds=999, growing=999, flowering=999), place)
    assert crowded.seeds.tolist() == crowded.growing.tolist() == [[250] * 3] and not crowded.flowering.any()
    none = WEED.settle(jax.random.key(0), state_of(place), place)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(none))


def test_more_weeds_than_a_plot_can_have_are_refused() -> None:
    """250 a square metre: many times the number that shades the ground."""
    assert int(Weeds.named({"extends": "base_weed", "max_new_seeds#nb": 250}).arrivals) == 250
    with pytest.raises(ConfigError, match="max_new_seeds#nb: expected"):
        Weeds.named({"extends": "base_weed", "max_new_seeds#nb": 251})
