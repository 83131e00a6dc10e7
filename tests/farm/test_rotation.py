"""Rotation: two crops take turns on one field over three years, each sown, grown, harvested and sown again."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.farm.build import build
from harvestgym.farm.entities.plant.state import GLOBAL_STAGES, STAGES, global_stage
from harvestgym.farm.model import FarmModel
from harvestgym.farm.spec import farm_spec

YEAR, START = 365, 120
"""Days of a year; the day of the year on which games begin."""
SEASON = {"Plant-0": 72, "Plant-1": 150}
"""Days from the sowing of bean and corn to their harvest."""
FIELD = (("Soil", "loam"), ("Plant", "bean"), ("Plant", "corn"))
NONE = STAGES.index("none")


def farm(weather: str = "lille", others: tuple[tuple[str, str], ...] = FIELD) -> FarmModel:
    """Two plots, bare at the start; a game is over when the bean is harvested, and its days go on."""
    place = {"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20.0}
    entities = [["Weather", weather], *others]
    field = {"localization": place, "shape": {"length#nb": 1, "width#nb": 2}, "entities": entities}
    rules: dict[str, Any] = {"init": {"Field-0": {"Weather-0": {"day#int365": [START]}}}, "horizon#day": 3 * YEAR}
    if others:
        bare = {plant: {"stage": ["none"]} for plant in SEASON}
        end = [[["Field-0", "Plant-0", "global_stage", []], "value", "in", ["harvested"]]]
        rules |= {"init": {"Field-0": rules["init"]["Field-0"] | bare}, "terminal_conditions": [end]}
    return build(farm_spec({"fields": {"Field-0": field}, "rules": rules}, "test"))


def order(env: FarmModel, entity: str, action: str, **values: Any) -> int:
    return env.actions.index(("BasicFarmer-0", "Field-0", entity, action, values))


def sow(env: FarmModel, plant: str, plot: int, seeds: int) -> int:
    return order(env, plant, "sow", **{"plot": (0, plot), "amount#seed": seeds, "spacing#cm": 20})


def plan(env: FarmModel, turns: tuple[str, ...]) -> list[int]:
    """An order a day: each year its crop is sown on both plots, watered every other day, and harvested."""
    days = np.zeros(len(turns) * YEAR, np.int32)
    for year, plant in enumerate(turns):
        first = year * YEAR
        for plot in (0, 1):
            days[first + plot] = sow(env, plant, plot, 15)
            water = {"plot": (0, plot), "amount#L": 10, "duration#min": 60}
            days[first + 4 + plot : first + SEASON[plant] : 4] = order(env, "Soil-0", "watering_discrete", **water)
        days[first + SEASON[plant] : first + SEASON[plant] + 60 : 5] = order(env, plant, "harvest")
    return days.tolist()


@partial(jax.jit, static_argnums=0)
def live(env: FarmModel, orders: jax.Array) -> Any:
    """The state of every evening."""
    key = jax.random.key(47)

    def day(state: Any, now: jax.Array) -> tuple[Any, Any]:
        after = env.transition(jax.random.fold_in(key, now), state, orders[now], env.params)
        return after, after

    return jax.lax.scan(day, env.initial(key, env.params), jnp.arange(len(orders)))[1]


def evenings(env: FarmModel, *orders: int) -> Any:
    """Those of three years with these orders, one a day from the first day on, as numpy arrays."""
    return jax.tree.map(np.asarray, live(env, jnp.asarray(orders + (0,) * (3 * YEAR - len(orders)), jnp.int32)))


@pytest.fixture(scope="module")
def years() -> Any:
    env = farm()
    return evenings(env, *plan(env, ("Plant-0", "Plant-1", "Plant-0")))


def test_each_crop_is_harvested_in_its_years(years: Any) -> None:
    bean, corn = years.fields[0][2:]
    kg = np.asarray([np.diff(p.harvest_weight.sum((1, 2)), prepend=0).reshape(3, YEAR).sum(1) for p in (bean, corn)])
    assert (kg[0, [0, 2]] > 0.2).all() and kg[0, 1] == 0
    assert kg[1, 1] > 0.3 and (kg[1, [0, 2]] == 0).all()
    assert years.totals["harvest#kg"][-1] == pytest.approx(kg.sum(), rel=1e-5)


def test_a_plot_remembers_its_harvest_until_it_is_sown(years: Any) -> None:
    bean, corn = years.fields[0][2:]
    for plant, sown in ((bean, (0, 2)), (corn, (1,))):
        for year in range(3):
            evening = year * YEAR + 2
            assert ((plant.stage[evening] != NONE) == (year in sown)).all()
            assert (plant.harvested[evening] == (year not in sown and min(sown) < year)).all()
        assert (plant.stage[-1] == NONE).all() and plant.harvested[-1].all()
    gone = bean.harvest_weight[:-1] > bean.harvest_weight[1:]
    assert not gone.any(), "the weight of all harvests, which sowing does not clear"


def test_nothing_of_a_crop_is_left_for_the_next(years: Any) -> None:
    for plant in years.fields[0][2:]:
        empty = plant.stage == NONE
        for name in ("population", "size", "fruits", "water", "age_seed", "age_ripe", "nogrow"):
            assert not getattr(plant, name)[empty].any(), name
        assert not plant.nutrients.sum(1)[empty].any() and not plant.nutrient_stress.sum(1)[empty].any()


@pytest.mark.parametrize("weather", ["seattle", "montpellier"])
def test_the_weather_goes_on_from_year_to_year(weather: str) -> None:
    """A day of the year comes again after 365 days, as warm as its season and not the same day."""
    air = evenings(farm(weather, ())).fields[0][0]
    np.testing.assert_array_equal(air.day, (START + np.arange(3 * YEAR)) % YEAR + 1)
    mean = air.temperature.mean(1).reshape(3, YEAR)
    assert np.isfinite(mean).all() and (np.abs(mean[:, 30:90].mean(1) - mean[:, 210:270].mean(1)) > 8).all()
    assert (mean[0] != mean[1]).mean() > 0.9


def test_two_crops_share_a_plot() -> None:
    env = farm()
    both = evenings(env, sow(env, "Plant-1", 0, 5), sow(env, "Plant-0", 0, 10))
    bean, corn = both.fields[0][2:]
    assert both.effective[:2].all() and bean.population[30, 0, 0] == 10 and corn.population[30, 0, 0] == 5


def test_a_game_that_ends_with_a_harvest_ends_with_the_first(years: Any) -> None:
    """`harvested` is the stage of the bean until it is sown again, beside corn too; a game that is over stays over."""
    bean = years.fields[0][2]
    shown = np.asarray([int(global_stage(jax.tree.map(lambda leaf, d=d: leaf[d], bean))) for d in (71, 72, 500, 740)])
    assert [GLOBAL_STAGES[s] == "harvested" for s in shown] == [False, True, True, False]
    assert not years.over[: SEASON["Plant-0"] + 1].any() and years.over[SEASON["Plant-0"] + 1 :].all()
