"""A day of every stage side by side: what it changes in each and leaves alone in the others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.farm.entities.plant import Plant, growth
from harvestgym.farm.entities.plant.growth import choose, largest
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import CAUSES, PlantState
from tests.farm.stands import stand

from .test_equations import day, grid


def test_the_first_case_that_holds_is_chosen() -> None:
    x = jnp.arange(6)
    cases = [(x < 2, 10), (x < 4, x * 100), (x == 4, -1)]
    wanted = jnp.select([c for c, _ in cases], [v for _, v in cases], 7)
    np.testing.assert_array_equal(choose(cases, 7), wanted)


def test_the_largest_is_that_of_argmax_also_among_equals() -> None:
    rows = jnp.round(3 * jax.random.uniform(jax.random.key(0), (5, 40)))
    at, best = largest(list(rows))
    np.testing.assert_array_equal(at, jnp.argmax(rows, axis=0))
    np.testing.assert_array_equal(best, rows.max(0))
    assert at.dtype == jnp.int32


BEAN = Plant.named("bean")
EVERY = jnp.asarray([list(Stage)])
"""None, seed, grow, bloom, fruit, ripe, dead."""
HALF = jnp.full((1, 7), 0.5)


def row(**changes: Any) -> PlantState:
    return stand(7, EVERY, **changes)


def only(stage: Stage, value: float, others: float = 0.0) -> list[float]:
    return [value if s == stage else others for s in Stage]


def test_hazards_are_those_of_the_stages_that_have_an_equation() -> None:
    """A hundred days without growth, frost and cold, and birds: of no effect on bare ground, ripe or dead plants."""
    grim = day(7, birds=50, age_seed=99, nogrow=99, noweight=99, frost=50, cold=-40)
    fate = growth.decide_survival(BEAN, row(), grim, jnp.full((1, 7), 1 - 2.0**-24))
    assert fate.survives.tolist() == [[True, False, False, False, False, True, True]]
    assert (fate.cause[0] > 0).tolist() == [False, True, True, True, True, False, False]
    assert (fate.exponent[0] > 0).tolist() == [False, True, True, True, True, False, False]
    calm = growth.decide_survival(BEAN, row(), day(7), jnp.full((1, 7), 1 - 2.0**-24))
    assert calm.survives.all() and not calm.exponent.any()


def test_stages_without_an_equation_never_move_on() -> None:
    today = day(7, temperature=18)
    marks = growth.compute_thresholds(BEAN, today)
    full = row(size=60.0, fruit_weight=6.0)
    chances = growth.transition_probability(BEAN, full, today, marks)
    np.testing.assert_allclose(chances[0], [0, 1, 1, 1, 1, 0, 0])


def test_the_thresholds_of_a_stage_are_those_of_its_last_day() -> None:
    marks = growth.Thresholds(jnp.full((1, 7), 54.0), jnp.full((1, 7), 5.4))
    found = growth.count_days(row(size_threshold=1.0, fruit_weight_threshold=2.0), marks)
    assert found.size_threshold[0].tolist() == only(Stage.GROW, 54, others=1)
    np.testing.assert_allclose(found.fruit_weight_threshold[0], only(Stage.FRUIT, 5.4, others=2), rtol=1e-6)
    for name, stage in (("age_seed", Stage.SEED), ("age_bloom", Stage.BLOOM), ("age_ripe", Stage.RIPE)):
        aged = growth.count_days(row(**{name: 5}), marks)
        assert getattr(aged, name)[0].tolist() == only(stage, 6, others=5), name


def test_only_growing_plants_get_taller_and_only_fruit_gets_heavier() -> None:
    grown = growth.grow(BEAN, row(size=20.0, fruit_weight=2.0), day(7), HALF)
    assert (grown.size[0] > 20).tolist() == [s == Stage.GROW for s in Stage]
    assert (grown.fruit_weight[0] > 2).tolist() == [s == Stage.FRUIT for s in Stage]
    assert not grown.nogrow.any() and not grown.noweight.any()
    cold = growth.grow(BEAN, row(nogrow=3, noweight=4), day(7, temperature=-30), HALF)
    assert cold.nogrow[0].tolist() == only(Stage.GROW, 4) and cold.noweight[0].tolist() == only(Stage.FRUIT, 5)
    slowed = [s in (Stage.GROW, Stage.FRUIT) for s in Stage]
    assert (cold.limiting_factor[0] > 0).tolist() == slowed == (cold.limiting_exponent[0] > 0).tolist()


def calm_crop(**fruit: Any) -> Plant:
    """Return a bean whose fruit grows without noise, at the full rate of 1 on a good day."""
    return Plant.named({"extends": "bean", "fruit": {"fruit_rate_sigma2": 0, "rate": {"intercept": 0}} | fruit})


def test_a_rate_at_its_minimum_is_not_growth() -> None:
    for least, grows in ((1.0, False), (0.999, True)):
        crop = calm_crop(**{"weight_rate_min#": least})
        after = growth.grow(crop, stand(1, Stage.FRUIT, fruit_weight=2.0), day(), grid(1))
        assert (float(after.fruit_weight[0, 0]) > 2.0) == grows and int(after.noweight[0, 0]) == 1 - grows


def test_a_full_grown_fruit_is_not_starving() -> None:
    """It gains nothing at its ceiling; that does not count as a day without growth, from which plants die."""
    after = growth.grow(calm_crop(), stand(1, Stage.FRUIT, fruit_weight=6.0), day(), grid(1))
    assert float(after.fruit_weight[0, 0]) == 6.0 and int(after.noweight[0, 0]) == 0
    shrunk = growth.grow(calm_crop(), stand(1, Stage.FRUIT, fruit_weight=6.0), day(stress=2.0), grid(1))
    assert int(shrunk.noweight[0, 0]) == 1, "stress took the ceiling below it"


@pytest.mark.parametrize(("weight", "ripens"), [(1.0, False), (1.001, True)])
def test_a_fruit_ripens_above_its_first_weight(weight: float, ripens: bool) -> None:
    """A bean begins with 1 g, more than a tenth of its largest weight."""
    marks = growth.Thresholds(jnp.full((1, 1), 54.0), jnp.full((1, 1), weight, jnp.float32))
    state = stand(1, Stage.FRUIT, fruit_weight=weight)
    assert float(growth.transition_probability(BEAN, state, day(), marks)[0, 0]) == float(ripens)


def test_flowers_open_and_are_pollinated_in_their_stages_only() -> None:
    opens = EVERY == Stage.GROW
    after = growth.bloom(BEAN, row(flowers=9, pollinated=4, visits=2, size=60.0), day(7, visits=5), opens, HALF)
    assert after.flowers[0].tolist() == only(Stage.GROW, 14, others=9), "all of a full-grown plant"
    assert (after.pollinated[0] > 4).tolist() == [s == Stage.BLOOM for s in Stage]
    assert after.visits[0].tolist() == only(Stage.BLOOM, 5, others=2)


def test_fruit_is_lost_from_ripe_plants_only() -> None:
    after = growth.keep_fruits(BEAN, row(fruits=8), day(7, rain=1, frost=9, pests=9), HALF)
    assert after.fruits[0].tolist() == only(Stage.RIPE, 0, others=8)


def test_the_last_fruit_takes_the_plant_with_it() -> None:
    fate = growth.PlantFate(jnp.full((1, 7), True), jnp.zeros((1, 7), jnp.int32), jnp.full((1, 7), 0.3))
    for fruits, dies in ((0, Stage.RIPE), (1, None)):
        after = growth.apply_deaths(row(fruits=fruits), fate)
        assert after.stage[0].tolist() == [Stage.DEAD if s == dies else s for s in Stage]
        words = [CAUSES[i] for i in after.cause_of_death[0].tolist()]
        assert words == ["ripe: no fruit left" if s == dies else "none" for s in Stage]
        np.testing.assert_allclose(after.death_exponent[0], [0.3 * (s == dies) for s in Stage], rtol=1e-6)


def test_a_new_stage_begins_with_its_own_size_fruits_and_drought() -> None:
    """A seed has the size of a sprout, a flower the fruits that were pollinated; the thirst of the stage before ends.

    What it cost stays: of a vegetative period that lacked half of its water, half the power of its K_y is left.
    """
    dry = {"stage_thirst": 4.0, "stage_refused": 2.0, "past_drought": 0.0}
    crop = Plant.named({"extends": "bean", "grow": {"Water_yield_response": 0.4}})
    before = row(size=20.0, fruits=3, pollinated=7, fruit_weight=2.0, **dry)
    moves = (EVERY >= Stage.SEED) & (EVERY < Stage.RIPE)
    after = growth.enter_next_stage(crop, before, moves)
    assert after.stage[0].tolist() == [0, 2, 3, 4, 5, 5, 6]
    np.testing.assert_allclose(after.size[0], only(Stage.SEED, float(crop.size_start), others=20), rtol=1e-6)
    assert after.fruits[0].tolist() == only(Stage.BLOOM, 7, others=3)
    assert after.fruit_weight[0].tolist() == only(Stage.BLOOM, 1, others=2)
    assert after.stage_thirst[0].tolist() == [4, 0, 0, 0, 0, 4, 4] == [2 * v for v in after.stage_refused[0].tolist()]
    assert float(after.past_drought[0, Stage.GROW]) == pytest.approx(0.4 * np.log(2), rel=1e-5)
    assert not np.asarray(after.past_drought)[0, [0, 5, 6]].any()
    still = growth.enter_next_stage(crop, before, jnp.full((1, 7), False))
    jax.tree.map(np.testing.assert_array_equal, still, before)
