"""Needs of the plants on a plot (ground, water and nutrients), and the drivers of their responses."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.crops_and_weeds import Drivers, stomatal_opening, water_threshold
from harvestgym.farm.entities.messages import KMH, NUTRIENTS, Air, Ground

from . import equations
from .parameters import Crop
from .stages import Stage, is_alive
from .state import PlantState

COUNTED = ("age_seed", "age_bloom", "age_ripe", "nogrow", "noweight")
"""The day counters of a plant, as named in `PlantState` and `parameters.py`."""


def ground_covered(crop: Crop, state: PlantState, surface: jax.Array) -> jax.Array:
    """Return the ground area under the leaves of a plot's plants, in m2."""
    leaves = state.population * crop.grow.leaf_surface * state.size
    return jnp.where(is_alive(state.stage), jnp.minimum(leaves, surface), 0.0)


def crowding(crop: Crop, state: PlantState, surface: jax.Array) -> jax.Array:
    """Return the fraction of a plant's ground (0 to 1) that its neighbours take.

    The plants form a square grid; the outer ones reach into the rest of the plot. Each plant has an equal share of the
    total ground that they reach.
    """
    wanted, plants = crop.grow.leaf_surface * state.size, jnp.maximum(state.population, 1)
    side = (jnp.sqrt(plants) - 1) * state.spacing / 100 + _root(wanted)
    own = jnp.minimum(side**2, surface) / plants
    return jnp.where(wanted > own, 1 - own / jnp.maximum(wanted, 1e-12), 0.0)


def _root(area: jax.Array) -> jax.Array:
    """Return the square root, with a finite gradient at 0."""
    return jnp.where(area > 0, jnp.sqrt(jnp.where(area > 0, area, 1.0)), 0.0)


def transpiration(crop: Crop, state: PlantState, surface: jax.Array, air: Air) -> jax.Array:
    """Compute the water, L, that unstressed plants lose today in full light: ET_0 K_t on covered ground (4.2.7)."""
    humidity = equations.least_humidity(air.humidity, air.t_mean, air.t_max)
    grow = crop.grow
    coefficient = equations.crop_coefficient(grow.alpha_0, grow.alpha_1, state.size, air.wind / KMH, humidity)
    return air.et0 * coefficient * ground_covered(crop, state, surface)


def reached_water(crop: Crop, ground: Ground) -> tuple[jax.Array, jax.Array]:
    """Return today's extractable water in the root zone, in L, and its maximum, the TAW of FAO-56 eq. (82).

    The roots reach the upper Z_r of the soil, which dries first; the soil below stays at field capacity.
    """
    most = ground.capacity - ground.wilting
    reached = most * jnp.minimum(crop.root_depth / jnp.maximum(ground.depth, 1e-6), 1.0)
    return jnp.maximum(ground.extractable - (most - reached), 0.0), reached


def drought_threshold(crop: Crop, state: PlantState, ground: Ground) -> jax.Array:
    """Return w of eq. (5) for each plot, in L; roots cannot dry the soil below the wilting point."""
    drought = jnp.where(state.stage == Stage.FRUIT, crop.fruit.drought, crop.grow.drought)
    return water_threshold(drought, ground.capacity - reached_water(crop, ground)[1], ground.capacity)


def transpired_share(crop: Crop, state: PlantState, ground: Ground) -> jax.Array:
    """Return the fraction of full transpiration (0 to 1) that takes place: in dry soil, stomata close."""
    extractable, reached = reached_water(crop, ground)
    least = ground.capacity - reached
    return stomatal_opening(extractable, drought_threshold(crop, state, ground) - least)


def water_demand(crop: Crop, state: PlantState, lost: jax.Array) -> jax.Array:
    """Compute today's uptake, in L, from the water that plants lose: loss plus body water minus stored water."""
    wanted = jnp.maximum(lost + body_water(crop, state) - state.water, 0.0)
    return jnp.where(is_alive(state.stage), wanted, 0.0)


