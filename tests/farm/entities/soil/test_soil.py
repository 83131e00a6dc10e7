"""Soil: section 4.3 by hand, the tables of FAO-56, and balances that close on any plot and day."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Board, Ledger, Place
from harvestgym.farm.entities.messages import Air, Canopy, Dose, Feed, Litter, Message, Share
from harvestgym.farm.entities.soil import Soil, equations
from harvestgym.farm.entities.soil.soil import SoilState
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board, check_ranges, field, share_of

TEXTURES = ("clay", "silt", "loam", "sand")
SOILS = {name: Soil.named(name) for name in TEXTURES}
LOAM = SOILS["loam"]


def f(*values: float) -> jax.Array:
    return jnp.asarray([list(values)], jnp.float32)


def full(place: Place, value: float, lead: int | None = None) -> jax.Array:
    shape = place.shape if lead is None else (lead, *place.shape)
    return jnp.full(shape, value, jnp.float32)


def state_of(place: Place, **changes: Any) -> SoilState:
    plain = SoilState(
        water=full(place, 100.0), nutrients=full(place, 10.0, 4), wet_surface=full(place, 0.0),
        microlife=full(place, 50.0), cide=full(place, 0.0, len(place.targets)),
    )  # fmt: skip
    return replace(plain, **changes)


def morning(place: Place, today: Air, share: Share | None = None, *others: Message) -> Board:
    said = [("Weather-0", today), ("allocator", share or share_of(place)), *(("other", m) for m in others)]
    return board(place, "Soil-0", *said)


def tomorrow(
    soil: Soil, state: SoilState, place: Place, today: Air, *others: Message, share: Share | None = None
) -> tuple[SoilState, Ledger]:
    return soil.update(state, place, morning(place, today, share, *others), {})


def test_equation_22_by_hand() -> None:
    p = math.exp(-(0.27 * 2 + 4 * 0.1))
    wanted = (p * (1 + 0.1 * p) + (1 - p) * p) * 50
    got = equations.next_microlife(LOAM.survival, LOAM.recovery, f(50.0), f(2.0), f(0.1))
    np.testing.assert_allclose(got, [[wanted]], rtol=1e-5)


def test_microlife_recovers_by_a_tenth_and_stays_within_bounds() -> None:
    before, cide, surplus = f(50.0, 99.0, 0.0, 80.0), f(0, 0, 0, 1e9), f(0, 0, 0, 0)
    got = equations.next_microlife(LOAM.survival, LOAM.recovery, before, cide, surplus)
    np.testing.assert_allclose(got, [[55.0, 100.0, 0.0, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("texture", TEXTURES)
def test_microlife_endures_eight_millimetres_of_surplus(texture: str) -> None:
    soil = SOILS[texture]
    surplus = np.asarray([[7.0, 10.0]], np.float32) / soil.bucket(field()).capacity
    less, more = equations.next_microlife(soil.survival, soil.recovery, f(50.0, 50.0), f(0.0, 0.0), surplus)[0]
    assert less > 50 > more


def test_leaching_takes_a_share_of_the_stock_that_microlife_lessens() -> None:
    strength = equations.leaching_strength(f(0.1, 0.0, 1.0, 0.4), f(0.3, 0.0, 9.0, 0.0))
    np.testing.assert_allclose(strength, [[0.4, 0.0, 10.0, 0.4]], rtol=1e-6)
    got = equations.leached_share(strength, f(0.75, 0.0, 0.5, 1.0))
    np.testing.assert_allclose(got, [[0.1, 0.0, 1.0, 0.0]], rtol=1e-6)


def test_the_ground_evaporates_where_it_is_wet_and_in_the_sun() -> None:
    got = equations.evaporable(jnp.float32(5.0), f(0.2, 0.9, 1.7), f(2.0, 2.0, 2.0), jnp.float32(4.0))
    np.testing.assert_allclose(got, [[5 * 0.5 * 4, 5 * 0.1 * 4, 0.0]], rtol=1e-5)


def test_a_day_of_water_by_hand() -> None:
    """Capacity 100, wilting point 40: over-full and served; thirsty air; rain beyond what the soil can hold."""
    bucket = equations.Bucket(jnp.float32(100.0), jnp.float32(40.0))
    day = equations.water_balance(f(112.0, 25.0, 95.0), bucket, f(30.0, 0.0, 5.0), f(4.0, 9.0, 0.0), f(0.0, 0.0, 50.0))
    np.testing.assert_allclose(day.surplus, [[12.0, 0.0, 40.0]])
    np.testing.assert_allclose(day.evaporated, [[4.0, 5.0, 0.0]], err_msg="it stops at half the wilting point")
    np.testing.assert_allclose(day.tomorrow, [[66.0, 20.0, 100.0]])


def test_fao_56_equation_73_gives_the_evaporating_layer() -> None:
    """Middles of table 19: 1000 (0.36 - 0.5 * 0.22) * 0.10 for clay, and so on."""
    got = [float(equations.evaporable_depth(s.max_water_capacity, s.wilting_point)) for s in SOILS.values()]
    np.testing.assert_allclose(got, [25.0, 23.5, 19.0, 9.75], rtol=1e-5)


def test_rain_wets_the_surface_it_can_fill_and_the_soil_dries_it() -> None:
    rain = jnp.asarray([[0.0, 5.0, 90.0, 5.0]])
    got = equations.next_wet_surface(f(0.3, 0.0, 0.0, 0.9), jnp.float32(0.4), rain, jnp.float32(20.0), jnp.float32(1.0))
    np.testing.assert_allclose(got, [[0.0, 0.25, 1.0, 0.75]], atol=1e-6)


FAO_TABLE_19 = {
    "clay": (320, 400, 200, 240), "silt": (280, 360, 120, 220), "loam": (200, 300, 70, 170), "sand": (70, 170, 20, 70),
}  # fmt: skip
"""Field capacity from, to; wilting point from, to; L/m3."""


@pytest.mark.parametrize("texture", TEXTURES)
def test_textures_hold_what_fao_56_says(texture: str) -> None:
    low, high, driest, wettest = FAO_TABLE_19[texture]
    assert low <= SOILS[texture].max_water_capacity <= high
    assert driest <= SOILS[texture].wilting_point <= wettest


def test_a_new_soil_is_drawn_between_its_ends() -> None:
    place = field((10, 10), scale=2.0)
    start, bucket = LOAM.start, LOAM.bucket(place)
    state, other = (LOAM.settle(jax.random.key(9), LOAM.init(jax.random.key(s), place), place) for s in (0, 1))
    check_ranges(state)
    share = (state.water - bucket.wilting) / (bucket.capacity - bucket.wilting)
    assert start.water_min <= share.min() < 0.6 < 0.9 < share.max() <= start.water_max
    stock = state.nutrients / place.surface
    for i in range(4):
        low, high = float(start.nutrients_min[i]), float(start.nutrients_max[i])
        assert low <= stock[i].min() < (2 * low + high) / 3 < (low + 2 * high) / 3 < stock[i].max() <= high
    assert float(state.microlife[0, 0]) == 80.0
    assert not np.array_equal(state.water, other.water)


def test_more_water_than_fits_is_not_a_start() -> None:
    place = field()
    flooded = state_of(place, water=full(place, 999.0), wet_surface=full(place, 7.0))
    state = LOAM.settle(jax.random.key(0), flooded, place)
    assert float(state.water[0, 0]) == 125.0 and float(state.wet_surface[0, 0]) == 1.0


def test_soil_messages_to_hosts() -> None:
    place = field((1, 3))
    ground = LOAM.ground(state_of(place, water=f(140.0, 100.0, 20.0)), place, morning(place, air()), {})
    np.testing.assert_allclose(ground.water, [[125.0, 100.0, 20.0]])
    np.testing.assert_allclose(ground.extractable, [[65.0, 40.0, 0.0]])
    np.testing.assert_allclose(ground.capacity, [[125.0] * 3])
    np.testing.assert_allclose(ground.wilting, [[60.0] * 3])
    np.testing.assert_allclose(ground.microlife, [[0.5] * 3])


@pytest.mark.parametrize("method", ["watering_discrete", "watering_continuous"])
def test_watering_a_plot(method: str) -> None:
    place = field((2, 2))
    where = jnp.asarray([[False, True], [False, False]])
    result = getattr(LOAM, method)(state_of(place), place, where, jnp.float32(5.0), jnp.float32(60.0))
    np.testing.assert_allclose(result.state.water, [[100, 105], [100, 100]])
    np.testing.assert_allclose(result.state.wet_surface, [[0, 60 / 1440], [0, 0]], rtol=1e-6)
    np.testing.assert_array_equal(result.done, where)
    np.testing.assert_allclose(result.ledger.flows["water:watering"], [[0, 5], [0, 0]])
    assert float(result.ledger.tally["water#L"]) == 5.0


@pytest.mark.parametrize(("aim", "amount"), [(False, 5.0), (True, 0.0)])
def test_watering_nowhere_or_nothing_changes_nothing(aim: bool, amount: float) -> None:
    place = field((1, 2))
    before = state_of(place)
    result = LOAM.watering_continuous(before, place, jnp.full((1, 2), aim), jnp.float32(amount), jnp.float32(30.0))
    jax.tree.map(np.testing.assert_array_equal, result.state, before)
    assert not result.done.any() and float(result.ledger.tally["water#L"]) == 0.0


def test_too_much_water_drains_leaches_and_harms() -> None:
    place = field()
    here, amount = jnp.full((1, 1), True), jnp.float32(50.0)
    wet = LOAM.watering_discrete(state_of(place), place, here, amount, jnp.float32(30.0)).state
    got, ledger = tomorrow(LOAM, wet, place, air(et0=0.0))
    surplus = 25 / 125
    np.testing.assert_allclose(got.water, [[125.0]])
    np.testing.assert_allclose(ledger.flows["water:drainage"], [[-25.0]])
    np.testing.assert_allclose(ledger.flows["nutrients:leaching"][:, 0, 0], [-10 * surplus * 0.5] * 4, rtol=1e-5)
    p = math.exp(-4 * surplus)
    np.testing.assert_allclose(got.microlife, [[50 * p * (2 - 0.9 * p)]], rtol=1e-5)
    released = ledger.flows["nutrients:bedrock"][:, 0, 0]
    np.testing.assert_allclose(got.nutrients[:, 0, 0], 10 - 1.0 + released, rtol=1e-5)


def test_what_fertilizers_and_dead_plants_release_stays() -> None:
    place = field()
    feed, litter = message(Feed, place, nutrients=2.0), message(Litter, place, nutrients=0.5)
    fed, _ = tomorrow(LOAM, state_of(place), place, air(), feed, litter)
    unfed, _ = tomorrow(LOAM, state_of(place), place, air())
    gained = (fed.nutrients - unfed.nutrients)[:, 0, 0]
    np.testing.assert_allclose(gained, [2.5 - 0.11 * 2 - 0.01 * 2.5, 2.5, 2.5, 2.5], rtol=1e-5)


def test_cide_is_washed_out_and_harms_where_it_acts() -> None:
    place = field(targets=("weeds", "soil"))
    state = state_of(place, cide=jnp.asarray([[[3.0]], [[0.0]]]), water=full(place, 100.0))
    dose = message(Dose, place, toxin=jnp.asarray([[[1.0]], [[2.0]]]))
    got, _ = tomorrow(LOAM, state, place, air(rain=2, rain_intensity=0.1), dose)
    lost = math.exp(-0.1 - 0.5 * float(LOAM.cide_decay))
    np.testing.assert_allclose(got.cide[:, 0, 0], [3 * lost + 1, 2.0], rtol=1e-5)
    np.testing.assert_allclose(got.microlife, [[55.0]], rtol=1e-6, err_msg="what acts on weeds spares the microlife")
    poisoned, _ = tomorrow(LOAM, got, place, air())
    p = math.exp(-0.27 * 2)
    np.testing.assert_allclose(poisoned.microlife, [[55 * p * (2 - 0.9 * p)]], rtol=1e-5)


def test_half_of_a_cide_is_gone_after_a_dry_month() -> None:
    """At the microlife of 80 %, the half-life of glyphosate in temperate soils, about 30 days."""
    left = equations.cide_left(f(1.0, 1.0, 1.0), f(0.0, 0.0, 1.0), LOAM.cide_decay * 30, f(0.8, 0.0, 0.0))
    np.testing.assert_allclose(left, [[0.5, 1.0, math.exp(-1)]], atol=0.005)


def test_shade_spares_the_ground() -> None:
    place = field()
    said = [("Weather-0", air()), ("Plant-0", message(Canopy, place, shade=0.7)), ("allocator", share_of(place))]
    state = state_of(place, wet_surface=full(place, 1.0))
    _, ledger = LOAM.update(state, place, board(place, "Soil-0", *said), {})
    np.testing.assert_allclose(ledger.flows["water:evaporation"], [[-1.5]], rtol=1e-5)


AMOUNTS = st.floats(0.0, 300.0, width=32)
PLACES = {scale: field((2, 3), scale) for scale in (0.5, 1.0, 2.0)}
update = jax.jit(tomorrow)


@st.composite
def mornings(draw: st.DrawFn) -> tuple[Place, SoilState, Air, Share]:
    """Any soil on any day, and shares that it can serve."""
    place = PLACES[draw(st.sampled_from(sorted(PLACES)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    plots = lambda high, *lead: jnp.asarray(rng.uniform(0, high, (*lead, *place.shape)), jnp.float32)  # noqa: E731
    state = SoilState(
        water=plots(draw(AMOUNTS) + 1), nutrients=plots(draw(AMOUNTS) + 1, 4), microlife=plots(100),
        wet_surface=plots(float(place.surface)), cide=plots(3, 1),
    )  # fmt: skip
    ground = LOAM.ground(state, place, morning(place, air()), {})
    share = message(
        Share, place, water=ground.extractable * plots(1), nutrients=(state.nutrients * plots(1, 4))[:, None]
    )
    strength, et0 = draw(st.floats(0, 1, width=32)), draw(st.floats(0, 12, width=32))
    today = air(rain=draw(AMOUNTS), rain_intensity=strength, et0=et0)
    return place, state, today, share


@given(mornings(), st.sampled_from(TEXTURES))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_water_and_nutrients_balance_on_every_plot(day: tuple[Place, SoilState, Air, Share], texture: str) -> None:
    place, before, today, share = day
    soil = SOILS[texture]
    there = soil.ground(before, place, morning(place, air()), {}).extractable
    share = replace(share, water=jnp.minimum(share.water, there))  # what the allocator could give from this soil
    after, ledger = update(soil, before, place, today, share=share)
    check_ranges(after)
    assert (np.asarray(after.water) <= float(soil.bucket(place).capacity) * (1 + 1e-6)).all()
    served = {"water": share.water.sum(0), "nutrients": share.nutrients.sum(1)}
    for name in ("water", "nutrients"):
        flows = sum(np.asarray(f, np.float64) for n, f in ledger.flows.items() if n.startswith(name))
        held, holds = (np.asarray(soil.holds(s)[name], np.float64) for s in (before, after))
        gross = held + holds + sum(np.abs(f) for n, f in ledger.flows.items() if n.startswith(name))
        residue = holds - held - flows + np.asarray(served[name])
        assert (np.abs(residue) <= 2e-6 * gross + 1e-6).all(), name


@given(mornings())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_plot_knows_nothing_of_its_neighbours(day: tuple[Place, SoilState, Air, Share]) -> None:
    place, before, today, share = day
    other = replace(before, water=before.water.at[0, 0].mul(0.3), microlife=before.microlife.at[0, 0].set(3.0))
    a, b = (update(LOAM, s, place, today, share=share)[0] for s in (before, other))
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x[..., 0, 1:], y[..., 0, 1:])
        np.testing.assert_array_equal(x[..., 1, :], y[..., 1, :])


def test_a_larger_plot_is_more_of_the_same() -> None:
    small, large = PLACES[1.0], PLACES[2.0]
    today, key = air(rain=3, rain_intensity=0.01), jax.random.key(3)
    per_surface = []
    for place in (small, large):
        state = LOAM.init(key, place)
        for _ in range(3):
            state, _ = update(LOAM, state, place, today, share=share_of(place, 2 * float(place.surface)))
        amounts = (state.water, state.nutrients, state.wet_surface, state.cide)
        per_surface.append([np.asarray(a) / float(place.surface) for a in amounts] + [np.asarray(state.microlife)])
    for a, b in zip(*per_surface, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5)


def test_the_soil_index_is_the_mean_microlife() -> None:
    place = field((1, 2))
    assert float(LOAM.indices(state_of(place, microlife=f(20.0, 60.0)))["soil"]) == pytest.approx(0.4)


def test_water_runs_past_the_roots_of_a_dry_sand_and_of_no_other_soil() -> None:
    """Half of the extractable water is there, so that half of `watering_bypass#%` of what is poured is lost."""
    sand, place = SOILS["sand"], field()
    bucket = sand.bucket(place)
    half = full(place, float(bucket.wilting + bucket.capacity) / 2)
    result = sand.watering_continuous(
        state_of(place, water=half), place, full(place, 1) > 0, *map(jnp.float32, (5, 30))
    )
    assert float(result.ledger.tally["water#L"]) == 5.0 == float(result.ledger.flows["water:watering"][0, 0])
    np.testing.assert_allclose(result.ledger.flows["water:drainage"], [[-5 * 0.8 / 2]], rtol=1e-5)
    np.testing.assert_allclose(result.state.water, half + 5 - 5 * 0.8 / 2, rtol=1e-6)
    np.testing.assert_allclose(equations.bypass_share(f(-9.0, 1e9), bucket, sand.bypass), [[0.8, 0.0]], rtol=1e-6)
    assert [name for name, soil in SOILS.items() if soil.bypass > 0] == ["sand"]
