"""The plant as an entity: its stages, its actions, its messages, its start and its death."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import rebuild, replace
from harvestgym.farm.entities.base import ActionResult
from harvestgym.farm.entities.messages import Air, Canopy, Litter, Message, Need
from harvestgym.farm.entities.plant import Plant, uptake
from harvestgym.farm.entities.plant.stages import GLOBAL_STAGES, STAGES, Stage
from harvestgym.farm.entities.plant.state import CAUSES, GROWTH_FACTORS, PlantState
from tests.farm.messages import air
from tests.farm.soil_plant_day import check_ranges, draws, earth, field, said_today
from tests.farm.stands import LOAM, ROW, a_day, stand
from tests.long_form import long

CROPS = {name: Plant.named(name) for name in ("bean", "corn", "tomato", "carrots")}
BEAN, CORN = CROPS["bean"], CROPS["corn"]
KEY = jax.random.key(0)
M = TypeVar("M", bound=Message)

EVERY = jnp.asarray([list(Stage)])
ALL = jnp.full((1, 7), True)


def row(stage: Stage | jax.Array, **changes: Any) -> PlantState:
    return stand(7, stage, **changes)


def tomorrow(
    state: PlantState, plant: Plant = BEAN, u: float = 0.5, weather: Air | None = None, **others: float
) -> PlantState:
    """Return a row of plants after a day on a soil that is short of nothing."""
    (new, _), _ = a_day(plant, (state, earth(LOAM, ROW)), weather or air(), draws(ROW.shape, u), **others)
    return new


def stage(state: PlantState) -> str:
    return STAGES[int(state.stage[0, 0])]


def test_a_season_from_seed_to_dead_fruit_passes_every_stage_once() -> None:
    """With a soil that is never short; ripe fruit that nobody picks is lost, and the dead are at last gone."""
    state = BEAN.settle(KEY, BEAN.init(KEY, ROW), ROW)
    seen, stages = [stage(state)], 0.0
    for _ in range(300):
        (state, _), (booked, _) = a_day(BEAN, (state, earth(LOAM, ROW)), air(), draws(ROW.shape))
        stages += float(booked.tally["stages#nb"])
        if stage(state) != seen[-1]:
            seen.append(stage(state))
    assert seen == ["seed", "grow", "bloom", "fruit", "ripe", "dead", "none"]
    assert stages == 4.0 * 7, "forward moves only, and none into death"
    assert CAUSES[int(state.cause_of_death[0, 0])] == "ripe: no fruit left"
    assert float(np.abs(state.nutrients).sum()) == 0.0 and int(state.population[0, 0]) == 0


def test_a_stage_counts_once_a_year_on_a_plot() -> None:
    """Sow, sprout, remove and sow again: the second sprout is worth nothing, until 1 January."""
    counts, state = [], row(Stage.SEED, progress=1.0)
    for day in (100, 120, 1):
        (grown, _), (booked, _) = a_day(BEAN, (state, earth(LOAM, ROW)), air(day=day), draws(ROW.shape, 0.0))
        assert stage(grown) == "grow"
        counts.append(float(booked.tally["stages#nb"]))
        state = replace(act("sow", act("remove", grown).state, ALL, 5, 10).state, progress=state.progress)
    assert counts == [7.0, 0.0, 7.0]


def test_who_dies_does_not_move_on_and_who_moves_does_so_once() -> None:
    assert stage(tomorrow(row(Stage.SEED, age_seed=60), u=0.9999)) == "dead"
    one = tomorrow(row(Stage.SEED, progress=1.0), u=0.0)
    assert stage(one) == "grow" and float(one.size[0, 0]) == pytest.approx(0.1)


def test_each_stage_begins_with_what_it_has() -> None:
    bloom = tomorrow(row(Stage.GROW, size=58.0, progress=1.0))
    assert stage(bloom) == "bloom" and 12 <= int(bloom.flowers[0, 0]) <= 14 and int(bloom.pollinated[0, 0]) == 0
    fruit = tomorrow(row(Stage.BLOOM, progress=1.0, flowers=16, pollinated=7))
    assert stage(fruit) == "fruit" and float(fruit.fruit_weight[0, 0]) == 1.0
    assert int(fruit.fruits[0, 0]) == int(fruit.pollinated[0, 0]) >= 7


def test_the_days_of_each_stage_are_counted() -> None:
    aged = tomorrow(row(EVERY, nogrow=5, noweight=5), u=0.9)
    at = {s: np.arange(7) == s for s in Stage}
    for name, wanted in (("age_seed", Stage.SEED), ("age_bloom", Stage.BLOOM), ("age_ripe", Stage.RIPE)):
        np.testing.assert_array_equal(getattr(aged, name)[0], at[wanted], err_msg=name)
    assert not aged.nogrow.any() and not aged.noweight.any()
    frozen = tomorrow(row(EVERY, nogrow=5, noweight=5), weather=air(radiation=0))
    np.testing.assert_array_equal(frozen.nogrow[0], 6 * at[Stage.GROW])
    np.testing.assert_array_equal(frozen.noweight[0], 6 * at[Stage.FRUIT])


def test_pollinators_are_counted_in_bloom_and_pollinate_beans() -> None:
    start = row(EVERY, pollinated=0, flowers=16, size=20.0)
    visited, alone = tomorrow(start, visits=1.0), tomorrow(start)
    assert visited.visits.tolist() == [[0, 0, 0, 1, 0, 0, 0]]
    assert int(visited.pollinated[0, Stage.BLOOM]) >= 9 > 4 >= int(alone.pollinated[0, Stage.BLOOM])


def test_pests_and_strain_of_unknown_kinds_are_felt() -> None:
    start = row(Stage.GROW, size=20.0)
    assert stage(tomorrow(start)) == "grow"
    assert stage(tomorrow(start, pests=4.0)) == "dead"
    assert stage(tomorrow(start, death=1.0)) == "dead"
    assert 20 < float(tomorrow(start, growth=0.5).size[0, 0]) < float(tomorrow(start).size[0, 0])
    assert int(tomorrow(row(Stage.RIPE), harvest=1.0).fruits[0, 0]) == 3


def test_water_in_and_out_of_the_store() -> None:
    """Supplied water enters the store, transpired water leaves it, and an unmet need is stress."""
    state = row(Stage.GROW, size=30.0)
    loss = float(uptake.transpiration(BEAN, state, ROW.surface, air())[0, 0])
    body = 16 * 40 / 1000
    fed = tomorrow(state)
    assert float(fed.water[0, 0]) == pytest.approx(body, rel=1e-4) and float(fed.water_stress[0, 0]) == 0.0
    (thirsty, _), (booked, _) = a_day(BEAN, (state, earth(LOAM, ROW, water=55.0)), air(), draws(ROW.shape))
    assert float(thirsty.water_stress[0, 0]) == pytest.approx(loss + body, rel=1e-4)
    assert float(booked.flows["water:transpiration"][0, 0]) == 0.0


def test_nutrients_arrive_by_the_microlife_and_the_rest_is_stress() -> None:
    """A bean fixes 0.4 of its nitrogen, which does not pass the soil."""
    state = row(Stage.FRUIT)
    asked = np.asarray(said_by(state, Need).nutrients)[:, 0, 0]
    ratio = np.asarray([0.6 * 2.9e-3, 3.8e-4, 2.1e-3, 3e-4])
    np.testing.assert_allclose(asked / asked[2], ratio / ratio[2], rtol=1e-5)
    (new, _), (booked, _) = a_day(BEAN, (state, earth(LOAM, ROW, microlife=70.0)), air(), draws(ROW.shape))
    fixed = np.asarray(booked.flows["nutrients:fixation"])[:, 0, 0]
    np.testing.assert_allclose(fixed, [asked[0] * 0.4 / 0.6, 0, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(new.nutrients[:, 0, 0], 0.7 * asked + fixed, rtol=1e-5)
    np.testing.assert_allclose(new.nutrient_stress[:, 0, 0], 0.3 * asked, rtol=1e-4)


def said_by(state: PlantState, kind: type[M]) -> M:
    return next(m for _, m in said_today(BEAN, LOAM, (state, earth(LOAM, ROW)), ROW, air()) if isinstance(m, kind))


def test_only_living_plants_drink_and_eat() -> None:
    need = said_by(row(EVERY), Need)
    assert (np.asarray(need.water > 0)[0] == [s in range(Stage.GROW, Stage.DEAD) for s in Stage]).all()
    assert (np.asarray(need.nutrients > 0)[:, 0] == [s in (Stage.GROW, Stage.FRUIT) for s in Stage]).all()


def test_the_dead_give_all_they_hold_to_the_soil() -> None:
    held = jnp.asarray([2.0, 0.5, 1.0, 0.2]).reshape(4, 1, 1)
    states = (row(Stage.DEAD, nutrients=held), earth(LOAM, ROW))
    np.testing.assert_allclose(said_by(states[0], Litter).nutrients[:, :, :1], 0.1 * held, rtol=1e-6)
    days, given = 0, -np.asarray(states[1].nutrients)
    while stage(states[0]) != "none" and days < 110:
        states, ledgers = a_day(BEAN, states, air(), draws(ROW.shape))
        given -= sum(np.asarray(ledgers[1].flows[f"nutrients:{way}"]) for way in ("bedrock", "N2O"))
        days += 1
    assert 60 < days < 110 and (np.asarray(states[0].nutrients) == 0).all()
    np.testing.assert_allclose((given + np.asarray(states[1].nutrients))[:, :, :1], held, rtol=1e-3)


def test_the_canopy() -> None:
    canopy = said_by(row(EVERY), Canopy)
    alive = np.asarray([[0, 0, 1, 1, 1, 1, 0]])
    cover = 16 * 0.0012 * 30
    np.testing.assert_allclose(canopy.alive, 16 * alive)
    np.testing.assert_allclose(canopy.shade, 0.8 * cover * alive, rtol=1e-5)
    np.testing.assert_allclose(canopy.flowers, [[0, 0, 0, 16 * 16, 0, 0, 0]])
    np.testing.assert_allclose(canopy.seeds, [[0, 16, 0, 0, 0, 0, 0]])
    np.testing.assert_allclose(canopy.repulsion, 0.1 * alive, rtol=1e-6)


def act(name: str, state: PlantState, where: jax.Array = ALL, *values: float) -> ActionResult:
    return getattr(BEAN, name)(state, ROW, where, *(jnp.float32(v) for v in values))


def test_sowing_is_for_empty_plots() -> None:
    before = row(EVERY, harvested=True, cause_of_death=3, harvest_weight=2.0)
    assert not act("sow", before, ALL, 0, 15).done.any(), "no seeds, no plants"
    result = act("sow", before, ALL, 20, 15)
    assert result.done.tolist() == [[True] + [False] * 6]
    assert STAGES[int(result.state.stage[0, 0])] == "seed" and int(result.state.population[0, 0]) == 20
    assert float(result.state.spacing[0, 0]) == 15.0 and not bool(result.state.harvested[0, 0])
    assert int(result.state.cause_of_death[0, 0]) == 0 and float(result.state.harvest_weight[0, 0]) == 2.0
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(result.state), strict=True):
        np.testing.assert_array_equal(a[..., 1:], b[..., 1:])


@pytest.mark.parametrize("name", ["harvest", "micro_harvest"])
def test_a_harvest_is_paid_once_and_clears_the_plot(name: str) -> None:
    before = row(EVERY, water=0.5, nutrients=2.0)
    result = act(name, before)
    assert result.done.tolist() == [[s in (Stage.FRUIT, Stage.RIPE) for s in Stage]]
    each = 16 * 10 * 3.0 / 1000
    assert float(result.ledger.tally["harvest#kg"]) == pytest.approx(2 * each)
    np.testing.assert_allclose(result.state.harvest_weight, [[0, 0, 0, 0, each, each, 0]])
    np.testing.assert_allclose(result.ledger.flows["water:export"], [[0, 0, 0, 0, -0.5, -0.5, 0]])
    np.testing.assert_allclose(result.ledger.flows["nutrients:export"][2], [[0, 0, 0, 0, -2, -2, 0]])
    assert result.state.harvested.tolist() == result.done.tolist()
    assert (result.state.stage[0, 4:6] == Stage.NONE).all() and (result.state.fruits[0, 4:6] == 0).all()
    again = act(name, result.state)
    assert not again.done.any() and float(again.ledger.tally["harvest#kg"]) == 0.0
    jax.tree.map(np.testing.assert_array_equal, again.state, result.state)


def test_one_plot_is_harvested_and_the_others_wait() -> None:
    where = jnp.arange(7)[None] == 5
    result = act("micro_harvest", row(EVERY), where)
    assert result.done.tolist() == where.tolist() and int(result.state.stage[0, 4]) == Stage.FRUIT


def test_removing_takes_all_but_empty_plots() -> None:
    result = act("remove", row(EVERY, water=0.5, harvest_weight=1.0))
    assert result.done.tolist() == [[s != Stage.NONE for s in Stage]]
    assert (result.state.stage == Stage.NONE).all() and not result.state.harvested.any()
    np.testing.assert_allclose(result.ledger.flows["water:export"], -0.5 * np.asarray(result.done))
    assert "harvest#kg" not in result.ledger.tally and (result.state.harvest_weight == 1.0).all()


@pytest.mark.parametrize(
    ("name", "values"), [("sow", (10, 10)), ("harvest", ()), ("micro_harvest", ()), ("remove", ())]
)
def test_an_action_aimed_nowhere_changes_nothing(name: str, values: tuple[float, ...]) -> None:
    before = row(EVERY)
    result = act(name, before, ~ALL, *values)
    jax.tree.map(np.testing.assert_array_equal, result.state, before)
    assert not result.done.any()


@pytest.mark.parametrize(
    ("stages", "wanted"),
    [([1, 1, 1, 1], "seed"), ([1, 1, 1, 2], "undefined"), ([1, 1, 1, 1, 2], "seed"), ([0, 0, 0, 0], "none"),
     ([6, 6, 6, 6, 6, 6, 6, 0], "dead"), ([2, 3, 4, 5], "undefined")],
)  # fmt: skip
def test_the_stage_of_the_field_is_that_of_more_than_three_quarters(stages: list[int], wanted: str) -> None:
    view = BEAN.views(stand(len(stages), jnp.asarray([stages])))["global_stage"]
    assert GLOBAL_STAGES[int(view)] == wanted and view.dtype == jnp.int32 and view.shape == ()


def test_a_harvested_field_says_so_until_it_is_sown() -> None:
    state = act("harvest", row(Stage.RIPE)).state
    assert GLOBAL_STAGES[int(BEAN.views(state)["global_stage"])] == "harvested"
    sown = act("sow", state, ALL, 5, 10).state
    assert GLOBAL_STAGES[int(BEAN.views(sown)["global_stage"])] == "seed"


@pytest.mark.parametrize("crop", CROPS)
@pytest.mark.parametrize("begun", STAGES)
def test_a_start_in_any_stage_is_a_coherent_plant(crop: str, begun: str) -> None:
    plant, place = CROPS[crop], field((1, 2))
    blank = plant.init(KEY, place)
    state = plant.settle(KEY, replace(blank, stage=jnp.full((1, 2), STAGES.index(begun), jnp.int32)), place)
    check_ranges(state)
    at = STAGES.index(begun)
    has = {
        name: bool((np.asarray(getattr(state, name)) > 0).all()) for name in ("population", "size", "flowers", "fruits")
    }
    assert has["population"] == (at > Stage.NONE) and has["size"] == (at >= Stage.GROW)
    assert has["flowers"] == (at >= Stage.BLOOM) and has["fruits"] == (at >= Stage.FRUIT)
    assert (state.pollinated <= state.flowers).all() and (state.fruit_weight <= plant.fruit_weight_max).all()
    jax.tree.map(np.testing.assert_array_equal, plant.settle(KEY, state, place), state)


def test_what_the_start_file_says_itself_stays() -> None:
    said = {"population": 5, "size": 40.0, "pollinated": 3, "fruit_weight": 2.5, "flowers": 0, "fruits": 0}
    state = BEAN.settle(KEY, stand(1, Stage.FRUIT, **said), field())
    assert int(state.population[0, 0]) == 5 and float(state.size[0, 0]) == 40.0
    assert int(state.flowers[0, 0]) == 9 and int(state.pollinated[0, 0]) == int(state.fruits[0, 0]) == 3
    assert float(state.fruit_weight[0, 0]) == 2.5


def test_a_fruiting_start_can_be_harvested_after_some_days() -> None:
    state = CORN.settle(KEY, replace(CORN.init(KEY, ROW), stage=jnp.full((1, 7), Stage.FRUIT, jnp.int32)), ROW)
    for _ in range(56):
        state = tomorrow(state, CORN)
    assert stage(state) == "ripe"
    kg = CORN.micro_harvest(state, ROW, jnp.arange(7)[None] == 0).ledger.tally["harvest#kg"]
    assert 0.5 < float(kg) < 1.3


def test_the_development_index() -> None:
    state = stand(2, jnp.asarray([[Stage.FRUIT, Stage.DEAD]]))
    assert float(BEAN.indices(state)["plant"]) == pytest.approx((1 + 30 / 60 + 10 / 16 + 3 / 6) / 4 / 2)
    full = stand(1, Stage.RIPE, size=60.0, pollinated=16, fruit_weight=6.0)
    assert float(BEAN.indices(full)["plant"]) == pytest.approx(1.0)


def test_crowded_plants_grow_less() -> None:
    spacings = jnp.asarray([[30.0, 25.0, 20.0, 15.0, 12.0, 10.0, 5.0]])
    sizes = np.asarray(tomorrow(row(Stage.GROW, size=40.0, spacing=spacings)).size)[0]
    assert (np.diff(sizes[2:]) < 0).all() and (np.diff(sizes) <= 0).all() and sizes[-1] > 40


def test_dry_weeks_kill_and_say_why() -> None:
    states = (row(Stage.GROW), earth(LOAM, ROW, water=60.0))
    for _ in range(40):
        states, _ = a_day(BEAN, states, air(), draws(ROW.shape))
        if stage(states[0]) == "dead":
            break
        assert GROWTH_FACTORS[int(states[0].limiting_factor[0, 0])] == "water"
    assert CAUSES[int(states[0].cause_of_death[0, 0])] == "grow: no-growth days"
    assert float(states[0].death_exponent[0, 0]) > 0.1


@long
def test_a_day_has_finite_gradients() -> None:
    """Also where nothing stands, whose size of 0 has roots."""
    start = (row(EVERY), earth(LOAM, ROW))
    integers = {"initial_stage": BEAN.initial_stage, "flowers_max": BEAN.flowers_max}

    def result(plant: Plant) -> jax.Array:
        whole = replace(plant, **integers)
        (new, _), (booked, _) = a_day(whole, start, air(), draws(ROW.shape))
        return new.size.sum() + new.fruit_weight.sum() + booked.flows["water:transpiration"].sum()

    floats = vars(BEAN) | dict.fromkeys(integers, np.float32(0))  # a gradient has no whole numbers
    slopes = jax.grad(result)(rebuild(Plant, floats))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))
    assert float(slopes.grow.alpha_1) < 0.0 and float(slopes.rate.intercept) < 0.0