def _consumers(state: PlantState) -> list[tuple[Stage, jax.Array]]:
    """Return each consuming stage and the amount that consumes on each plot: mm of size, flowers, g of fruit."""
    millimetres, flowers, grams = state.size * 10, state.flowers, state.fruits * state.fruit_weight
    amounts = [(Stage.GROW, millimetres), (Stage.BLOOM, flowers), (Stage.FRUIT, grams)]
    return [(s, jnp.where(state.stage == s, state.population * a, 0.0)) for s, a in amounts]


def nutrient_demand(crop: Crop, state: PlantState) -> jax.Array:
    """Return today's need for each nutrient, in g per plot; shape (4, length, width)."""
    groups = (crop.grow, crop.bloom, crop.fruit)
    rates = [jnp.asarray(group.nutrients)[:, None, None] for group in groups]
    return sum(rate * amount for rate, (_, amount) in zip(rates, _consumers(state), strict=True))  # pyright: ignore[reportReturnType]


def body_water(crop: Crop, state: PlantState) -> jax.Array:
    """Return the water that a plot's plants hold when saturated, in L."""
    plants = jnp.where(state.stage == Stage.GROW, state.population, 0)
    _, (_, flowers), (_, grams) = _consumers(state)
    return (plants * crop.grow.water + flowers * crop.bloom.water + grams * crop.fruit.water) / 1000


def lack_of_light(crop: Crop, state: PlantState, radiation: jax.Array) -> jax.Array:
    """Return the fraction (0 to 1) by which the day's radiation, in MJ/m2, falls short of what the crop can use."""
    wanted = jnp.where(state.stage == Stage.FRUIT, crop.fruit.rate.radiation.low, crop.grow.rate.radiation.low)
    lacks = wanted > radiation
    return jnp.where(lacks, 1 - radiation / jnp.where(lacks, wanted, 1.0), 0.0)


def drought_exponent(crop: Crop, state: PlantState) -> jax.Array:
    """Return minus the log of the relative yield in drought: K_y times minus the log of relative uptake (Jensen 1968).

    For small deficits this agrees with FAO-33 eq. 1, which is valid for deficits of up to one half; as long as there is
    any water, some yield remains. Only the worst period counts, because the K_y of a whole season is close to the
    largest K_y of its periods. Drought in the vegetative period also reduces yield through the size in eq. (8).
    """
    flowers, fills = (state.stage == stage for stage in (Stage.BLOOM, Stage.FRUIT))
    factor = jnp.where(flowers, crop.bloom.yield_response, crop.grow.yield_response)
    factor = jnp.where(fills, crop.fruit.yield_response, factor)
    refused = equations.refused_share(state.stage_refused, state.stage_thirst)
    return jnp.maximum(state.past_drought, factor * equations.minus_log(1 - refused))


def compute_stress(crop: Crop, state: PlantState) -> jax.Array:
    """Compute the stress of eqs. (8) and (19) from what the plants have needed and received so far."""
    nutrients = equations.refused_share(state.nutrient_stress, state.nutrient_stress + state.nutrients)
    water = equations.refused_share(state.stage_refused, state.stage_thirst)
    grows = state.stage == Stage.GROW
    return equations.stress(crop.stress, nutrients, jnp.where(grows, water, 0.0), state.dimness)


def compute_drivers(
    crop: Crop, state: PlantState, place: Place, air: Air, ground: Ground, asked: jax.Array, given: jax.Array
) -> Drivers:
    """Compute today's drivers from weather, soil and state, by the names in `parameters.py`.

    `asked` and `given` are today's need for and supply of each nutrient, in g.
    """
    refused = equations.refused_share(jnp.maximum(asked - given, 0.0), asked)
    return {
        "temperature": air.t_mean, "humidity": air.humidity, "frost": air.frost_days, "cold": air.t_min,
        "rain": (air.rain_class > 0).astype(jnp.float32), "radiation": air.radiation,
        **{name: getattr(state, name).astype(jnp.float32) for name in COUNTED},
        "crowding": crowding(crop, state, place.surface),
        "stress": compute_stress(crop, state), "drought": drought_exponent(crop, state),
        "water": equations.minus_log(transpired_share(crop, state, ground)),
        **dict(zip(NUTRIENTS, refused, strict=True)),
    }  # fmt: skip
