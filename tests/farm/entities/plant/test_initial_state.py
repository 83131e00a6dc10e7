"""The start of a crop by hand: what its stage implies, what a file may say, and what it may not."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import PlantState
from tests.farm.soil_plant_day import field
from tests.farm.stands import stand

BEAN = Plant.named("bean")
"""Sixteen a square metre; 60 cm and 6 g at most, in flower from 54 cm on, with 14 flowers on the largest plant."""
NOTHING = dict.fromkeys(("population", "spacing", "size", "flowers", "pollinated", "fruits", "fruit_weight"), 0)
ALL = np.asarray([list(Stage)])


def start(stage: Any, place: Place | None = None, **said: float) -> PlantState:
    """Return the plants of a start file that says only so much."""
    n = np.size(stage)
    return BEAN.settle(jax.random.key(0), stand(n, stage, **(NOTHING | said)), place or field((1, n)))


def numbers(state: PlantState, *names: str) -> list[list[float]]:
    return [np.asarray(getattr(state, name))[0].tolist() for name in names]


def test_a_stage_implies_the_plants_that_it_has() -> None:
    """None, seed, grow, bloom, fruit, ripe, dead."""
    state = start(ALL)
    population, spacing, size = numbers(state, "population", "spacing", "size")
    assert population == [0, 16, 16, 16, 16, 16, 16] and spacing == [0, 25, 25, 25, 25, 25, 25]
    assert size == pytest.approx([0, 0, float(BEAN.size_start), 54, 54, 54, 54])
    flowers, pollinated, fruits = numbers(state, "flowers", "pollinated", "fruits")
    assert flowers == [0, 0, 0, 13, 13, 13, 13], "14 flowers times 54 / 60, rounded"
    assert pollinated == fruits == [0, 0, 0, 0, 13, 13, 13], "from fruit on, all flowers are fruit"
    assert numbers(state, "fruit_weight")[0] == pytest.approx([0, 0, 0, 0, 1, 5.4, 5.4])


def test_a_larger_plot_has_more_plants_at_the_same_distance() -> None:
    state = start(Stage.SEED, field(scale=3.0))
    assert numbers(state, "population", "spacing") == [[144], [25]]
    tiny = start(Stage.SEED, field(scale=0.1))
    assert numbers(tiny, "population", "spacing") == [[1], [pytest.approx(10)]], "at least one, in the middle"


def test_what_a_file_says_stays() -> None:
    said = {"population": 4, "spacing": 12.0, "size": 30.0, "flowers": 9, "pollinated": 5}
    state = start(Stage.BLOOM, **said)
    assert {name: numbers(state, name)[0][0] for name in said} == said
    assert numbers(start(Stage.BLOOM, population=4), "spacing") == [[50]], "four on a square metre"
    assert numbers(start(Stage.FRUIT, **said), "fruits", "flowers") == [[5], [9]]
    assert numbers(start(Stage.FRUIT, **said, fruits=2), "fruits", "pollinated") == [[2], [5]]
    assert numbers(start(Stage.FRUIT, size=0.5, fruit_weight=0.5), "size", "fruit_weight") == [[0.5], [0.5]]
    assert numbers(start(Stage.FRUIT, pollinated=1), "fruits") == [[1]]
    assert numbers(start(Stage.SEED, population=1, spacing=1.0), "population", "spacing") == [[1], [1]]


def test_a_start_is_no_larger_than_a_plant_can_be_and_has_the_flowers_that_were_pollinated() -> None:
    state = start(Stage.RIPE, size=999.0, fruit_weight=999.0, flowers=3, pollinated=8)
    assert numbers(state, "size", "fruit_weight", "flowers") == [[60], [6], [8]]
    assert numbers(start(Stage.BLOOM, size=60.0), "flowers") == [[14]]
    assert numbers(start(Stage.BLOOM, flowers=1), "flowers") == [[1]]


def test_what_a_stage_cannot_have_is_taken_away() -> None:
    said = {
        "population": 4,
        "spacing": 9.0,
        "size": 30.0,
        "flowers": 9,
        "pollinated": 5,
        "fruits": 3,
        "fruit_weight": 2.0,
    }
    state = start(ALL, **said)
    assert numbers(state, "population", "size") == [[0, *[4] * 6], [0, 0, *[30] * 5]]
    assert numbers(state, "flowers", "pollinated") == [[0, 0, 0, *[9] * 4], [0, 0, 0, *[5] * 4]]
    assert numbers(state, "fruits", "fruit_weight") == [[0, 0, 0, 0, *[3] * 3], [0, 0, 0, 0, *[2] * 3]]


def refused(**given: Any) -> list[tuple[str, str]]:
    return list(BEAN.check_start({name: np.asarray(value) for name, value in given.items()}))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("size", "grow"),
        ("flowers", "bloom"),
        ("pollinated", "bloom"),
        ("fruits", "fruit"),
        ("fruit_weight", "fruit"),
    ],
)
def test_a_value_that_no_stage_of_the_start_can_have_is_refused(name: str, first: str) -> None:
    """The latest possible stage decides; nothing is refused that is 0, or that may be."""
    stage = Stage[first.upper()]
    early = [Stage.SEED, stage - 1]
    words = f"expected 0 in the stage {Stage(stage - 1).name.lower()}, got 0.5; try the stage {first}"
    assert refused(stage=early, **{name: [0.0, 0.5]}) == [(name, words)]
    assert refused(stage=[Stage.SEED, stage], **{name: 0.5}) == [] == refused(stage=early, **{name: [0.0]})
    assert refused(stage=early) == [] and refused(**{name: 0.5})[0][0] == name, "a crop starts as seed"


def test_the_limits_of_a_start_are_those_of_the_largest_plant() -> None:
    limits = BEAN.limits(field())
    assert limits == {"flowers": 14, "pollinated": 14, "fruits": 14, "size": 60, "fruit_weight": 6}
    assert math.isclose(float(BEAN.bloom.share), 0.9, rel_tol=1e-6)
