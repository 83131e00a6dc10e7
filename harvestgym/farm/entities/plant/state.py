"""The state of a crop: identical plants on each plot, in one of the stages of section 4.2.

`complete_state` fills in the initial values that the farm file omits and that follow from the stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, replace, replace_where, var
from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.messages import name_nutrients
from harvestgym.farm.entities.response import driver_names

from .parameters import FLOWERS_MAX, PLANTS_MAX, BloomSurvival, Crop, FruitSurvival, GrowSurvival, Rate, SeedSurvival
from .stages import GLOBAL_STAGES, HARVESTED, STAGES, UNDEFINED, Stage

SURVIVAL = {
    Stage.SEED: SeedSurvival, Stage.GROW: GrowSurvival, Stage.BLOOM: BloomSurvival, Stage.FRUIT: FruitSurvival,
}  # fmt: skip
"""The survival response of each stage: eqs. (2), (9), (15) and (20)."""

CAUSE_WORDS = {"age_seed": "age", "nogrow": "no-growth days", "noweight": "no-weight days"}
"""More readable words for some drivers."""

_TERMS = [(stage, name) for stage, of in SURVIVAL.items() for name in ("chance", "strain", *driver_names(of))]
CAUSES = ("none", *(f"{s.name.lower()}: {CAUSE_WORDS.get(name, name)}" for s, name in _TERMS), "ripe: no fruit left")
"""Causes of death: the terms of each survival response.

`chance` is the intercept, and `strain` is the term added by other kinds and by the windows of subclasses.
"""

FIRST_CAUSE = {stage: CAUSES.index(f"{stage.name.lower()}: chance") for stage in SURVIVAL}
"""Index of the first cause of each stage."""

GROWTH_FACTORS = ("none", *driver_names(Rate), "strain")
"""Factors that can limit a day's growth: the terms of eqs. (4) and (16); `strain` as in `CAUSES`."""


_count = partial(var, dtype="int", high=1e6)
"""A number of plants, flowers, fruits or days."""


class PlantState(Pytree):
    """Plants on each plot."""

    stage: Array = var("stage", "stage of development", labels=STAGES)
    reached: Array = var("reached", "latest stage that plants entered this year", dtype="int", hidden=True)
    harvested: Array = var("harvested", "whether the plot was harvested and not sown since", dtype="bool")
    population: Array = _count("population#nb", "plants on the plot", high=PLANTS_MAX)
    spacing: Array = var("spacing#cm", "distance between plants")
    size: Array = var("size#cm", "height of a plant")
    flowers: Array = _count("flowers_per_plant#nb", "flowers that have opened", high=FLOWERS_MAX)
    visits: Array = _count("pollinator_visits#nb", "days on which pollinators visited the flowers")
    pollinated: Array = _count("flowers_pollinated_per_plant#nb", "flowers that were pollinated", high=FLOWERS_MAX)
    fruits: Array = _count("fruits_per_plant#nb", "fruits on the plant", high=FLOWERS_MAX)
    fruit_weight: Array = var("fruit_weight#g", "weight of a fruit")
    harvest_weight: Array = var("harvest_weight#kg", "fruit harvested from the plot so far")
    nutrients: Array = var(name_nutrients("cumulated_nutrients_{}#g"), "nutrients in the plants")
    nutrient_stress: Array = var(name_nutrients("cumulated_stress_nutrients_{}#g"), "unmet need for the nutrient")
    water: Array = var("cumulated_water#L", "water in the plants")
    water_stress: Array = var("cumulated_stress_water#L", "unmet need for water")
    stage_thirst: Array = var("stage_thirst#L", "need for water in this stage", hidden=True)
    stage_refused: Array = var("stage_refused#L", "unmet need for water in this stage", hidden=True)
    past_drought: Array = var("past_drought", "minus the log of the yield left after dry stages", hidden=True)
    progress: Array = var("progress", "share of the stage's degree-days that has passed", hidden=True)
    chill: Array = var("chill#day", "days of cold that the plants have had", high=1e4, hidden=True)
    age_seed: Array = _count("age_seed#day", "days as a seed")
    nogrow: Array = _count("consecutive_nogrow#day", "days in a row without growth")
    age_bloom: Array = _count("age_bloom#day", "days in bloom")
    noweight: Array = _count("consecutive_noweight#day", "consecutive days on which fruit did not gain weight")
    age_ripe: Array = _count("age_ripe#day", "days since the plants were ripe")
    cause_of_death: Array = var("cause_of_death", "stage and reason of the last death on the plot", labels=CAUSES)
    death_exponent: Array = var("death_exponent", "exponent term of the cause of death, 0 if no fruit was left")
    limiting_factor: Array = var("limiting_factor", "factor that slowed growth most today", labels=GROWTH_FACTORS)
    limiting_exponent: Array = var("limiting_exponent", "exponent term of this factor in eq. (4) or (16)")


class PlantViews(Pytree):
    """Variables that `Plant.views` computes from the state."""

    global_stage: Array = var(
        "global_stage", "stage of more than 75 % of the plots, or undefined", labels=GLOBAL_STAGES, axes=()
    )
    size_threshold: Array = var("grow_size_threshold#cm", "size of an unstressed plant when it flowers")
    fruit_weight_threshold: Array = var("fruit_weight_threshold#g", "weight of an unstressed fruit when it is ripe")


KEPT_AFTER_HARVEST = ("reached", "harvested", "harvest_weight", "cause_of_death", "death_exponent")
"""Variables that keep their values on a plot after its plants are gone."""


def clear_plots(state: PlantState, where: Array) -> PlantState:
    """Return `state` with the plots selected by `where` emptied; the caller accounts for the flows."""
    return replace_where(state, where, **{name: 0 for name in vars(state) if name not in KEPT_AFTER_HARVEST})


def global_stage(state: PlantState) -> Array:
    """Return the stage (or `harvested`) of more than 75 % of the plots; `undefined` if there is none (section 4.2)."""
    shown = jnp.where((state.stage == Stage.NONE) & state.harvested, HARVESTED, state.stage)
    stages = np.arange(len(GLOBAL_STAGES), dtype=np.int32)
    most = jnp.mean(shown == stages[:, None, None], axis=(1, 2)) > 0.75  # at most one stage
    return UNDEFINED + jnp.sum(most * (stages - UNDEFINED), dtype=jnp.int32)


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
