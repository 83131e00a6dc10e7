"""Equations (2) to (21) of the paper against values worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.crops_and_weeds import Drivers, water_threshold
from harvestgym.farm.entities.messages import Ground
from harvestgym.farm.entities.plant import Plant, equations, growth, needs
from harvestgym.farm.entities.plant.parameters import Bloom
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import CAUSES, GROWTH_FACTORS, PlantState
from harvestgym.farm.entities.response import expglm
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import field
from tests.farm.stands import stand

CROPS = {name: Plant.named(name) for name in ("bean", "corn", "tomato", "carrots")}
BEAN = CROPS["bean"]

FINE = {
    "temperature": 18.0, "humidity": 60.0, "frost": 0, "rain": 0.0, "age_seed": 10, "age_bloom": 10, "age_ripe": 0,
    "nogrow": 0, "noweight": 0, "crowding": 0.0, "light": 0.0, "stress": 0.0, "birds": 0.0, "pests": 0.0, "visits": 9.0,
    "N": 0.0, "P": 0.0, "K": 0.0, "C": 0.0, "water": 0.0, "radiation": 25.0, "cold": 10.0, "drought": 0.0,
    "strain_death": 0.0, "strain_growth": 0.0, "strain_harvest": 0.0,
}  # fmt: skip
"""A day on which a bean of any stage lacks nothing."""


def day(n: int = 1, **changes: Any) -> Drivers:
    """Return the drivers of n plots in a row."""
    return {k: jnp.broadcast_to(jnp.asarray(v, jnp.float32), (1, n)) for k, v in (FINE | changes).items()}


def grid(n: int = 2000) -> Any:
    """Uniforms spread evenly, so that a share of them is a probability."""
    return jnp.asarray((np.arange(n) + 0.5)[None] / n, jnp.float32)


def alive(stage: Stage, **changes: float) -> float:
    """Return the share of plants that survive a day."""
    state = stand(2000, stage)
    return float(np.mean(growth.decide_survival(BEAN, state, day(2000, **changes), grid()).survives))


def test_2_a_seed_lives_by_birds_and_age() -> None:
    assert alive(Stage.SEED, age_seed=0) == 1.0
    assert alive(Stage.SEED, birds=2) == pytest.approx(math.exp(-1 * (2 - 0.99)), abs=1e-3)
    assert alive(Stage.SEED, age_seed=23) == pytest.approx(math.exp(-0.3 * 3), abs=1e-3)


def moves(stage: Stage, crop: Plant = BEAN, state: PlantState | None = None, **changes: float) -> float:
    today = day(**changes)
    return float(
        growth.transition_probability(crop, state or stand(1, stage), today, growth.compute_thresholds(crop, today))[
            0, 0
        ]
    )


def test_3_a_seed_sprouts_by_temperature_humidity_and_age() -> None:
    assert moves(Stage.SEED) == 1.0
    by_hand = math.exp(-(0.5 * (8 - 5.5) + 0.2 * (30 - 28) + 1 * (4 - 3)))
    assert moves(Stage.SEED, temperature=5.5, humidity=28, age_seed=3) == pytest.approx(by_hand, rel=1e-5)


def test_4_growth_by_temperature_nutrients_and_water() -> None:
    short = {"temperature": 26.0, "N": 0.2, "P": 0.6, "K": 0.5, "C": 0.9, "water": 2.0}
    short |= {"crowding": 0.5, "light": 0.2, "radiation": 9.0}
    terms = [0.12 * 2, 0, 0.3 * 0.6, 0, 0, 0.5 * 2, 0.2 * 0.5, 1.5 * 0.2, 0.07 * 5, 0.3]
    got = np.stack(growth.growth_exponents(BEAN, stand(1, Stage.GROW), day(**short, strain_growth=0.3)))[:, 0, 0]
    np.testing.assert_allclose(got, terms, rtol=1e-4)
    state = growth.grow(BEAN, stand(1, Stage.GROW, size=20.0), day(**short), grid(1))
    rate = math.exp(-(0.45 + sum(terms[:-1])))
    assert rate < 0.1 and float(state.size[0, 0]) == 20.0 and int(state.nogrow[0, 0]) == 1
    assert GROWTH_FACTORS[int(state.limiting_factor[0, 0])] == "water"
    assert float(state.limiting_exponent[0, 0]) == pytest.approx(1.0)
    calm = Plant.named({"extends": "bean", "grow": {"grow_rate_sigma2": 0}})
    warm = growth.grow(calm, stand(1, Stage.GROW, size=20.0), day(temperature=26.0), grid(1))
    gained = math.exp(-(0.45 + 0.12 * 2)) * (1 - 20 / 60) * math.sqrt(20)
    assert float(warm.size[0, 0]) == pytest.approx(20 + gained, rel=1e-5)


def test_4_the_shortage_of_a_nutrient_is_the_share_of_the_need_not_taken_up() -> None:
    """16 plants of 30 cm ask 4e-5 * 300 * 16 g of nitrogen; given 0.1 g, and all of the phosphorus."""
    state = stand(1, Stage.GROW, size=30.0, population=16)
    found = drivers(BEAN, state, ground(water=100.0), given=0.1)
    assert float(found["N"][0, 0]) == pytest.approx(1 - 0.1 / (4e-5 * 300 * 16), rel=1e-4)
    assert float(found["P"][0, 0]) == 0.0
    idle = drivers(BEAN, stand(1, Stage.SEED), ground(water=100.0), given=0.0)
    assert float(idle["N"][0, 0]) == 0.0, "nothing is refused to a plant that needs nothing"


def drivers(crop: Plant, state: PlantState, soil: Ground, given: float = 1.0) -> Drivers:
    """Of a mild day on which the plants get so much of every nutrient."""
    share = jnp.full((4, 1, 1), given, jnp.float32)
    return needs.compute_drivers(crop, state, field(), air(), soil, needs.nutrient_demand(crop, state), share)


def ground(water: float, nutrients: float = 10.0) -> Ground:
    """Return a loam of one plot of 1 m2."""
    bucket = {"water": water, "extractable": max(water - 60, 0), "capacity": 125, "wilting": 60}
    return message(Ground, field(), **bucket, nutrients=nutrients, microlife=1)


def test_5_the_water_below_which_drought_begins() -> None:
    """Between the wilting point and the capacity; below it plants keep the share K_s, whose minus log is felt."""
    assert float(water_threshold(jnp.float32(0.45), jnp.float32(60), jnp.float32(125))) == pytest.approx(89.25)
    hardy = Plant.named({"extends": "bean", "fruit": {"sensitivity_draught#%": 0.4}})
    for stage, drought in ((Stage.GROW, 0.55), (Stage.FRUIT, 0.4)):
        found = drivers(hardy, stand(1, stage), ground(water=70.0))
        assert float(found["water"][0, 0]) == pytest.approx(-math.log(10 / (65 * drought)), rel=1e-5)
    parched = drivers(hardy, stand(1, Stage.GROW), ground(water=50.0))
    assert float(parched["water"][0, 0]) == pytest.approx(math.log(1 / equations.LEAST_RESPONSE), rel=1e-5)


def test_6_growth_is_logistic_with_a_root() -> None:
    step = equations.logistic_step(jnp.asarray([25.0, 0.0, 60.0, 59.9]), jnp.float32(0.5), jnp.float32(60.0))
    wanted = [25 + 0.5 * (1 - 25 / 60) * 5, 0.0, 60.0, 59.9 + 0.5 / 600 * math.sqrt(59.9)]
    np.testing.assert_allclose(step, wanted, rtol=1e-6)


def test_6_a_season_of_growth_follows_the_closed_form() -> None:
    """ds/dt = r (1 - s/K) sqrt(s) has the solution K tanh(t r / (2 sqrt K))^2; small steps come near it."""
    size, rate, ceiling = jnp.float32(1.0), 0.02, 60.0
    for _ in range(1500):
        size = equations.logistic_step(size, jnp.float32(rate), jnp.float32(ceiling))
    begun = math.atanh(math.sqrt(1 / ceiling))
    wanted = ceiling * math.tanh(begun + 1500 * rate / (2 * math.sqrt(ceiling))) ** 2
    assert float(size) == pytest.approx(wanted, rel=2e-3)


def test_6_growth_needs_a_rate_above_the_least() -> None:
    """The noise has the stated variance: a rate of 0.15 is at most 0.1 when it is one standard deviation down."""
    state = stand(2000, Stage.GROW, size=20.0)
    grown = growth.grow(BEAN, state, day(2000, temperature=24 + (1.897 - 0.45) / 0.12), grid())
    below = float(np.mean(grown.nogrow == 1))
    assert below == pytest.approx(0.1587, abs=2e-3)
    np.testing.assert_array_equal(np.asarray(grown.size > 20.0), np.asarray(grown.nogrow == 0))


def test_7_bloom_comes_with_the_size() -> None:
    chances = [moves(Stage.GROW, state=stand(1, Stage.GROW, size=s)) for s in (54.0, 53.4, 51.0, 58.0)]
    np.testing.assert_allclose(chances, [1.0, math.exp(-1), math.exp(-5), 1.0], rtol=1e-4)


def test_8_stress_keeps_plants_small() -> None:
    """It lowers the size at which they flower and the ceiling of their growth, both by the same share."""
    refused, taken = (jnp.asarray(grams).reshape(4, 1, 1) for grams in ([0.8, 0.1, 0.4, 0.2], [0.2, 0.1, 0.0, 0.2]))
    thirsty = {"stage_thirst": 20.0, "stage_refused": 5.0, "dimness": 0.1}
    state = stand(1, Stage.GROW, nutrient_stress=refused, nutrients=taken, **thirsty)
    by_hand = max(2 * 0.8, 2 * 0.5, 2 * 1.0, 0.5 * 0.5) + 0.65 * 0.25 + 1.25 * 0.1
    assert float(drivers(BEAN, state, ground(water=100.0))["stress"][0, 0]) == pytest.approx(by_hand, rel=1e-5)
    size, _ = growth.compute_thresholds(BEAN, day(stress=by_hand))
    assert float(size[0, 0]) == pytest.approx(60 * 0.9 * (1 + math.exp(-by_hand)) / 2, rel=1e-5)
    assert float(growth.compute_thresholds(BEAN, day(stress=1e6))[0][0, 0]) == pytest.approx(27.0)
    assert float(growth.compute_ceilings(BEAN, day(stress=by_hand)).size[0, 0]) == pytest.approx(
        float(size[0, 0]) / 0.9
    )


def test_8_a_plant_above_the_ceiling_that_stress_lowered_keeps_its_size() -> None:
    grown = growth.grow(BEAN, stand(1, Stage.GROW, size=40.0), day(stress=1e6), grid(1))
    assert float(grown.size[0, 0]) == 40.0


def test_9_a_growing_plant_lives_by_growth_and_pests() -> None:
    assert alive(Stage.GROW, nogrow=8, pests=1) == 1.0
    assert alive(Stage.GROW, nogrow=13) == pytest.approx(math.exp(-0.5), abs=1e-3)
    assert alive(Stage.GROW, pests=3, nogrow=10) == pytest.approx(math.exp(-0.5 * 2 - 0.1 * 2), abs=1e-3)
    assert alive(Stage.GROW, cold=0) == 1.0 and alive(Stage.GROW, cold=-2) == pytest.approx(0.1, abs=2e-3)


def test_10_flowers_are_binomial_with_the_share_of_the_height() -> None:
    state = stand(2000, Stage.GROW, size=45.0)
    flowers = np.asarray(growth.bloom(BEAN, state, day(2000), jnp.full((1, 2000), True), grid()).flowers)
    assert flowers.mean() == pytest.approx(14 * 0.75, abs=0.02)
    assert flowers.var() == pytest.approx(14 * 0.75 * 0.25, rel=0.02)


def test_10_crowded_and_shaded_plants_open_fewer_flowers() -> None:
    """By hand, 0.5 of the ground lacking, 0.3 more than is borne; at the usual density of each crop none is lost."""
    state, opens = stand(2000, Stage.GROW, size=45.0), jnp.full((1, 2000), True)
    for lack, share in (({"crowding": 0.5}, math.exp(-1.8 * 0.3)), ({"light": 0.4}, math.exp(-2.4 * 0.4))):
        flowers = np.asarray(growth.bloom(BEAN, state, day(2000, **lack), opens, grid()).flowers)
        assert flowers.mean() == pytest.approx(14 * 0.75 * share, abs=0.02)
    for crop in CROPS.values():
        usual = {"population": round(float(crop.density)), "spacing": 100 / math.sqrt(round(float(crop.density)))}
        grown = stand(1, Stage.GROW, size=crop.size_max, **usual)
        crowding = needs.crowding(crop, grown, jnp.float32(1.0))
        assert float(expglm(crop.bloom.open, **day(crowding=crowding))[0, 0]) == 1.0


def test_11_pollination_is_one_binomial_of_the_mixed_chance() -> None:
    mixed = (0.33 * 0.07 + 0.02 * math.exp(-0.1) + 0.65 * math.exp(-0.1)) / (0.33 + 0.02 + 0.65)
    assert float(equations.pollination(BEAN.bloom, day())[0, 0]) == pytest.approx(mixed, rel=1e-5)
    state = stand(2000, Stage.BLOOM, flowers=18, pollinated=8)
    after = growth.bloom(BEAN, state, day(2000), jnp.full((1, 2000), False), grid())
    gained = np.asarray(after.pollinated) - 8
    assert gained.min() >= 0 and gained.max() <= 10 and gained.mean() == pytest.approx(10 * mixed, abs=0.02)
    assert (np.asarray(after.flowers) == 18).all()


def only(way: str) -> Bloom:
    """Return the bloom of a bean that is pollinated in one way alone."""
    rates = {f"{other}_pollination_rate#%": float(other == way) for other in ("auto", "wind", "insect")}
    return Plant.named({"extends": "bean", "bloom": rates}).bloom


def test_12_wind_pollinates_in_its_temperatures() -> None:
    got = equations.pollination(only("wind"), day(temperature=28.5, visits=0.0))
    assert float(got[0, 0]) == pytest.approx(math.exp(-(0.1 + 0.4 * 2.5)), rel=1e-5)


def test_13_insects_pollinate_once_they_have_come() -> None:
    got = equations.pollination(only("insect"), day(2, visits=[[0.0, 1.0]], temperature=28.5))
    np.testing.assert_allclose(got, [[math.exp(-(0.1 + 4)), math.exp(-0.1)]], rtol=1e-5)


def test_no_help_makes_more_than_certain() -> None:
    """A negative intercept, where the binomials of eqs. (10) and (11) know no chance above 1, and eq. (19) no share."""
    eager = {name: {"intercept": -3} for name in ("open", "wind", "insects")}
    crop = Plant.named({"extends": "bean", "bloom": eager, "fruit": {"ripen": {"intercept": -3}}})
    for stage, opens in ((Stage.GROW, True), (Stage.BLOOM, False)):
        after = growth.bloom(crop, stand(9, stage, flowers=14), day(9), jnp.full((1, 9), opens), grid(9))
        assert (np.asarray(after.flowers if opens else after.pollinated) == 14).all()
    assert float(growth.compute_thresholds(crop, day()).weight[0, 0]) == crop.fruit_weight_max


@pytest.mark.parametrize("start", ["size_start#cm", "fruit_weight_start#g"])
def test_growth_begins_below_its_end(start: str) -> None:
    with pytest.raises(ConfigError, match=f"{start}: expected at most {start.replace('start', 'max')} .*, got 900"):
        Plant.named({"extends": "bean", start: 900})


def test_14_flowers_fade_with_their_age() -> None:
    assert moves(Stage.BLOOM, age_bloom=8) == 1.0
    assert moves(Stage.BLOOM, age_bloom=6) == pytest.approx(math.exp(-2), rel=1e-5)


def test_15_frost_kills_in_bloom() -> None:
    assert alive(Stage.BLOOM, frost=2) == 1.0
    assert alive(Stage.BLOOM, frost=3) == pytest.approx(math.exp(-2), abs=1e-3)
    assert alive(Stage.BLOOM, cold=-1.2) == pytest.approx(math.exp(-2.3 * 0.5), abs=1e-3)


def test_16_fruit_grows_by_temperature_nutrients_and_water() -> None:
    short = {"temperature": 9.0, "N": 0.2, "P": 0.2, "K": 0.3, "C": 1.0, "water": 0.1}
    short |= {"crowding": 0.5, "light": 0.2, "radiation": 6.0}
    terms = [0.12 * 2, 0, 0, 0, 0.1 * 1.0, 0.5 * 0.1, 0.2 * 0.5, 1.5 * 0.2, 0.07 * 8, 0.0]
    got = np.stack(growth.growth_exponents(BEAN, stand(1, Stage.FRUIT), day(**short)))[:, 0, 0]
    np.testing.assert_allclose(got, terms, rtol=1e-4)


def test_17_a_fruit_gains_weight_unless_the_rate_is_too_small() -> None:
    calm = Plant.named({"extends": "tomato", "fruit": {"fruit_rate_sigma2": 0}})
    state = stand(1, Stage.FRUIT, fruit_weight=25.0)
    rate = math.exp(-0.15)
    gained = growth.grow(calm, state, day(), grid(1))
    assert float(gained.fruit_weight[0, 0]) == pytest.approx(25 + rate * (1 - 25 / 170) * 5, rel=1e-5)
    starved = growth.grow(calm, state, day(water=6.0), grid(1))
    assert float(starved.fruit_weight[0, 0]) == 25.0 and int(starved.noweight[0, 0]) == 1


def test_17_a_rate_at_its_minimum_adds_nothing_on_a_good_day() -> None:
    slow = Plant.named({"extends": "tomato", "fruit": {"fruit_rate_sigma2": 0, "weight_rate_min#": 0.99}})
    waits = growth.grow(slow, stand(1, Stage.FRUIT, fruit_weight=25.0), day(), grid(1))
    assert float(waits.fruit_weight[0, 0]) == 25.0 and int(waits.noweight[0, 0]) == 1


def test_a_ripe_plant_dies_when_its_last_fruit_is_gone() -> None:
    fate = growth.PlantFate(*(jnp.full((1, 1), value) for value in (True, 0, 0.0)))
    for fruits, stage in ((3, Stage.RIPE), (0, Stage.DEAD)):
        assert int(growth.apply_deaths(stand(1, Stage.RIPE, fruits=fruits), fate).stage[0, 0]) == stage


def test_18_fruit_ripens_with_its_weight() -> None:
    weights = (5.4, 5.34, 5.1)
    chances = [moves(Stage.FRUIT, state=stand(1, Stage.FRUIT, fruit_weight=w)) for w in weights]
    np.testing.assert_allclose(chances, [1.0, math.exp(-1), math.exp(-5)], rtol=1e-3)


def test_19_stress_and_missing_visits_make_small_fruit() -> None:
    _, weight = growth.compute_thresholds(BEAN, day(stress=0.5, visits=1.0))
    assert float(weight[0, 0]) == pytest.approx(6 * 0.9 * math.exp(-0.3 * 0.5 - 0.08 * 2), rel=1e-4)
    _, parched = growth.compute_thresholds(BEAN, day(drought=-math.log(0.7)))
    assert float(parched[0, 0]) == pytest.approx(5.4 * 0.7, rel=1e-4), "K_y of FAO-33 left 0.7 of the yield"
    _, unstressed = growth.compute_thresholds(BEAN, day())
    assert float(unstressed[0, 0]) == pytest.approx(5.4, rel=1e-4)


def test_20_fruiting_plants_live_by_weight_humidity_and_pests() -> None:
    assert alive(Stage.FRUIT, noweight=6, humidity=30, pests=1) == 1.0
    by_hand = math.exp(-(0.1 * 4 + 0.01 * 3 + 0.9 * 0.5))
    assert alive(Stage.FRUIT, noweight=10, humidity=98, pests=1.5) == pytest.approx(by_hand, abs=1e-3)
    assert alive(Stage.FRUIT, cold=-1.7) == pytest.approx(math.exp(-2.3), abs=1e-3)


def test_21_ripe_fruit_is_lost_to_rain_frost_pests_and_age() -> None:
    calm = Plant.named({"extends": "bean", "ripe": {"ripe_rate_sigma2": 0}})
    share = math.exp(-(0.1 + 2 * 1 + 0.3 * 0.5 + 0.5 * 2 + 0.2))
    spoilt = day(rain=1, frost=3, pests=1.5, age_ripe=9, strain_harvest=0.2)
    got = growth.keep_fruits(calm, stand(1, Stage.RIPE, fruits=90), spoilt, grid(1))
    assert int(got.fruits[0, 0]) == math.floor(90 * share)
    fresh = growth.keep_fruits(calm, stand(1, Stage.RIPE, fruits=90), day(), grid(1))
    assert int(fresh.fruits[0, 0]) == 90


def test_21_noise_keeps_at_most_all_and_takes_a_fruit_every_other_day() -> None:
    fruits = np.asarray(growth.keep_fruits(BEAN, stand(2000, Stage.RIPE, fruits=10), day(2000), grid()).fruits)
    assert fruits.max() == 10 and float(np.mean(fruits == 10)) == pytest.approx(0.5, abs=2e-3)


def test_growth_follows_the_light() -> None:
    """Monteith's proportion of growth to intercepted light, to 0.08 of the unshaded rate, in both stages."""
    taken = np.linspace(0, 0.75, 31)
    for group in (BEAN.grow, BEAN.fruit):
        plain = expglm(group.rate, **day())
        shaded = expglm(group.rate, **day(31, light=taken[None]))
        np.testing.assert_allclose(np.asarray(shaded / plain)[0], 1 - taken, atol=0.08)


