"""Pollinators: eq. (34) by hand and in frequency, and visits only where something is in flower."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.farm.entities.base import Board, Ledger, Place
from harvestgym.farm.entities.messages import Air, Canopy, Flock, Ground, Message, Structures, Visits
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.pollinators.pollinators import Pollinators, PollinatorsState
from harvestgym.farm.entities.weather import Weather
from harvestgym.testing.entity import check_entity
from tests.farm import kinds
from tests.farm.messages import air, message
from tests.farm.one_field import make_farm
from tests.farm.soil_plant_day import board, check_ranges, field
from tests.long_form import long

BEE = Pollinators.named("bee")
WIDE = field((5, 5), targets=("pollinators", "soil"))
BORDER = field((1, 2), targets=("pollinators", "soil"))
DISTANCE = [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 2, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
KEY = jax.random.key(4)


def ground(place: Place, pesticide: Any = 0.0) -> Ground:
    """Grams on each plot in effect on pollinators, and a lot of what acts on something else."""
    none = jnp.zeros(place.shape)
    return message(Ground, place, toxin=jnp.stack([none + pesticide, none + 99.0]))


def flowers(place: Place, number: Any = 1.0) -> Canopy:
    return message(Canopy, place, flowers=number)


def eaters(number: float) -> Flock:
    return message(Flock, WIDE, seed_eaters=99, pest_eaters=99, pollinator_eaters=number)


def hedge(lure: float) -> Structures:
    return message(Structures, WIDE, bird_lure=9, insect_lure=lure)


def morning(place: Place, today: Air, *said: Message, pesticide: Any = 0.0) -> Board:
    own: dict[type[Message], str] = {Visits: "Pollinators-0"}
    others = ((own.get(type(message), "other"), message) for message in said)
    return board(place, "Pollinators-0", ("Weather-0", today), ("Soil-0", ground(place, pesticide)), *others)


def chance(*said: Message, place: Place = WIDE, pesticide: Any = 0.0, bee: Pollinators = BEE, **day: float) -> Any:
    return np.asarray(bee.chance(place, morning(place, air(**day), *said, pesticide=pesticide)))


def visited(place: Place, u: jax.Array, *said: Message, **day: float) -> tuple[PollinatorsState, Ledger, Visits]:
    """Return a day of the bees: publish, then update with what was sent."""
    state, today = BEE.init(KEY, place), morning(place, air(**day), *said)
    sent = BEE.visits(state, place, today, {"visit": u})
    return (*BEE.update(state, place, morning(place, air(**day), *said, sent), {"visit": u}), sent)


def test_34_all_six_terms_by_hand() -> None:
    """5 degC is 6 too cold, 27 km/h is 2 too windy, 5 birds are 2 and 0.6 g is 0.5 too many; it rains."""
    others = 0.8 * 6 + 0.4 * 2 + 0.2 * 2 + 0.8 * 1 + 2 * 0.5
    wanted = [[math.exp(-(0.2 * d + others)) for d in row] for row in DISTANCE]
    got = chance(eaters(5), pesticide=0.6, t_mean=5, wind=27, rain=3, rain_class=1)
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("day", "exponent"),
    [
        ({"t_mean": 11}, 0.0), ({"t_mean": 10}, 0.8), ({"t_mean": 38}, 0.0), ({"t_mean": 40}, 1.6),
        ({"wind": 0}, 0.0), ({"wind": 25}, 0.0), ({"wind": 26}, 0.4),
        ({"rain_class": 1, "rain": 0.5}, 0.8), ({"rain_class": 2, "rain": 60}, 0.8),
    ],
)  # fmt: skip
def test_34_each_weather_by_hand(day: dict[str, Any], exponent: float) -> None:
    """Heavy rain counts as a rainy day and no more; a calm day is a good one."""
    np.testing.assert_allclose(chance(place=BORDER, **day), math.exp(-exponent), rtol=1e-5)


def test_34_birds_and_pesticide_by_hand() -> None:
    for birds, exponent in ((0, 0.0), (3, 0.0), (4, 0.2), (8, 1.0)):
        np.testing.assert_allclose(chance(eaters(birds), place=BORDER), math.exp(-exponent), rtol=1e-5)
    got = chance(place=BORDER, pesticide=jnp.asarray([[0.1, 1.1]]))
    np.testing.assert_allclose(got, [[1.0, math.exp(-2.0)]], rtol=1e-5)


def test_pesticide_counts_per_square_metre() -> None:
    large = field((1, 2), scale=2.0, targets=("pollinators", "soil"))
    np.testing.assert_allclose(chance(place=large, pesticide=4.4), chance(place=BORDER, pesticide=1.1), rtol=1e-6)


@pytest.mark.parametrize("lure", [0.0, 0.5, 2.0, 7.0])
def test_a_hedge_brings_the_wild_edge_nearer(lure: float) -> None:
    wanted = [[math.exp(-0.2 * max(d - lure, 0)) for d in row] for row in DISTANCE]
    np.testing.assert_allclose(chance(hedge(lure)), wanted, rtol=1e-5)


def test_a_mason_bee_flies_in_worse_weather() -> None:
    mason = Pollinators.named("mason_bee")
    foul: dict[str, Any] = {"t_mean": 9.0, "wind": 30.0, "rain": 3.0, "rain_class": 1.0}
    np.testing.assert_allclose(chance(place=BORDER, bee=mason, **foul), math.exp(-0.2), rtol=1e-5)
    np.testing.assert_allclose(chance(place=BORDER, **foul), math.exp(-(1.6 + 2.0 + 0.8)), rtol=1e-5)


def test_visits_come_as_often_as_34_says() -> None:
    """4000 rainy days on 25 plots; within 4.5 deviations of 0.008, so that a chance off by 0.07 fails surely."""
    days, said = 4000, (flowers(WIDE), eaters(4))
    uniforms = jax.random.uniform(KEY, (days, *WIDE.shape))
    found = np.asarray(jax.vmap(lambda u: visited(WIDE, u, *said, rain_class=1)[0].occurrence)(uniforms))
    p = chance(*said, rain_class=1)
    assert 0.2 < p.min() < p.max() < 0.4
    assert (np.abs(found.mean(0) - p) < 4.5 * np.sqrt(p * (1 - p) / days)).all()
    together = np.corrcoef(found[:, 0, 0], found[:, 0, 1])[0, 1]
    assert abs(together) < 4.5 / math.sqrt(days), "plots are visited independently"


def test_nobody_visits_what_is_not_in_flower() -> None:
    open_ = jnp.zeros(WIDE.shape).at[1, 2].set(3.0).at[4, 4].set(1.0)
    state, ledger, sent = visited(WIDE, jnp.zeros(WIDE.shape), flowers(WIDE, open_))
    check_ranges(state)
    np.testing.assert_array_equal(state.occurrence, open_ > 0)
    np.testing.assert_array_equal(sent.occurrence, (open_ > 0).astype(np.float32))
    assert float(ledger.tally["pollinators#nb"]) == 2.0
    bare, ledger, _ = visited(WIDE, jnp.zeros(WIDE.shape))
    assert not bare.occurrence.any() and float(ledger.tally["pollinators#nb"]) == 0.0


def test_on_a_fine_day_every_flower_of_the_border_is_visited() -> None:
    almost = jnp.full(WIDE.shape, 1 - 2**-24, jnp.float32)
    state, _, _ = visited(WIDE, almost, flowers(WIDE, 1.0))
    np.testing.assert_array_equal(state.occurrence, np.asarray(DISTANCE) == 0)


def test_keeps_the_contract() -> None:
    spring = kinds.Spring(flow=np.float32(1.0))  # pyright: ignore[reportArgumentType]
    check_entity(BEE, [Weather.named("montpellier"), spring], days=10)


@long
def test_a_plant_counts_the_visits_of_its_bloom() -> None:
    """From the growing plant into the fruit, so that the bees have days without and with flowers."""
    entities = [["Weather", "montpellier"], ["Soil", "loam"], ["Plant", "bean"], ["Pollinators", "bee"]]
    start = {"Weather-0": {"day#int365": [130]}, "Plant-0": {"stage": ["grow"], "size#cm": [50]}}
    env = make_farm(entities, (1, 2), start)
    step = jax.jit(env.transition)
    state = jax.jit(env.initial)(KEY, env.params)
    came, blooming = np.zeros((1, 2)), np.zeros((1, 2), bool)
    for t in range(60):
        blooming = np.asarray(state.fields[0][2].stage == Stage.BLOOM)
        state = step(jax.random.fold_in(KEY, t), state, jnp.int32(0), env.params)
        bees = np.asarray(state.fields[0][3].occurrence)
        assert not (bees & ~blooming).any(), "only what is in bloom this morning is visited"
        came += bees
    assert came.min() > 0 and not blooming.any(), "the bloom came and went"
    np.testing.assert_array_equal(state.fields[0][2].visits, came)
    assert float(state.totals["pollinators#nb"]) == came.sum()
