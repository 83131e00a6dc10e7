"""A stand by hand, stage by stage and on plots of any size: what it holds, needs and publishes."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Board
from harvestgym.farm.entities.messages import Canopy, Ground
from harvestgym.farm.entities.plant import Plant, uptake
from harvestgym.farm.entities.plant.stages import Stage
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board, field
from tests.farm.stands import stand

EVERY = jnp.asarray([list(Stage)])
"""None, seed, grow, bloom, fruit, ripe, dead."""
ROW = field((1, 7))
BEAN = Plant.named("bean")
GLOBAL_STAGE = Plant.derived["global_stage"]


def crop(**groups: dict[str, Any]) -> Plant:
    """Return a bean with other numbers in some groups, by the names of the fields."""
    new = {
        name: replace(getattr(BEAN, name), **{k: jnp.asarray(v, jnp.float32) for k, v in group.items()})
        for name, group in groups.items()
    }
    return replace(BEAN, **new)


THIRSTY = crop(
    grow={"water": 30, "nutrients": [1e-3, 0, 0, 2e-3]},
    fruit={"water": 2, "nutrients": [1e-1, 0, 0, 2e-1]},
)


def test_the_body_water_of_each_stage() -> None:
    """16 plants of 30 mL; of 10 fruits of 3 g, 2 mL a gram: in litres. Seeds and flowers hold none."""
    found = uptake.body_water(THIRSTY, stand(7, EVERY))
    np.testing.assert_allclose(found[0], [0, 0, 0.48, 0, 16 * 30 * 0.002, 0, 0], rtol=1e-6)


def test_the_nutrients_of_growth() -> None:
    """16 plants that gain 20 mm, and 10 fruits each that gain half a gram; of carbon twice the nitrogen."""
    state = stand(7, EVERY)
    grows, fills = EVERY == Stage.GROW, EVERY == Stage.FRUIT
    found = uptake.nutrient_demand(THIRSTY, state, state.size + 2.0 * grows, state.fruit_weight + 0.5 * fills)
    wanted = [0, 0, 16 * 20e-3, 0, 16 * 10 * 0.5e-1, 0, 0]
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-5)
    np.testing.assert_allclose(found[3, 0], np.multiply(wanted, 2), rtol=1e-5)
    assert not found[1:3].any()


def test_what_is_taken_up_is_what_is_lost_and_lacking() -> None:
    """A litre lost and 0.48 L of body water, minus what is stored; nothing if more is stored; nothing if not alive."""
    grows = stand(3, Stage.GROW, water=jnp.asarray([[0.0, 0.3, 9.0]]))
    np.testing.assert_allclose(uptake.water_demand(THIRSTY, grows, jnp.float32(1.0)), [[1.48, 1.18, 0]], rtol=1e-6)
    for stage in (Stage.NONE, Stage.SEED, Stage.DEAD):
        assert float(uptake.water_demand(THIRSTY, stand(1, stage), jnp.float32(1.0))[0, 0]) == 0.0


def test_ground_is_covered_by_living_leaves_up_to_the_whole_plot() -> None:
    """Of 0.0012 m2 a cm, 16 plants of 30 cm cover 0.576 m2."""
    found = uptake.ground_covered(BEAN, stand(7, EVERY), jnp.float32(1.0))
    np.testing.assert_allclose(found[0], [0, 0, *[0.576] * 4, 0], rtol=1e-5)
    assert float(uptake.ground_covered(BEAN, stand(1, Stage.GROW, size=60.0), jnp.float32(1.0))[0, 0]) == 1.0


def test_a_plant_of_no_size_is_not_crowded_and_its_slope_is_finite() -> None:
    sprout = stand(1, Stage.GROW, size=0.0, population=1, spacing=0.0)
    assert float(uptake.crowding(BEAN, sprout, jnp.float32(1.0))[0, 0]) == 0.0
    slope = jax.grad(lambda size: uptake.crowding(BEAN, replace(sprout, size=size), jnp.float32(1.0)).sum())
    assert np.isfinite(slope(jnp.zeros((1, 1)))).all()


def test_roots_reach_all_of_a_soil_without_a_depth() -> None:
    soil = message(Ground, field(), water=100.0, extractable=40.0, capacity=125.0, wilting=60.0)
    found, most = uptake.reached_water(BEAN, soil)
    assert (float(found[0, 0]), float(most[0, 0])) == (40.0, 65.0)


@pytest.mark.parametrize(("kind", "rain"), [(0, 0), (1, 1), (2, 1)])
def test_it_rains_or_not(kind: int, rain: int) -> None:
    soil = message(Ground, field(), water=100.0, extractable=40.0, capacity=125.0, wilting=60.0)
    found = uptake.compute_drivers(BEAN, stand(1, Stage.GROW), field(), air(rain_class=kind), soil, 1.0)
    assert float(found["rain"]) == rain


def morning(place: Any, *others: tuple[str, Any], water: float = 125.0, depth: float = 0.5, **today: float) -> Board:
    """Return the weather and a loam on this many square metres, 65 L each for plants."""
    surface = float(place.surface)
    bucket = {"capacity": 125 * surface, "wilting": 60 * surface}
    soil = message(Ground, place, water=water * surface, extractable=(water - 60) * surface, depth=depth, **bucket)
    return board(place, "Plant-0", ("Weather-0", air(**today)), ("Soil-0", soil), *others)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_shade_is_a_share_of_the_plot(scale: float) -> None:
    place, state = field(scale=scale), stand(1, Stage.BLOOM)
    said = BEAN.canopy(state, place, morning(place), {})
    assert float(said.shade[0, 0]) == pytest.approx(float(BEAN.shadow) * 0.576 / scale**2, rel=1e-5)
    assert float(said.height[0, 0]) == 30.0 and float(said.flowers[0, 0]) == 16 * 16
    assert float(said.alive[0, 0]) == 16.0, "plants are counted on the whole plot"


def test_where_nothing_lives_a_canopy_is_empty() -> None:
    said = BEAN.canopy(stand(7, EVERY, size=30.0), ROW, morning(ROW), {})
    lives = [0, 0, 1, 1, 1, 1, 0]
    np.testing.assert_array_equal(said.height[0], np.multiply(30, lives))
    np.testing.assert_allclose(said.repulsion[0], np.multiply(float(BEAN.repulsion), lives), rtol=1e-6)
    np.testing.assert_array_equal(said.seeds[0], [0, 16, 0, 0, 0, 0, 0])


def test_a_stand_needs_what_it_transpires_in_the_light_it_gets() -> None:
    """In the shade of an equal that shades 0.6 of the plot, on a soil dry enough to halve what passes the stomata."""
    place = field(scale=2.0, hosts=("Plant-0", "Plant-1"))
    state = stand(1, Stage.BLOOM, water=0.4)
    own = BEAN.canopy(state, place, morning(place), {})
    other = message(Canopy, place, shade=0.6, height=30.0)
    drought = float(BEAN.grow.drought)
    water = 60 + 65 * drought / 2
    said = BEAN.need(state, place, morning(place, ("Plant-0", own), ("Plant-1", other), water=water), {})
    full = uptake.transpiration(BEAN, state, place.surface, air())
    body = uptake.body_water(BEAN, state)
    np.testing.assert_allclose(said.water, 0.7 * 0.5 * full + body - 0.4, rtol=1e-5)
    assert not said.nutrients.any(), "flowers do not grow"
    grows = stand(1, Stage.GROW)
    dry = BEAN.need(grows, place, morning(place, ("Plant-0", own), ("Plant-1", other), water=60.001), {})
    np.testing.assert_allclose(dry.water, [[0.004]], rtol=0.02, err_msg="no more than the roots reach")


def sown(seeds: float, scale: float, **before: Any) -> Any:
    state = stand(2, jnp.asarray([[Stage.NONE, Stage.GROW]]), **before)
    return BEAN.sow(state, field((1, 2), scale), jnp.full((1, 2), True), jnp.float32(seeds), jnp.float32(15)).state


def test_seeds_are_sown_per_square_metre() -> None:
    """At least one on a plot; what happened to the plants before is forgotten there, and there only."""
    assert [int(sown(20, scale).population[0, 0]) for scale in (1.0, 2.0, 0.5, 0.1)] == [20, 80, 5, 1]
    again = sown(5, 1.0, cause_of_death=3, death_exponent=2.0, harvested=True)
    assert again.cause_of_death.tolist() == [[0, 3]] and again.death_exponent.tolist() == [[0, 2]]
    assert again.harvested.tolist() == [[False, True]] and again.spacing.tolist() == [[15, 25]]


def test_a_dead_plant_with_a_milligram_left_keeps_it_no_longer() -> None:
    """A tenth of the rest is released a day; what would leave less than 1 mg is released at once."""
    held = jnp.asarray([0.8e-3, 2e-3, 1.0])
    nutrients = jnp.stack([held, *[held * 0] * 3])[:, None]
    place = field((1, 3))
    dead = stand(3, Stage.DEAD, nutrients=nutrients)
    found = BEAN.litter(dead, place, morning(place), {}).nutrients
    np.testing.assert_allclose(found[0, 0], [0.8e-3, 0.2e-3, 0.1], rtol=1e-5)
    alive = stand(3, Stage.RIPE, nutrients=nutrients)
    assert not BEAN.litter(alive, place, morning(place), {}).nutrients.any()
    slow = crop(dead={"release": [0, 0, 0, 0]})
    exactly = replace(dead, nutrients=jnp.zeros((4, 1, 3)).at[0].set(jnp.float32(1e-3)))
    assert not slow.litter(exactly, place, morning(place), {}).nutrients.any(), "a milligram is not less than one"


def test_the_index_of_development_counts_flowers_that_have_opened() -> None:
    """A single flower, pollinated, counts in full; without flowers there is no share of them."""
    one, none = (stand(1, Stage.BLOOM, size=60.0, flowers=n, pollinated=n) for n in (1, 0))
    assert float(BEAN.indices(one)["plant"]) == pytest.approx(3 / 4)
    assert float(BEAN.indices(none)["plant"]) == pytest.approx(2 / 4)
    assert float(BEAN.indices(stand(1, Stage.SEED))["plant"]) == 0.0


def test_the_choices_of_a_sower_are_those_of_the_paper() -> None:
    """Its file of interventions: 1 to 30 seeds, 5 to 20 cm apart."""
    (sow,) = [action for action in Plant.actions if action.name == "sow"]
    assert [p.choices for p in sow.parameters] == [(1, 3, 5, 10, 15, 20, 25, 30), (5, 10, 15, 20)]


def test_the_stage_of_a_field_is_one_of_its_labels() -> None:
    for stage in (Stage.NONE, Stage.DEAD):
        shown = int(BEAN.views(stand(4, stage))["global_stage"])
        assert GLOBAL_STAGE.low <= shown == stage <= GLOBAL_STAGE.high
    three = jnp.asarray([[2, 2, 2, 3]])
    assert GLOBAL_STAGE.labels[int(BEAN.views(stand(4, three))["global_stage"])] == "undefined", "not more than 3 in 4"
    assert (GLOBAL_STAGE.low, GLOBAL_STAGE.high, len(GLOBAL_STAGE.labels)) == (0, 8, 9)


@pytest.mark.parametrize(
    ("key", "most"), [("flowers_max#nb", 100), ("size_max#cm", 15_000), ("fruit_weight_max#g", 2e6)]
)
def test_no_plant_is_larger_than_any_on_earth(key: str, most: float) -> None:
    """Trees of 116 m and pumpkins of 1.3 t are; the flowers are those for which the binomials are compiled."""
    assert Plant.named({"extends": "bean", key: most}) is not None
    with pytest.raises(ConfigError, match=key):
        Plant.named({"extends": "bean", key: most + 1})


def test_bare_ground_has_no_thresholds() -> None:
    shown = BEAN.views(stand(2, jnp.asarray([[Stage.NONE, Stage.SEED]])))
    ripe = math.exp(-float(BEAN.fruit.ripen.intercept)) * float(BEAN.fruit_weight_max)
    np.testing.assert_allclose(shown["size_threshold"][0], [0, BEAN.bloom.share * BEAN.size_max])
    np.testing.assert_allclose(shown["fruit_weight_threshold"][0], [0, ripe], rtol=1e-6)
