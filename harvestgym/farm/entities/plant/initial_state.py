"""Initial state of a crop: variables that the farm file omits and that follow from the stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Place

from .parameters import PLANTS_MAX, Crop
from .stages import Stage
from .state import PlantState, clear_plots

FIRST_STAGE = {
    "size": Stage.GROW, "flowers": Stage.BLOOM, "pollinated": Stage.BLOOM, "fruits": Stage.FRUIT,
    "fruit_weight": Stage.FRUIT,
}  # fmt: skip
"""The earliest stage in which each variable can be above 0."""


def check_start(crop: Crop, given: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    """Yield an error for each initial value above 0 of a variable that is 0 in all possible initial stages."""
    latest = int(np.max(given.get("stage", crop.initial_stage)))
    for name, first in FIRST_STAGE.items():
        most = float(np.max(given.get(name, 0.0)))
        if most > 0 and latest < first:
            expected = f"0 in the stage {Stage(latest).name.lower()}"
            yield name, f"expected {expected}, got {most:g}; try the stage {first.name.lower()}"


def complete_state(crop: Crop, state: PlantState, place: Place) -> PlantState:
    """Make `state` consistent with its stages: replace zeros that they rule out, and clear values that they exclude.

    A plot with plants has the usual number of them, evenly spaced. From bloom on, they are as large as an unstressed
    plant when it flowers, with the expected number of flowers; from fruit on, all flowers have become fruit; ripe fruit
    weighs as much as on an unstressed, well pollinated plant. Values from the file are kept.
    """
    grown = _grown(crop, _planted(crop, state, place))
    return clear_plots(_fruiting(crop, grown), state.stage == Stage.NONE)


def _planted(crop: Crop, state: PlantState, place: Place) -> PlantState:
    usual = jnp.clip(jnp.round(crop.density * place.surface), 1.0, PLANTS_MAX).astype(jnp.int32)
    population = jnp.where(state.population > 0, state.population, usual)
    even = 100 * jnp.sqrt(place.surface / population)
    return replace(state, population=population, spacing=jnp.where(state.spacing > 0, state.spacing, even))


def _grown(crop: Crop, state: PlantState) -> PlantState:
    usual = jnp.where(state.stage == Stage.GROW, crop.size_start, crop.bloom.share * crop.size_max)
    size = jnp.minimum(jnp.where(state.size > 0, state.size, usual), crop.size_max)
    expected = jnp.round(crop.flowers_max * size / crop.size_max).astype(jnp.int32)
    flowers = jnp.maximum(jnp.where(state.flowers > 0, state.flowers, expected), state.pollinated)
    size = jnp.where(state.stage >= Stage.GROW, size, 0.0)
    return replace(state, size=size, flowers=jnp.where(state.stage >= Stage.BLOOM, flowers, 0))


def _fruiting(crop: Crop, state: PlantState) -> PlantState:
    fruiting = state.stage >= Stage.FRUIT
    set_ = jnp.where(state.pollinated > 0, state.pollinated, state.flowers)
    full = jnp.exp(-crop.fruit.ripen.intercept) * crop.fruit_weight_max
    usual = jnp.where(state.stage == Stage.FRUIT, crop.fruit_weight_start, full)
    weight = jnp.minimum(jnp.where(state.fruit_weight > 0, state.fruit_weight, usual), crop.fruit_weight_max)
    pollinated = jnp.where(fruiting, set_, jnp.where(state.stage == Stage.BLOOM, state.pollinated, 0))
    fruits = jnp.where(fruiting, jnp.where(state.fruits > 0, state.fruits, set_), 0)
    return replace(state, pollinated=pollinated, fruits=fruits, fruit_weight=jnp.where(fruiting, weight, 0.0))
