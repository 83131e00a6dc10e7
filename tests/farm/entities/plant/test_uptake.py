"""The needs of a stand: K_t and transpiration of section 4.2.7 by FAO-56 examples, light, and ground."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.crops_and_weeds import stomatal_opening, unshaded_light
from harvestgym.farm.entities.messages import Canopy, Ground
from harvestgym.farm.entities.plant import Plant, equations, uptake
from harvestgym.farm.entities.plant.stages import Stage
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board, field
from tests.farm.stands import stand

CROPS = {name: Plant.named(name) for name in ("bean", "corn", "tomato", "carrots")}
BEAN = CROPS["bean"]


@pytest.mark.parametrize(("wind", "humidity", "wanted"), [(1.3, 75.0, 1.07), (4.6, 44.0, 1.30), (2.0, 45.0, 1.20)])
def test_k_t_is_the_climatic_adjustment_of_fao_56(wind: float, humidity: float, wanted: float) -> None:
    """Example 27 of FAO-56: maize of 2 m, 1.20 in the table, at Taipei and at Mocha."""
    found = equations.crop_coefficient(*(jnp.float32(v) for v in (1.20, 0.0, 200.0, wind, humidity)))
    assert float(found) == pytest.approx(wanted, abs=0.005)


@pytest.mark.parametrize(("crop", "wanted"), [("bean", 1.00), ("corn", 1.15), ("tomato", 1.10), ("carrots", 0.95)])
def test_k_t_of_a_full_grown_crop_is_that_of_fao_56_table_17(crop: str, wanted: float) -> None:
    grow, height = CROPS[crop].grow, CROPS[crop].size_max
    standard = equations.crop_coefficient(grow.alpha_0, grow.alpha_1, height, jnp.float32(2), jnp.float32(45))
    assert float(standard) == pytest.approx(wanted, abs=1e-3)


def test_vapour_pressure_of_fao_56_table_2_3() -> None:
    found = equations.vapour_pressure(jnp.asarray([1.0, 20.0, 24.5, 35.0, 48.0]))
    np.testing.assert_allclose(found, [0.657, 2.338, 3.075, 5.623, 11.162], atol=2e-3)
    assert float(equations.least_humidity(jnp.float32(60), jnp.float32(20), jnp.float32(30))) == pytest.approx(
        60 * 2.338 / 4.243, rel=1e-3
    )


def test_stomata_close_from_the_threshold_to_the_wilting_point() -> None:
    found = stomatal_opening(jnp.asarray([0.0, 10.0, 20.0, 90.0]), jnp.float32(20))
    np.testing.assert_allclose(found, [0.0, 0.5, 1.0, 1.0])


def test_roots_bound_the_water_that_a_crop_can_take() -> None:
    """A loam of 2 m holds 260 mm for plants; bean roots reach 0.6 m of it, 78 mm, and what is below stays wet."""
    deep = {"capacity": 500.0, "wilting": 240.0, "depth": 2.0}
    for water, left, opening in ((500.0, 78.0, 1.0), (450.0, 28.0, 28 / (0.55 * 78)), (400.0, 0.0, 0.0)):
        soil = message(Ground, field(), water=water, extractable=water - 240, **deep)
        found, most = uptake.reached_water(BEAN, soil)
        assert (float(found[0, 0]), float(most[0, 0])) == pytest.approx((left, 78.0), abs=1e-3)
        share = uptake.transpired_share(BEAN, soil)
        assert float(share[0, 0]) == pytest.approx(opening, abs=1e-5)
    shallow = message(Ground, field(), water=100.0, extractable=40.0, capacity=125.0, wilting=60.0, depth=0.5)
    assert float(uptake.reached_water(BEAN, shallow)[0][0, 0]) == pytest.approx(40.0), "a shallow soil bounds the roots"


@pytest.mark.parametrize(
    ("crop", "least", "most"), [("bean", 0.5, 0.7), ("corn", 1.0, 1.7), ("tomato", 0.7, 1.5), ("carrots", 0.5, 1.0)]
)
def test_root_depths_are_those_of_fao_56_table_22(crop: str, least: float, most: float) -> None:
    assert least <= float(CROPS[crop].root_depth) <= most


def test_light_is_what_the_development_of_the_day_can_use() -> None:
    """At 18 degC a bean passes 9 degree-days, which can use 9.9 MJ; in the cold, fewer. Shade takes its share."""
    for radiation, t_mean, unshaded, share in (
        (9.9, 18, 0.5, 0.5), (4.95, 18, 1.0, 0.5), (25, 18, 1.0, 1.0), (25, 18, 0.5, 0.5), (1.1, 10, 1.0, 1.0),
        (0, 18, 1.0, 0.0),
    ):  # fmt: skip
        found = uptake.received_light(BEAN, air(radiation=radiation, t_mean=t_mean), unshaded)
        assert float(found) == pytest.approx(share, abs=1e-5)


def test_drought_costs_what_the_worst_of_three_periods_costs() -> None:
    """By hand, with factors of 0.4 in growth, 1.0 in flower and 0.75 in fruit: a tenth lost so far, then more."""
    names = {"grow": 0.4, "bloom": 1.0, "fruit": 0.75}
    crop = Plant.named({"extends": "bean"} | {name: {"Water_yield_response": k} for name, k in names.items()})
    grows, blooms, fills = Stage.GROW, Stage.BLOOM, Stage.FRUIT
    cases = (grows, 1.0, 0.9), (grows, 5.0, 0.5**0.4), (blooms, 3.0, 0.7), (fills, 6.0, 0.4**0.75)
    for stage, refused, left in cases:
        dry = {"stage_refused": refused, "stage_thirst": 10.0, "past_drought": -math.log(0.9)}
        found = uptake.drought_exponent(crop, stand(1, stage, **dry))
        assert float(found[0, 0]) == pytest.approx(-math.log(left), rel=1e-5)
    assert float(uptake.drought_exponent(BEAN, stand(1, Stage.FRUIT))[0, 0]) == 0.0


def test_a_closed_stand_transpires_k_t_et0_from_its_plot() -> None:
    """16 beans of 60 cm would cover 1.15 m2 and have 1; of 20 cm they cover 0.384."""
    place = field()
    still = air(et0=6.0, wind=7.2, humidity=100, t_mean=20, t_max=33.57)
    assert float(equations.least_humidity(still.humidity, still.t_mean, still.t_max)) == pytest.approx(45, abs=0.2)
    for size, cover in ((60.0, 1.0), (20.0, 0.384)):
        lost = uptake.transpiration(BEAN, stand(1, Stage.GROW, size=size, population=16), place.surface, still)
        assert float(lost[0, 0]) == pytest.approx(6 * (0.15 + 0.0141667 * size) * cover, rel=1e-3)


def canopy(shade: float, height: float) -> Canopy:
    """Something that stands on one plot."""
    return message(Canopy, field(), alive=1, shade=shade, height=height)


def light_on(own: Canopy, *others: Canopy) -> float:
    hosts = {f"Plant-{i}": canopy for i, canopy in enumerate((own, *others))}
    place = replace(field(), hosts=tuple(hosts))
    return float(unshaded_light(board(place, "Plant-0", *hosts.items()))[0, 0])


def test_light_is_what_the_shade_of_taller_hosts_leaves() -> None:
    bean, corn, weed = canopy(0.8, 60), canopy(0.7, 250), canopy(0.3, 60)
    assert light_on(bean, corn) == pytest.approx(1 - 0.7 * 250 / 310, rel=1e-6)
    assert light_on(corn, bean) == pytest.approx(1 - 0.8 * 60 / 310, rel=1e-6)
    both = (1 - 0.7 * 250 / 310) * (1 - 0.3 / 2)
    assert light_on(bean, corn, weed) == light_on(bean, weed, corn) == pytest.approx(both, rel=1e-6)


def test_absent_plants_take_no_light() -> None:
    nothing, bean = canopy(0.0, 0.0), canopy(0.8, 60)
    assert light_on(bean, nothing) == light_on(nothing, nothing) == 1.0
    assert light_on(nothing, bean) == pytest.approx(0.2, rel=1e-6), "a sprout has what passes the whole canopy"


def test_crowding_is_the_ground_that_a_plant_lacks() -> None:
    """16 beans that would cover 0.06 m2 each stand in a square of 4 by 4, which reaches 0.245 m beyond 3 spacings."""
    state = stand(3, Stage.GROW, size=50.0, population=16, spacing=jnp.asarray([[25.0, 20.0, 5.0]]))
    found = uptake.crowding(BEAN, state, jnp.float32(1.0))
    own = [(3 * d + math.sqrt(0.06)) ** 2 / 16 for d in (0.20, 0.05)]
    np.testing.assert_allclose(found, [[0.0, *(1 - a / 0.06 for a in own)]], atol=1e-5)
    alone = stand(1, Stage.GROW, size=50.0, population=1, spacing=5.0)
    assert float(uptake.crowding(BEAN, alone, jnp.float32(1.0))[0, 0]) == pytest.approx(0.0, abs=1e-6)
    dense = replace(state, population=jnp.full((1, 3), 40, jnp.int32))
    assert float(uptake.crowding(BEAN, dense, jnp.float32(1.0))[0, 0]) == pytest.approx(1 - 0.025 / 0.06, rel=1e-5)
