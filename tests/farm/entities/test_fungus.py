"""A new kind needs no edit of old ones: plants feel a fungus that none of them knows, and a cide heals them of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.fungus import FUNGICIDE, Fungus
from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Draws, Place, publishes
from harvestgym.farm.entities.messages import Air, Canopy
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.testing.entity import check_entity
from tests.farm import kinds
from tests.farm.messages import air, message
from tests.farm.one_field import LILLE, make_farm
from tests.long_form import long

DAYS, EPISODES = 61, 64
TREATED = (15, 45)


class Season(NamedTuple):
    """By episode: fruit on the field on the last day, kg; plots alive on day 50; the most that was infected."""

    fruit: np.ndarray
    alive: np.ndarray
    infected: np.ndarray


def farm() -> FarmModel:
    kinds: list[Any] = [["Weather", "lille"], ["Soil", "clay"], ["Plant", "bean"]]
    kinds += [["examples.fungus:Fungus", "mildew"], ["Cide", FUNGICIDE]]
    return make_farm(kinds, (1, 2), {"Weather-0": {"day#int365": 130}, "Plant-0": {"stage": "seed"}}, LILLE)


def bags(env: FarmModel) -> np.ndarray:
    """Return a bag of fungicide on each plot at the times of treatment, nothing on the other days."""
    named = [c and (c.row.action.name, c.plot, c.values) for c in env.actions.list_orders()]
    plan = np.zeros(DAYS, np.int32)
    for day in TREATED:
        plan[day : day + 2] = [named.index(("scatter_bag", (0, y), (1.0,))) for y in (0, 1)]
    return plan


@pytest.fixture(scope="module")
def seasons() -> dict[str, Season]:
    """Return the same seeds without the fungus, with it, and with it and a fungicide."""
    env = farm()
    field = env.params.fields[0]

    def episode(key: jax.Array, arrival: jax.Array, plan: jax.Array) -> Any:
        weather, soil, plant, fungus, cide = field.entities
        entities = (weather, soil, plant, replace(fungus, arrival=arrival), cide)
        params = replace(env.params, fields=(replace(field, entities=entities),))

        def step(state: Any, today: Any) -> Any:
            after = env.transition(jax.random.fold_in(key, today[0]), state, today[1], params)
            _, _, plant, fungus, _ = after.fields[0]
            kg = (plant.population * plant.fruits * plant.fruit_weight).sum() / 1000
            return after, (kg, jnp.mean(plant.stage != Stage.DEAD), fungus.infected.mean())

        kg, alive, infected = jax.lax.scan(step, env.initial(key, params), (jnp.arange(DAYS), plan))[1]
        return kg[-1], alive[50], infected.max()

    arms = jax.vmap(jax.vmap(episode, (0, None, None)), (None, 0, 0))
    none, treated = np.zeros(DAYS, np.int32), bags(env)
    keys = jax.random.split(jax.random.key(0), EPISODES)
    found = jax.jit(arms)(keys, jnp.asarray([0.0, 0.1, 0.1]), jnp.stack([none, none, treated]))
    names = ("healthy", "ill", "treated")
    return {name: Season(*(np.asarray(part)[i] for part in found)) for i, name in enumerate(names)}


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean difference of two arms on the same seeds, in its standard errors."""
    each = a - b
    return float(each.mean() / (each.std(ddof=1) / np.sqrt(len(each))))


@long
def test_the_fungus_comes_and_the_fungicide_stops_it(seasons: dict[str, Season]) -> None:
    assert seasons["healthy"].infected.max() == 0
    assert seasons["ill"].infected.mean() > 5 * seasons["treated"].infected.mean() > 0


@long
def test_the_fungus_costs_lives_and_yield(seasons: dict[str, Season]) -> None:
    """Half of the plots and nine tenths of the fruit, measured; 8 standard errors leave no room for chance."""
    healthy, ill = seasons["healthy"], seasons["ill"]
    assert gap(healthy.alive, ill.alive) > 8 and gap(healthy.fruit, ill.fruit) > 8
    assert ill.fruit.mean() < 0.3 * healthy.fruit.mean()


@long
def test_the_fungicide_restores_them(seasons: dict[str, Season]) -> None:
    healthy, ill, treated = (seasons[name] for name in ("healthy", "ill", "treated"))
    assert gap(treated.alive, ill.alive) > 8 and gap(treated.fruit, ill.fruit) > 8
    assert treated.alive.mean() > 0.95 * healthy.alive.mean()
    assert treated.fruit.mean() > 0.9 * healthy.fruit.mean()


class Garden(kinds.Reed):
    """A reed under a damp sky of its own."""

    @publishes(Air)
    def air(self, state: kinds.ReedState, place: Place, board: Board, draws: Draws) -> Air:
        """Return every day as good for a fungus."""
        return air(humidity=90)

    @publishes(Canopy)
    def canopy(self, state: kinds.ReedState, place: Place, board: Board, draws: Draws) -> Canopy:
        """Return one plant on every plot but the first, which is bare."""
        alive = jnp.ones(place.shape).at[0, 0].set(0)
        return message(Canopy, place, alive=alive, shade=1, height=1)


def test_the_fungus_keeps_the_contract_of_an_entity() -> None:
    company = [kinds.Spring(flow=jnp.float32(1.0)), Garden(thirst=jnp.float32(1.0))]
    check_entity(Fungus.named("mildew"), company)
