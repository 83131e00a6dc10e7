"""One day of a crop: deaths, growth, flowers and fruits, and changes of stage (section 4.2).

All rates use the state in the morning. Each plot is in one stage, so all stages can share one uniform number per use.
Deaths come before changes of stage; a plant changes stage at most once a day.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import replace, replace_where
from harvestgym.core.random import bernoulli, binomial
from harvestgym.farm.entities.crops_and_weeds import Drivers, add_to_strain
from harvestgym.farm.entities.messages import NUTRIENTS
from harvestgym.farm.entities.response import expglm

from . import clock, equations, uptake
from .equations import by_stage, choose, largest, pollination
from .parameters import FLOWERS_MAX, Crop, Rate
from .stages import Stage
from .state import CAUSES, FIRST_CAUSE, SURVIVAL, PlantState

FROZEN_FRUIT = CAUSES.index("fruit: cold")


class PlantFate(NamedTuple):
    """Survival of the plants today, plants that a frost ripens early instead of killing, and the cause of death."""

    survives: Array
    ripens: Array
    cause: Array
    exponent: Array


def death_exponents(crop: Crop, state: PlantState, day: Drivers) -> list[Array]:
    """Return the exponent terms of eq. (2), (9), (15) or (20) on each plot, by stage, in the order of `CAUSES`."""
    groups = (crop.seed.survive, crop.grow.survive, crop.bloom.survive, crop.fruit.survive)
    here = [state.stage == stage for stage in FIRST_CAUSE]
    pairs = zip(groups, SURVIVAL.values(), strict=True)
    each = [(group.intercept, *add_to_strain(day["strain_death"], group, base, day)) for group, base in pairs]
    rows = zip_longest(*([chance, strain, *terms.values()] for chance, strain, terms in each), fillvalue=0.0)
    return [choose(list(zip(here, row, strict=True)), 0.0) for row in rows]


def decide_survival(crop: Crop, state: PlantState, day: Drivers, uniform: Array) -> PlantFate:
    """Draw B(p_stay) of eqs. (2), (9), (15) and (20); the cause of a death is the largest term in its exponent.

    A frost that would kill plants with nearly full, dry grain only ends its filling.
    """
    each = death_exponents(crop, state, day)
    worst, exponent = largest(each)
    cause = worst + by_stage(state.stage, FIRST_CAUSE, 0)
    stays = bernoulli(uniform, jnp.exp(-sum(each)))
    ripens = ~stays & (cause == FROZEN_FRUIT) & (state.progress >= crop.fruit.frost_ripe)
    return PlantFate(stays | ripens, ripens, cause, exponent)


def count_days(state: PlantState) -> PlantState:
    """Add a day to the ages."""
    ages = {"age_seed": Stage.SEED, "age_bloom": Stage.BLOOM, "age_ripe": Stage.RIPE}
    return replace(state, **{name: getattr(state, name) + (state.stage == stage) for name, stage in ages.items()})


def growth_exponents(crop: Crop, state: PlantState, day: Drivers) -> list[Array]:
    """Return the exponent terms of eqs. (4) and (16) on each plot, in the order of `GROWTH_FACTORS[1:]`."""
    strain, terms = add_to_strain(day["strain_growth"] + crop.rate.intercept, crop.rate, Rate, day)
    scarcest, most = largest([terms[name] for name in NUTRIENTS])
    law_of_minimum = {name: jnp.where(scarcest == i, most, 0.0) for i, name in enumerate(NUTRIENTS)}
    grows = (state.stage == Stage.GROW) | (state.stage == Stage.FRUIT)
    return [jnp.where(grows, term, 0.0) for term in (*(terms | law_of_minimum).values(), strain)]


def grow(crop: Crop, state: PlantState, day: Drivers, uniform: Array) -> PlantState:
    """Grow plants by eq. (6) and fruits by eq. (17), and store the factor that slowed them most."""
    each = growth_exponents(crop, state, day)
    growing, filling = state.stage == Stage.GROW, state.stage == Stage.FRUIT
    share = equations.noisy_rate(jnp.exp(-sum(each)), crop.variance, uniform)
    gains = share > crop.rate_min
    size, weight = uptake.grown(crop, state, share * day["pace"], day)
    worst, exponent = largest(each)
    factor = jnp.where(exponent > 0, 1 + worst, 0)
    nogrow = jnp.where(growing & ~gains, state.nogrow + 1, 0)
    noweight = jnp.where(filling & ~gains, state.noweight + 1, 0)
    new = replace(state, nogrow=nogrow, noweight=noweight, limiting_factor=factor, limiting_exponent=exponent)
    return replace_where(new, gains, size=size, fruit_weight=weight)


def count_flowers_and_fruits(crop: Crop, state: PlantState, day: Drivers, opens: Array, uniform: Array) -> PlantState:
    """Open flowers by eq. (10), pollinate them by eq. (11), and keep the fruits that stay healthy while they fill."""
    blooms, fills = state.stage == Stage.BLOOM, state.stage == Stage.FRUIT
    trials = [(opens, crop.flowers_max), (blooms, state.flowers - state.pollinated), (fills, state.fruits)]
    opening = expglm(crop.bloom.open, **day) * state.size / crop.size_max
    success = [(opens, opening), (blooms, pollination(crop.bloom, day)), (fills, expglm(crop.fruit.hold, **day))]
    count = binomial(uniform, choose(trials, 0), jnp.minimum(choose(success, 0.0), 1.0), FLOWERS_MAX)
    new = replace(state, pollinated=state.pollinated + jnp.where(blooms, count, 0))
    new = replace_where(new, opens, flowers=count)
    new = replace_where(new, blooms, visits=day["visits"].astype(jnp.int32))
    return replace_where(new, fills, fruits=count)


def keep_fruits(crop: Crop, state: PlantState, day: Drivers, uniform: Array) -> PlantState:
    """Reduce the number of fruits on ripe plants, by eq. (21)."""
    share = expglm(crop.ripe.keep, day["strain_harvest"], **day)
    fruits = equations.kept_fruits(state.fruits, equations.noisy_rate(share, crop.ripe.variance, uniform))
    return replace_where(state, state.stage == Stage.RIPE, fruits=fruits)


def apply_deaths(state: PlantState, fate: PlantFate) -> PlantState:
    """Mark the plants that died today, either by `decide_survival` or because they were ripe with no fruit left."""
    bare = (state.stage == Stage.RIPE) & (state.fruits == 0)
    dies = bare | ~fate.survives
    cause = jnp.where(bare, len(CAUSES) - 1, fate.cause)
    return replace_where(state, dies, stage=Stage.DEAD, cause_of_death=cause, death_exponent=fate.exponent)


def enter_next_stage(crop: Crop, state: PlantState, moves: Array) -> PlantState:
    """Set the next stage, with its initial size or fruits, on the plots that move to it."""
    sprouts, sets = (moves & (state.stage == s) for s in (Stage.SEED, Stage.BLOOM))
    progress, past_drought = clock.restart(crop, state), uptake.drought_exponent(crop, state)
    new = replace_where(state, moves, stage=state.stage + 1, progress=progress, past_drought=past_drought)
    new = replace_where(new, moves, stage_thirst=0.0, stage_refused=0.0)
    new = replace_where(new, sprouts, size=crop.size_start)
    return replace_where(new, sets, fruits=state.pollinated, fruit_weight=crop.fruit_weight_start)
