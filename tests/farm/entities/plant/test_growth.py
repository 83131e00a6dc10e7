"""A day of every stage side by side: what it changes in each and leaves alone in the others."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.farm.entities.plant import Plant, clock, growth
from harvestgym.farm.entities.plant.equations import choose, largest
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import CAUSES, PlantState
from tests.farm.stands import stand

from .test_equations import day


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
    """Bare ground has no progress; a plant that dies keeps what it had."""
    state = row(progress=jnp.where(EVERY == Stage.NONE, 0.0, 1.0))
    assert clock.stage_is_complete(state)[0].tolist() == [Stage.SEED <= s <= Stage.FRUIT for s in Stage]


def test_the_days_of_a_stage_are_counted_in_it() -> None:
    for name, stage in (("age_seed", Stage.SEED), ("age_bloom", Stage.BLOOM), ("age_ripe", Stage.RIPE)):
        assert getattr(growth.count_days(row(**{name: 5})), name)[0].tolist() == only(stage, 6, others=5), name


def test_only_growing_plants_get_taller_and_only_fruit_gets_heavier() -> None:
    grown = growth.grow(BEAN, row(size=20.0, fruit_weight=2.0), day(7), HALF)
    assert (grown.size[0] > 20).tolist() == [s == Stage.GROW for s in Stage]
    assert (grown.fruit_weight[0] > 2).tolist() == [s == Stage.FRUIT for s in Stage]
    assert not grown.nogrow.any() and not grown.noweight.any()
    dark = growth.grow(BEAN, row(nogrow=3, noweight=4), day(7, light=6.9), HALF)
    assert dark.nogrow[0].tolist() == only(Stage.GROW, 4) and dark.noweight[0].tolist() == only(Stage.FRUIT, 5)
    slowed = [s in (Stage.GROW, Stage.FRUIT) for s in Stage]
    assert (dark.limiting_factor[0] > 0).tolist() == slowed == (dark.limiting_exponent[0] > 0).tolist()


def test_flowers_open_and_are_pollinated_in_their_stages_only() -> None:
    opens = EVERY == Stage.GROW
    state = row(flowers=9, pollinated=4, visits=2, size=60.0, fruits=9)
    after = growth.count_flowers_and_fruits(BEAN, state, day(7, visits=5, humidity=100), opens, HALF)
    assert after.flowers[0].tolist() == only(Stage.GROW, 14, others=9), "all of a full-grown plant"
    assert (after.pollinated[0] > 4).tolist() == [s == Stage.BLOOM for s in Stage]
    assert after.visits[0].tolist() == only(Stage.BLOOM, 5, others=2)
    rotten = growth.count_flowers_and_fruits(BEAN, state, day(7, humidity=0), opens, HALF)
    assert (rotten.fruits[0] < 9).tolist() == [s == Stage.FRUIT for s in Stage]


def test_fruit_is_lost_from_ripe_plants_only() -> None:
    after = growth.keep_fruits(BEAN, row(fruits=8), day(7, rain=1, frost=9, pests=9), HALF)
    assert after.fruits[0].tolist() == only(Stage.RIPE, 0, others=8)


def test_the_last_fruit_takes_the_plant_with_it() -> None:
    fate = growth.PlantFate(
        jnp.full((1, 7), True), jnp.full((1, 7), False), jnp.zeros((1, 7), jnp.int32), jnp.full((1, 7), 0.3)
    )
    for fruits, dies in ((0, Stage.RIPE), (1, None)):
        after = growth.apply_deaths(row(fruits=fruits), fate)
        assert after.stage[0].tolist() == [Stage.DEAD if s == dies else s for s in Stage]
        words = [CAUSES[i] for i in after.cause_of_death[0].tolist()]
        assert words == ["ripe: no fruit left" if s == dies else "none" for s in Stage]
        np.testing.assert_allclose(after.death_exponent[0], [0.3 * (s == dies) for s in Stage], rtol=1e-6)


def test_a_new_stage_begins_with_its_own_size_fruits_and_drought() -> None:
    """A seed has the size of a sprout, a flower the fruits that were pollinated; the thirst of the stage before ends.

    What it cost stays: of flowers that lacked half of their water, half the power of their K_y is left.
    """
    dry = {"stage_thirst": 4.0, "stage_refused": 2.0, "past_drought": 0.0, "progress": 1.2}
    crop = Plant.named({"extends": "bean", "bloom": {"Water_yield_response": 0.4}})
    before = row(size=20.0, fruits=3, pollinated=7, fruit_weight=2.0, **dry)
    moves = (EVERY >= Stage.SEED) & (EVERY < Stage.RIPE)
    after = growth.enter_next_stage(crop, before, moves)
    assert after.stage[0].tolist() == [0, 2, 3, 4, 5, 5, 6]
    np.testing.assert_allclose(after.size[0], only(Stage.SEED, float(crop.size_start), others=20), rtol=1e-6)
    assert after.fruits[0].tolist() == only(Stage.BLOOM, 7, others=3)
    assert after.fruit_weight[0].tolist() == only(Stage.BLOOM, 1, others=2)
    assert after.stage_thirst[0].tolist() == [4, 0, 0, 0, 0, 4, 4] == [2 * v for v in after.stage_refused[0].tolist()]
    assert float(after.past_drought[0, Stage.BLOOM]) == pytest.approx(0.4 * np.log(2), rel=1e-5)
    assert not np.asarray(after.past_drought)[0, [0, 5, 6]].any()
    np.testing.assert_allclose(after.progress, np.where(moves, clock.restart(crop, before), 1.2), rtol=1e-6)
    still = growth.enter_next_stage(crop, before, jnp.full((1, 7), False))
    jax.tree.map(np.testing.assert_array_equal, still, before)


def test_the_intercept_of_growth_adds_to_the_strain_of_others() -> None:
    slow = Plant.named({"extends": "bean", "rate": {"intercept": 0.5}})
    strain = growth.growth_exponents(slow, row(), day(7, strain_growth=0.25))[-1]
    assert strain[0].tolist() == [0.75 if s in (Stage.GROW, Stage.FRUIT) else 0.0 for s in Stage]
