"""One day of a crop: deaths, growth, flowers and fruits, and changes of stage (section 4.2).

All rates use the state in the morning. Each plot is in one stage, so all stages can share one uniform number per use.
Deaths come before changes of stage; a plant changes stage at most once a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from harvestgym.core.pytree import replace
from harvestgym.core.random import bernoulli, binomial
from harvestgym.farm.entities.crops_and_weeds import Drivers, add_to_strain
from harvestgym.farm.entities.messages import NUTRIENTS
from harvestgym.farm.entities.response import expglm, exponents

from . import equations
from .needs import drought_exponent
from .parameters import FLOWERS_MAX, Crop, Rate
from .stages import Stage
from .state import CAUSES, FIRST_CAUSE, SURVIVAL, PlantState

BARREN = 0.1
"""Ripe weight, as a fraction of the largest weight, at or below which a fruit never ripens."""


class PlantFate(NamedTuple):
    """Survival of the plants today, and the cause of death of those that die."""

    survives: jax.Array
    cause: jax.Array
    exponent: jax.Array


def death_exponents(crop: Crop, state: PlantState, day: Drivers) -> list[jax.Array]:
    """Return the exponent terms of eq. (2), (9), (15) or (20) on each plot, by stage, in the order of `CAUSES`."""
    groups = (crop.seed.survive, crop.grow.survive, crop.bloom.survive, crop.fruit.survive)
    here = [state.stage == stage for stage in FIRST_CAUSE]
    pairs = zip(groups, SURVIVAL.values(), strict=True)
    each = [(group.intercept, *add_to_strain(day["strain_death"], group, base, day)) for group, base in pairs]
    rows = zip_longest(*([chance, strain, *terms.values()] for chance, strain, terms in each), fillvalue=0.0)
    return [choose(list(zip(here, row, strict=True)), 0.0) for row in rows]


def decide_survival(crop: Crop, state: PlantState, day: Drivers, uniform: jax.Array) -> PlantFate:
    """Draw B(p_stay) of eqs. (2), (9), (15) and (20); the cause of a death is the largest term in its exponent."""
    each = death_exponents(crop, state, day)
    worst, exponent = largest(each)
    first = choose([(state.stage == stage, cause) for stage, cause in FIRST_CAUSE.items()], 0)
    return PlantFate(bernoulli(uniform, jnp.exp(-sum(each))), first + worst, exponent)


class Thresholds(NamedTuple):
    """The size (cm) and the fruit weight (g) at which a plant enters the next stage or stops growing."""

    size: jax.Array
    weight: jax.Array


def compute_ceilings(crop: Crop, day: Drivers) -> Thresholds:
    """Compute the ceilings in eqs. (6) and (17), lowered by stress and a lack of visits as in eqs. (8) and (19)."""
    lowered = sum(exponents(crop.fruit.ripen, day).values())
    return Thresholds(equations.size_left(day["stress"]) * crop.size_max, jnp.exp(-lowered) * crop.fruit_weight_max)


def compute_thresholds(crop: Crop, day: Drivers) -> Thresholds:
    """Compute today's thresholds by eqs. (8) and (19), as fractions of the ceilings, which growth never reaches."""
    size, weight = compute_ceilings(crop, day)
    return Thresholds(crop.bloom.share * size, jnp.minimum(jnp.exp(-crop.fruit.ripen.intercept), 1.0) * weight)


def transition_probability(crop: Crop, state: PlantState, day: Drivers, marks: Thresholds) -> jax.Array:
    """Return the probability of moving to the next stage, by eqs. (3), (7), (14) and (18).

    Fruit never ripens if stress keeps its ripe weight at or below its initial weight or a tenth of the largest weight.
    """
    chances = {
        Stage.SEED: expglm(crop.seed.sprout, **day),
        Stage.GROW: equations.arrival(state.size, marks.size, crop.size_max),
        Stage.BLOOM: expglm(crop.bloom.fade, **day),
        Stage.FRUIT: jnp.where(
            marks.weight > jnp.maximum(crop.fruit_weight_start, BARREN * crop.fruit_weight_max),
            equations.arrival(state.fruit_weight, marks.weight, crop.fruit_weight_max),
            0.0,
        ),
    }
    return choose([(state.stage == stage, p) for stage, p in chances.items()], 0.0)


def count_days(state: PlantState, marks: Thresholds) -> PlantState:
    """Add a day to the ages and store today's thresholds."""
    stage = state.stage
    return replace(
        state,
        age_seed=state.age_seed + (stage == Stage.SEED), age_bloom=state.age_bloom + (stage == Stage.BLOOM),
        age_ripe=state.age_ripe + (stage == Stage.RIPE),
        size_threshold=jnp.where(stage == Stage.GROW, marks.size, state.size_threshold),
        fruit_weight_threshold=jnp.where(stage == Stage.FRUIT, marks.weight, state.fruit_weight_threshold),
    )  # fmt: skip


def growth_exponents(crop: Crop, state: PlantState, day: Drivers) -> list[jax.Array]:
    """Return the exponent terms of eqs. (4) and (16) on each plot, in the order of `GROWTH_FACTORS[1:]`."""
    each = [add_to_strain(day["strain_growth"], group.rate, Rate, day) for group in (crop.grow, crop.fruit)]
    growing, filling = (terms | {"strain": strain} for strain, terms in each)
    grows, fills = state.stage == Stage.GROW, state.stage == Stage.FRUIT
    terms = {name: choose([(grows, growing[name]), (fills, filling[name])], 0.0) for name in growing}
    scarcest, most = largest([terms[name] for name in NUTRIENTS])
    law_of_minimum = {name: jnp.where(scarcest == i, most, 0.0) for i, name in enumerate(NUTRIENTS)}
    return list((terms | law_of_minimum).values())


