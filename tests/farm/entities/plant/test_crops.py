"""The parameter sets of crops: complete, ordered, with a source for most numbers and a drawing for every stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.config import read_written_sets
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import STAGES

SETS = read_written_sets(Plant.file())
FIELD_CROPS = (
    "winter_wheat", "spring_barley", "soybean", "potato", "sunflower", "sugar_beet", "sorghum", "chickpea",
)  # fmt: skip
GUESSES = ("chosen", "calibrated")


def sources(written: Any, source: str = "chosen") -> Iterator[str]:
    """Yield the source of each number of a set as written, which may stand on a group."""
    if not isinstance(written, dict):
        yield source
        return
    own = written.get("source", source)
    for key, value in written.items():
        if key not in ("source", "extends"):
            yield from sources(value, own)


@pytest.mark.parametrize("crop", list(SETS))
def test_a_crop_is_complete_and_its_temperatures_are_in_order(crop: str) -> None:
    plant = Plant.named(crop)
    clock = plant.clock
    assert sum(np.size(number) for number in jax.tree.leaves(plant)) <= 185
    assert clock.base < clock.optimum < clock.ceiling and np.all(clock.sums > 0)
    assert clock.chill[0] < clock.chill[1] and clock.daylength[0] < clock.daylength[1]
    assert plant.density <= 30  # as many as can be sown


@pytest.mark.parametrize("crop", FIELD_CROPS)
def test_most_numbers_of_a_field_crop_have_a_source(crop: str) -> None:
    found = list(sources(SETS[crop]))
    assert sum(not source.startswith(GUESSES) for source in found) >= 0.7 * len(found)


@pytest.mark.parametrize("crop", list(SETS))
def test_a_crop_has_a_drawing_for_every_stage(crop: str) -> None:
    drawn, name = Plant.sprites(), crop
    while f"{name}_{STAGES[1]}" not in drawn:
        name = SETS[name]["extends"]
    assert len({drawn[f"{name}_{stage}"].strokes for stage in STAGES[1:]}) == len(STAGES) - 1