HAZARDS = [
    (Stage.SEED, {"birds": 5}, "seed: birds"), (Stage.SEED, {"age_seed": 40}, "seed: age"),
    (Stage.GROW, {"nogrow": 30}, "grow: no-growth days"), (Stage.GROW, {"pests": 9}, "grow: pests"),
    (Stage.BLOOM, {"frost": 9}, "bloom: frost"), (Stage.FRUIT, {"noweight": 30}, "fruit: no-weight days"),
    (Stage.FRUIT, {"humidity": 5}, "fruit: humidity"), (Stage.FRUIT, {"pests": 9}, "fruit: pests"),
    *((stage, {"strain_death": 3}, f"{stage.name.lower()}: strain") for stage in list(Stage)[1:5]),
]  # fmt: skip


@pytest.mark.parametrize(("stage", "driver", "cause"), HAZARDS, ids=[c for _, _, c in HAZARDS])
def test_a_death_is_explained_by_its_largest_term(stage: Stage, driver: dict[str, float], cause: str) -> None:
    fate = growth.decide_survival(BEAN, stand(1, stage), day(**driver), jnp.full((1, 1), 0.9999))
    buried = growth.apply_deaths(stand(1, stage), fate)
    assert int(buried.stage[0, 0]) == Stage.DEAD and CAUSES[int(buried.cause_of_death[0, 0])] == cause
    assert float(buried.death_exponent[0, 0]) > 0.2


