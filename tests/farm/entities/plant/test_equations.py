"""Equations (2) to (21) of the paper against values worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.crops_and_weeds import Drivers, water_threshold
from harvestgym.farm.entities.messages import Ground
from harvestgym.farm.entities.plant import Plant, equations, growth, uptake
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
    "temperature": 18.0, "humidity": 60.0, "frost": 0, "rain": 0.0, "age_seed": 10, "age_ripe": 0,
    "nogrow": 0, "noweight": 0, "crowding": 0.0, "light": 0.0, "salt": 0.0, "pace": 0.02,
    "birds": 0.0, "pests": 0.0, "visits": 9.0,
    "N": 0.0, "P": 0.0, "K": 0.0, "C": 0.0, "water": 0.0, "cold": 10.0, "drought": 0.0,
    "strain_death": 0.0, "strain_growth": 0.0, "strain_harvest": 0.0, "carbon": 1.0,
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
    assert alive(Stage.SEED, age_seed=33) == pytest.approx(math.exp(-0.3 * 3), abs=1e-3)


CALM = Plant.named({"extends": "bean", "rate_sigma2": 0})
SPAN = 2 * math.sqrt(60) * (math.atanh(math.sqrt(0.9)) - math.atanh(math.sqrt(0.1 / 60)))
"""Sum of the rates of eq. (6) from a sprout of 0.1 cm to nine tenths of 60 cm."""


def test_4_growth_by_temperature_nutrients_and_water() -> None:
    short = {"temperature": 29.0, "N": 0.2, "P": 0.6, "K": 0.5, "C": 0.9, "water": 0.9}
    short |= {"crowding": 0.5, "light": 0.2, "salt": 2.0}
    terms = [0.12 * 2, 0, 0.6 - 0.2231, 0, 0, 0.9 - 0.69, 0.2 * 0.5, 0.2, 0.19, 0.3]
    got = np.stack(growth.growth_exponents(BEAN, stand(1, Stage.GROW), day(**short, strain_growth=0.3)))[:, 0, 0]
    np.testing.assert_allclose(got, terms, rtol=1e-4)
    state = growth.grow(CALM, stand(1, Stage.GROW, size=20.0), day(**short), grid(1))
    rate = 0.02 * math.exp(-sum(terms[:-1])) * SPAN
    assert float(state.size[0, 0]) == pytest.approx(20 + rate * (1 - 20 / 60) * math.sqrt(20), rel=1e-5)
    assert GROWTH_FACTORS[int(state.limiting_factor[0, 0])] == "P"
    assert float(state.limiting_exponent[0, 0]) == pytest.approx(0.6 - 0.2231)
    parched = growth.grow(CALM, stand(1, Stage.GROW, size=20.0), day(water=5.0), grid(1))
    assert float(parched.size[0, 0]) == 20.0 and int(parched.nogrow[0, 0]) == 1


@pytest.mark.parametrize("factor", ["N", "P", "K", "water", "light"])
def test_4_growth_without_what_a_plant_cannot_do_without_is_none(factor: str) -> None:
    nothing = float(equations.minus_log(jnp.float32(0.0)))
    for stage in (Stage.GROW, Stage.FRUIT):
        after = growth.grow(CALM, stand(1, stage), day(**{factor: nothing}), grid(1))
        assert float(after.size[0, 0]) == 30.0 and float(after.fruit_weight[0, 0]) == 3.0 * (stage == Stage.FRUIT)


def test_4_the_nutrition_index_is_the_share_of_the_need_so_far() -> None:
    """Of 3 g taken up and 1 g refused, today 1 g more is asked and half of it given: 3.5 of 5 g."""
    state = stand(1, Stage.GROW, nutrients=3.0, nutrient_stress=1.0)
    asked, given = (jnp.full((4, 1, 1), value) for value in (1.0, 0.5))
    found = uptake.hunger(BEAN, state, asked, given)
    assert [float(found[n][0, 0]) for n in "NPKC"] == pytest.approx([-math.log(3.5 / 5)] * 4)
    idle = uptake.hunger(BEAN, stand(1, Stage.SEED), 0 * asked, 0 * asked)
    assert float(idle["N"][0, 0]) == 0.0, "nothing is refused to a plant that needs nothing"


def drivers(crop: Plant, state: PlantState, soil: Ground, **today: float) -> Drivers:
    """Return those of a mild day."""
    return uptake.compute_drivers(crop, state, field(), air(**today), soil, 1.0)


def ground(water: float, nutrients: float = 10.0) -> Ground:
    """Return a loam of one plot of 1 m2."""
    bucket = {"water": water, "extractable": max(water - 60, 0), "capacity": 125, "wilting": 60}
    return message(Ground, field(), **bucket, nutrients=nutrients, microlife=1)


def test_nitrate_makes_the_soil_water_salty() -> None:
    """14 g of nitrogen in 100 L are 10 mmol of nitrate a litre, 1 dS/m in water, 0.5 in the extract of FAO-29."""
    found = drivers(BEAN, stand(1, Stage.GROW), ground(water=100.0, nutrients=14.0))
    assert float(found["salt"][0, 0]) == pytest.approx(0.5, rel=1e-5)
    nearly_dry = drivers(BEAN, stand(1, Stage.GROW), ground(water=0.5, nutrients=14.0))
    assert float(nearly_dry["salt"][0, 0]) == pytest.approx(100.0, rel=1e-5)


def test_5_the_water_below_which_drought_begins() -> None:
    """Between the wilting point and the capacity; below it plants keep the share K_s, whose minus log is felt."""
    assert float(water_threshold(jnp.float32(0.45), jnp.float32(60), jnp.float32(125))) == pytest.approx(89.25)
    for stage in (Stage.GROW, Stage.FRUIT):
        found = drivers(BEAN, stand(1, stage), ground(water=70.0))
        assert float(found["water"][0, 0]) == pytest.approx(-math.log(10 / (65 * 0.55)), rel=1e-5)
    parched = drivers(BEAN, stand(1, Stage.GROW), ground(water=50.0))
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


def test_6_an_unstressed_plant_is_grown_at_the_end_of_its_stage() -> None:
    """At any pace: nine tenths of the largest size and weight, to the error of daily steps."""
    grow = jax.jit(growth.grow)
    for steps in (20, 60, 150):
        state = stand(1, Stage.GROW, size=0.1)
        fruit, today = stand(1, Stage.FRUIT, fruit_weight=1.0), day(pace=1 / steps)
        for _ in range(steps):
            state = grow(CALM, state, today, grid(1))
            fruit = grow(CALM, fruit, today, grid(1))
        assert float(state.size[0, 0]) == pytest.approx(54.0, rel=0.04)
        assert float(fruit.fruit_weight[0, 0]) == pytest.approx(5.4, rel=0.02)


def test_6_growth_needs_a_share_above_the_least() -> None:
    """The noise has the stated variance: a share of 0.15 is at most 0.1 when it is one standard deviation down."""
    state = stand(2000, Stage.GROW, size=20.0)
    grown = growth.grow(BEAN, state, day(2000, temperature=27 + 1.897 / 0.12), grid())
    below = float(np.mean(grown.nogrow == 1))
    assert below == pytest.approx(0.1587, abs=2e-3)
    np.testing.assert_array_equal(np.asarray(grown.size > 20.0), np.asarray(grown.nogrow == 0))


def test_9_a_growing_plant_lives_by_growth_and_pests() -> None:
    assert alive(Stage.GROW, nogrow=8, pests=1) == 1.0
    assert alive(Stage.GROW, nogrow=13) == pytest.approx(math.exp(-0.5), abs=1e-3)
    assert alive(Stage.GROW, pests=3, nogrow=10) == pytest.approx(math.exp(-0.5 * 2 - 0.1 * 2), abs=1e-3)
    assert alive(Stage.GROW, cold=0) == 1.0 and alive(Stage.GROW, cold=-2) == pytest.approx(0.1, abs=2e-3)


def test_10_flowers_are_binomial_with_the_share_of_the_height() -> None:
    state = stand(2000, Stage.GROW, size=45.0)
    flowers = np.asarray(
        growth.count_flowers_and_fruits(BEAN, state, day(2000), jnp.full((1, 2000), True), grid()).flowers
    )
    assert flowers.mean() == pytest.approx(14 * 0.75, abs=0.02)
    assert flowers.var() == pytest.approx(14 * 0.75 * 0.25, rel=0.02)


def test_10_crowded_plants_open_fewer_flowers() -> None:
    """By hand: half of the ground, of the 0.8 that suffices; at the usual density of each crop no flower is lost."""
    state, opens = stand(2000, Stage.GROW, size=45.0), jnp.full((1, 2000), True)
    after = growth.count_flowers_and_fruits(BEAN, state, day(2000, crowding=math.log(2)), opens, grid())
    assert np.asarray(after.flowers).mean() == pytest.approx(14 * 0.75 * 0.5 / 0.8, abs=0.02)
    for crop in CROPS.values():
        usual = {"population": round(float(crop.density)), "spacing": 100 / math.sqrt(round(float(crop.density)))}
        grown = stand(1, Stage.GROW, size=crop.size_max, **usual)
        crowding = equations.minus_log(1 - uptake.crowding(crop, grown, jnp.float32(1.0)))
        assert float(expglm(crop.bloom.open, **day(crowding=crowding))[0, 0]) == 1.0


def test_11_pollination_is_one_binomial_of_the_mixed_chance() -> None:
    mixed = (0.33 * 0.09 + 0.02 * math.exp(-0.1) + 0.65 * math.exp(-0.1)) / (0.33 + 0.02 + 0.65)
    assert float(equations.pollination(BEAN.bloom, day())[0, 0]) == pytest.approx(mixed, rel=1e-5)
    state = stand(2000, Stage.BLOOM, flowers=18, pollinated=8)
    after = growth.count_flowers_and_fruits(BEAN, state, day(2000), jnp.full((1, 2000), False), grid())
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
    """A negative intercept, where the binomials of eqs. (10) and (11) know no chance above 1."""
    eager = {name: {"intercept": -3} for name in ("open", "wind", "insects")}
    crop = Plant.named({"extends": "bean", "bloom": eager})
    for stage, opens in ((Stage.GROW, True), (Stage.BLOOM, False)):
        after = growth.count_flowers_and_fruits(
            crop, stand(9, stage, flowers=14), day(9), jnp.full((1, 9), opens), grid(9)
        )
        assert (np.asarray(after.flowers if opens else after.pollinated) == 14).all()


@pytest.mark.parametrize("start", ["size_start#cm", "fruit_weight_start#g"])
def test_growth_begins_below_its_end(start: str) -> None:
    with pytest.raises(ConfigError, match=f"{start}: expected at most {start.replace('start', 'max')} .*, got 900"):
        Plant.named({"extends": "bean", start: 900})


def test_15_frost_kills_in_bloom() -> None:
    assert alive(Stage.BLOOM, cold=-0.7) == 1.0
    assert alive(Stage.BLOOM, cold=-1.2) == pytest.approx(math.exp(-2.3 * 0.5), abs=1e-3)


def test_16_fruit_grows_by_temperature_nutrients_and_water() -> None:
    short = {"temperature": 29.0, "N": 0.2, "P": 0.2, "K": 0.3, "C": 1.0, "water": 0.8}
    short |= {"crowding": 0.5, "light": 0.2, "salt": 1.5}
    terms = [0.12 * 2, 0, 0, 0, 0.1 * (1 - 0.2231), 0.8 - 0.69, 0.2 * 0.5, 0.2, 0.19 * 0.5, 0.0]
    terms[3:5] = [0, 0.1 * (1 - 0.2231)]
    got = np.stack(growth.growth_exponents(BEAN, stand(1, Stage.FRUIT), day(**short | {"K": 0.2})))[:, 0, 0]
    np.testing.assert_allclose(got, terms, rtol=1e-4)


def test_17_a_fruit_gains_weight_unless_the_share_is_too_small() -> None:
    state = stand(1, Stage.FRUIT, fruit_weight=2.5)
    rate = 0.02 * 2 * math.sqrt(6) * (math.atanh(math.sqrt(0.9)) - math.atanh(math.sqrt(1 / 6)))
    gained = growth.grow(CALM, state, day(), grid(1))
    assert float(gained.fruit_weight[0, 0]) == pytest.approx(2.5 + rate * (1 - 2.5 / 6) * math.sqrt(2.5), rel=1e-5)
    starved = growth.grow(CALM, state, day(water=6.0), grid(1))
    assert float(starved.fruit_weight[0, 0]) == 2.5 and int(starved.noweight[0, 0]) == 1


def test_17_a_share_at_its_minimum_adds_nothing_on_a_good_day() -> None:
    for least, grows in ((1.0, False), (0.999, True)):
        crop = Plant.named({"extends": "bean", "rate_sigma2": 0, "rate_min#": least})
        after = growth.grow(crop, stand(1, Stage.FRUIT, fruit_weight=2.5), day(), grid(1))
        assert (float(after.fruit_weight[0, 0]) > 2.5) == grows and int(after.noweight[0, 0]) == 1 - grows


def test_a_ripe_plant_dies_when_its_last_fruit_is_gone() -> None:
    fate = growth.PlantFate(*(jnp.full((1, 1), value) for value in (True, False, 0, 0.0)))
    for fruits, stage in ((3, Stage.RIPE), (0, Stage.DEAD)):
        assert int(growth.apply_deaths(stand(1, Stage.RIPE, fruits=fruits), fate).stage[0, 0]) == stage


def test_19_missing_visits_and_drought_make_small_fruit() -> None:
    """Of a fruit that has all the rates of its stage at once, at the weight that it can then reach."""
    for change, share in (({"visits": 1.0}, math.exp(-0.08 * 2)), ({"drought": -math.log(0.7)}, 0.7), ({}, 1.0)):
        most = 6 * share
        _, weight = uptake.grown(
            CALM, stand(1, Stage.FRUIT, fruit_weight=0.999 * most), jnp.ones((1, 1)), day(**change)
        )
        assert float(weight[0, 0]) == pytest.approx(most, rel=3e-3)


def test_carbon_dioxide_hastens_growth_and_saves_water() -> None:
    """AquaCrop at 550 ppm: 23 % more growth of a C3 plant, a third of it in maize, and 5 % less transpiration."""
    for name, gain in (("bean", 0.2301), ("corn", 0.315 * 0.2301)):
        found = [float(equations.carbon_gain(jnp.float32(c), CROPS[name].carbon)) for c in (369.41, 550.0)]
        assert found == [1.0, pytest.approx(1 + gain, abs=1e-4)]
    small = stand(1, Stage.FRUIT, fruit_weight=1.0)
    gains = [uptake.grown(CALM, small, 0.01 * jnp.ones((1, 1)), day(carbon=c))[1] - 1 for c in (1.0, 1.23)]
    assert float(gains[1][0, 0] / gains[0][0, 0]) == pytest.approx(1.23, rel=1e-3)
    tall = stand(1, Stage.GROW, size=60.0)
    lost = [uptake.transpiration(BEAN, tall, jnp.float32(1.0), air(co2=c)) for c in (369.41, 550.0)]
    assert float(lost[1][0, 0] / lost[0][0, 0]) == pytest.approx(0.95, abs=1e-5)


def test_20_fruiting_plants_live_by_weight_and_pests() -> None:
    assert alive(Stage.FRUIT, noweight=40, pests=1) == 1.0
    by_hand = math.exp(-(0.1 * 4 + 0.9 * 0.5))
    assert alive(Stage.FRUIT, noweight=44, pests=1.5) == pytest.approx(by_hand, abs=1e-3)
    assert alive(Stage.FRUIT, cold=-1.7) == pytest.approx(math.exp(-2.3), abs=1e-3)


def test_20_wet_weather_costs_fruits_and_not_the_stand() -> None:
    assert alive(Stage.FRUIT, humidity=100) == 1.0
    wet, never = day(2000, humidity=98), jnp.full((1, 2000), False)
    kept = growth.count_flowers_and_fruits(BEAN, stand(2000, Stage.FRUIT, fruits=10), wet, never, grid()).fruits
    assert float(np.mean(kept)) == pytest.approx(10 * math.exp(-0.01 * 3), abs=0.02)


@pytest.mark.parametrize(("crop", "progress", "after"), [
    ("corn", 0.6, Stage.RIPE), ("corn", 0.4, Stage.DEAD), ("bean", 0.6, Stage.DEAD),
])  # fmt: skip
def test_20_a_late_frost_ends_the_filling_of_dry_grain(crop: str, progress: float, after: Stage) -> None:
    state = stand(1, Stage.FRUIT, progress=progress)
    fate = growth.decide_survival(CROPS[crop], state, day(cold=-8.0), jnp.full((1, 1), 0.9999))
    buried = growth.enter_next_stage(CROPS[crop], growth.apply_deaths(state, fate), fate.ripens)
    assert int(buried.stage[0, 0]) == after and float(buried.fruit_weight[0, 0]) == 3.0


def test_21_ripe_fruit_is_lost_to_rain_frost_pests_and_age() -> None:
    calm = Plant.named({"extends": "bean", "ripe": {"ripe_rate_sigma2": 0}})
    share = math.exp(-(0.1 + 2 * 1 + 0.3 * 0.5 + 0.5 * 2 + 0.2))
    spoilt = day(rain=1, frost=3, pests=1.5, age_ripe=9, strain_harvest=0.2)
    got = growth.keep_fruits(calm, stand(1, Stage.RIPE, fruits=90), spoilt, grid(1))
    assert int(got.fruits[0, 0]) == math.floor(90 * share)
    fresh = growth.keep_fruits(calm, stand(1, Stage.RIPE, fruits=90), day(), grid(1))
    assert int(fresh.fruits[0, 0]) == 90


@pytest.mark.parametrize(("stage", "kept"), [(Stage.FRUIT, 90), (Stage.RIPE, math.floor(90 * math.exp(-1)))])
def test_21_strain_on_ripe_fruit_takes_no_growing_fruit(stage: Stage, kept: int) -> None:
    calm = Plant.named({"extends": "bean", "ripe": {"ripe_rate_sigma2": 0, "keep": {"intercept": 0}}})
    got = growth.keep_fruits(calm, stand(1, stage, fruits=90), day(strain_harvest=1.0), grid(1))
    assert int(got.fruits[0, 0]) == kept


def test_21_noise_keeps_at_most_all_and_takes_a_fruit_every_other_day() -> None:
    fruits = np.asarray(growth.keep_fruits(BEAN, stand(2000, Stage.RIPE, fruits=10), day(2000), grid()).fruits)
    assert fruits.max() == 10 and float(np.mean(fruits == 10)) == pytest.approx(0.5, abs=2e-3)


HAZARDS = [
    (Stage.SEED, {"birds": 5}, "seed: birds"), (Stage.SEED, {"age_seed": 40}, "seed: age"),
    (Stage.GROW, {"nogrow": 30}, "grow: no-growth days"), (Stage.GROW, {"pests": 9}, "grow: pests"),
    (Stage.BLOOM, {"cold": -9}, "bloom: cold"), (Stage.FRUIT, {"noweight": 90}, "fruit: no-weight days"),
    (Stage.FRUIT, {"pests": 9}, "fruit: pests"),
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
    change = {"temperature": 40.0} if factor == "temperature" else {factor: 3.0}
    change = {"strain_growth": 1.0} if factor == "strain" else change
    state = growth.grow(BEAN, stand(1, stage), day(**change), grid(1))
    assert GROWTH_FACTORS[int(state.limiting_factor[0, 0])] == factor and float(state.limiting_exponent[0, 0]) > 0
    fine = growth.grow(BEAN, stand(1, stage), day(), grid(1))
    assert int(fine.limiting_factor[0, 0]) == 0 and float(fine.limiting_exponent[0, 0]) == 0.0


def test_every_cause_and_limit_has_its_term() -> None:
    groups = (BEAN.seed.survive, BEAN.grow.survive, BEAN.bloom.survive, BEAN.fruit.survive)
    assert sum(1 + len(dataclasses.fields(group)) for group in groups) == len(CAUSES) - 2, "strain is one more"
    assert len(growth.growth_exponents(BEAN, stand(1, Stage.GROW), day())) == len(GROWTH_FACTORS) - 1