def grow(crop: Crop, state: PlantState, day: Drivers, uniform: jax.Array) -> PlantState:
    """Grow plants by eq. (6) and fruits by eq. (17), and store the factor that slowed them most."""
    each = growth_exponents(crop, state, day)
    growing, filling = state.stage == Stage.GROW, state.stage == Stage.FRUIT
    intercept = jnp.where(filling, crop.fruit.rate.intercept, crop.grow.rate.intercept)
    variance = jnp.where(filling, crop.fruit.variance, crop.grow.variance)
    least = jnp.where(filling, crop.fruit.rate_min, crop.grow.rate_min)
    rate = equations.noisy_rate(jnp.exp(-(intercept + sum(each))), variance, uniform)
    gains = rate > least
    ceilings = compute_ceilings(crop, day)
    barren = ceilings.weight < jnp.maximum(state.fruit_weight, BARREN * crop.fruit_weight_max)
    gains &= ~(filling & barren)
    size = equations.logistic_step(state.size, rate, ceilings.size)
    weight = equations.logistic_step(state.fruit_weight, rate, ceilings.weight)
    worst, exponent = largest(each)
    return replace(
        state,
        size=jnp.where(growing & gains, size, state.size),
        fruit_weight=jnp.where(filling & gains, weight, state.fruit_weight),
        nogrow=jnp.where(growing & ~gains, state.nogrow + 1, 0),
        noweight=jnp.where(filling & ~gains, state.noweight + 1, 0),
        limiting_factor=jnp.where(exponent > 0, 1 + worst, 0),
        limiting_exponent=exponent,
    )


def bloom(crop: Crop, state: PlantState, day: Drivers, opens: jax.Array, uniform: jax.Array) -> PlantState:
    """Open the flowers of plants that start to bloom, by eq. (10), and pollinate the others, by eq. (11)."""
    blooms = state.stage == Stage.BLOOM
    trials = choose([(opens, crop.flowers_max), (blooms, state.flowers - state.pollinated)], 0)
    opening = expglm(crop.bloom.open, **day) * state.size / crop.size_max
    success = jnp.where(opens, opening, equations.pollination(crop.bloom, day))
    count = binomial(uniform, trials, jnp.minimum(success, 1.0), FLOWERS_MAX)
    return replace(
        state,
        flowers=jnp.where(opens, count, state.flowers),
        pollinated=state.pollinated + jnp.where(blooms, count, 0),
        visits=jnp.where(blooms, day["visits"].astype(jnp.int32), state.visits),
    )


def keep_fruits(crop: Crop, state: PlantState, day: Drivers, uniform: jax.Array) -> PlantState:
    """Reduce the number of fruits on ripe plants, by eq. (21)."""
    share = expglm(crop.ripe.keep, day["strain_harvest"], **day)
    fruits = equations.kept_fruits(state.fruits, equations.noisy_rate(share, crop.ripe.variance, uniform))
    return replace(state, fruits=jnp.where(state.stage == Stage.RIPE, fruits, state.fruits))


def apply_deaths(state: PlantState, fate: PlantFate) -> PlantState:
    """Mark the plants that died today, either by `decide_survival` or because they were ripe with no fruit left."""
    bare = (state.stage == Stage.RIPE) & (state.fruits == 0)
    dies = bare | ~fate.survives
    cause = jnp.where(bare, len(CAUSES) - 1, fate.cause)
    return replace(
        state,
        stage=jnp.where(dies, Stage.DEAD, state.stage),
        cause_of_death=jnp.where(dies, cause, state.cause_of_death),
        death_exponent=jnp.where(dies, fate.exponent, state.death_exponent),
    )


def enter_next_stage(crop: Crop, state: PlantState, moves: jax.Array) -> PlantState:
    """Set the next stage, with its initial size or fruits, on the plots that move to it."""
    sprouts, sets = (moves & (state.stage == s) for s in (Stage.SEED, Stage.BLOOM))
    return replace(
        state,
        stage=jnp.where(moves, state.stage + 1, state.stage),
        size=jnp.where(sprouts, crop.size_start, state.size),
        fruits=jnp.where(sets, state.pollinated, state.fruits),
        past_drought=jnp.where(moves, drought_exponent(crop, state), state.past_drought),
        stage_thirst=jnp.where(moves, 0.0, state.stage_thirst),
        stage_refused=jnp.where(moves, 0.0, state.stage_refused),
        fruit_weight=jnp.where(sets, crop.fruit_weight_start, state.fruit_weight),
    )


def choose(cases: Sequence[tuple[jax.Array, Any]], otherwise: Any) -> jax.Array:
    """Select elementwise the value of the first case `(condition, value)` that holds, or `otherwise`.

    This replaces `jnp.select`, and `largest` replaces `argmax`: on a CPU, they would take longer than the rest of
    a day.
    """
    found = jnp.asarray(otherwise)
    for holds, value in reversed(cases):
        found = jnp.where(holds, value, found)
    return found


def largest(rows: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Return elementwise the index (int32) of the largest array, the first if equal, and its value."""
    best = jnp.asarray(rows[0])
    at = jnp.zeros(best.shape, jnp.int32)
    for i, row in enumerate(rows[1:], start=1):
        more = row > best
        best, at = jnp.where(more, row, best), jnp.where(more, i, at)
    return at, best