@pytest.mark.parametrize("stage", [Stage.GROW, Stage.FRUIT])
@pytest.mark.parametrize("factor", GROWTH_FACTORS[1:])
def test_a_slow_day_is_explained_by_its_largest_term(stage: Stage, factor: str) -> None:
    change = {"temperature": 40.0} if factor == "temperature" else {factor: 1.0}
    change = {"strain_growth": 1.0} if factor == "strain" else change
    state = growth.grow(BEAN, stand(1, stage), day(**change), grid(1))
    assert GROWTH_FACTORS[int(state.limiting_factor[0, 0])] == factor and float(state.limiting_exponent[0, 0]) > 0
    fine = growth.grow(BEAN, stand(1, stage), day(), grid(1))
    assert int(fine.limiting_factor[0, 0]) == 0 and float(fine.limiting_exponent[0, 0]) == 0.0


def test_every_cause_and_limit_has_its_term() -> None:
    groups = (BEAN.seed.survive, BEAN.grow.survive, BEAN.bloom.survive, BEAN.fruit.survive)
    assert sum(1 + len(dataclasses.fields(group)) for group in groups) == len(CAUSES) - 2, "strain is one more"
    assert len(growth.growth_exponents(BEAN, stand(1, Stage.GROW), day())) == len(GROWTH_FACTORS) - 1


@pytest.mark.parametrize(("share", "lives"), [(0.099, False), (0.101, True)])
def test_a_fruit_that_stress_keeps_below_a_tenth_of_the_largest_neither_gains_nor_ripens(
    share: float, lives: bool
) -> None:
    stressed = {"stress": {"low": -math.inf, "high": 0, "sensitivity": 1}}
    fruit = {"fruit_rate_sigma2": 0, "ripen": {"intercept": 0} | stressed}
    crop = Plant.named({"extends": "bean", "fruit_weight_start#g": 0.001, "fruit": fruit})
    most, today = float(crop.fruit_weight_max), day(stress=-math.log(share))
    assert float(growth.compute_ceilings(crop, today).weight[0, 0]) == pytest.approx(share * most, rel=1e-4)
    after = growth.grow(crop, stand(1, Stage.FRUIT, fruit_weight=0.05 * most), today, grid(1))
    assert (float(after.fruit_weight[0, 0]) > 0.051 * most) == lives
    marks = growth.Thresholds(*[jnp.full((1, 1), share * most)] * 2)
    full = stand(1, Stage.FRUIT, fruit_weight=share * most)
    assert (float(growth.transition_probability(crop, full, today, marks)[0, 0]) > 0) == lives
