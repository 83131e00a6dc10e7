"""Uptake of water, nutrients and light by the plants on a plot, their needs, and the drivers of their responses."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.crops_and_weeds import Drivers, stomatal_opening, water_threshold
from harvestgym.farm.entities.messages import KMH, NUTRIENTS, Air, Ground
from harvestgym.farm.entities.response import exponents, power

from . import equations
from .clock import hardened, pace, thermal_time
from .parameters import Crop
from .stages import Stage, is_alive
from .state import PlantState

SALINITY = 1000 / 14 / 10 / 2
"""Conductivity, in dS/m, of one gram of nitrate nitrogen per litre: 1 for 10 mmol/L, and half of it in the extract of a
saturated soil, to which the limits of FAO-29 refer."""

COUNTED = ("age_seed", "age_bloom", "age_ripe", "nogrow", "noweight")
"""The day counters of a plant, as named in `PlantState` and `parameters.py`."""


def ground_covered(crop: Crop, state: PlantState, surface: Array) -> Array:
    """Return the ground area under the leaves of a plot's plants, in m2."""
    leaves = state.population * crop.grow.leaf_surface * state.size
    return jnp.where(is_alive(state.stage), jnp.minimum(leaves, surface), 0.0)


def crowding(crop: Crop, state: PlantState, surface: Array) -> Array:
    """Return the fraction of a plant's ground (0 to 1) that its neighbours take.

    The plants form a square grid; the outer ones reach into the rest of the plot. Each plant has an equal share of the
    total ground that they reach.
    """
    wanted, plants = crop.grow.leaf_surface * state.size, jnp.maximum(state.population, 1)
    side = (jnp.sqrt(plants) - 1) * state.spacing / 100 + power(wanted, 0.5)
    own = jnp.minimum(side**2, surface) / plants
    return jnp.where(wanted > own, 1 - own / jnp.maximum(wanted, 1e-12), 0.0)


def transpiration(crop: Crop, state: PlantState, surface: Array, air: Air) -> Array:
    """Compute the water, L, that unstressed plants lose today in full light: ET_0 K_t on covered ground (4.2.7).

    Carbon dioxide closes stomata.
    """
    humidity = equations.least_humidity(air.humidity, air.t_mean, air.t_max)
    grow = crop.grow
    coefficient = equations.crop_coefficient(grow.alpha_0, grow.alpha_1, state.size, air.wind / KMH, humidity)
    return air.et0 * equations.stomatal_saving(air.co2) * coefficient * ground_covered(crop, state, surface)


def reached_water(crop: Crop, ground: Ground) -> tuple[Array, Array]:
    """Return today's extractable water in the root zone, in L, and its maximum, the TAW of FAO-56 eq. (82).

    The roots reach the upper Z_r of the soil, which dries first; the soil below stays at field capacity.
    """
    most = ground.capacity - ground.wilting
    reached = most * jnp.minimum(crop.root_depth / jnp.maximum(ground.depth, 1e-6), 1.0)
    return jnp.maximum(ground.extractable - (most - reached), 0.0), reached


def transpired_share(crop: Crop, ground: Ground) -> Array:
    """Return the fraction of full transpiration (0 to 1) that takes place: in dry soil, stomata close.

    Roots cannot dry the soil below the wilting point.
    """
    extractable, reached = reached_water(crop, ground)
    least = ground.capacity - reached
    return stomatal_opening(extractable, water_threshold(crop.grow.drought, least, ground.capacity) - least)


def water_demand(crop: Crop, state: PlantState, lost: Array) -> Array:
    """Compute today's uptake, in L, from the water that plants lose: loss plus body water minus stored water."""
    wanted = jnp.maximum(lost + body_water(crop, state) - state.water, 0.0)
    return jnp.where(is_alive(state.stage), wanted, 0.0)


def grown(crop: Crop, state: PlantState, rate: Array, day: Drivers) -> tuple[Array, Array]:
    """Return the size of a plant and the weight of a fruit after a day, by eqs. (6) and (17).

    `rate` is the fraction of the stage's growth that takes place today; carbon dioxide multiplies it. A lack of visits
    and drought lower the weight that a fruit can reach, by eq. (19).
    """
    rate, share = rate * day["carbon"], jnp.exp(-crop.fruit.ripen.intercept)
    reached = jnp.exp(-sum(exponents(crop.fruit.ripen, day).values()))
    most = jnp.maximum(reached * crop.fruit_weight_max, crop.fruit_weight_start)
    span = equations.growth_span(crop.size_start, crop.size_max, crop.bloom.share)
    filling = equations.growth_span(crop.fruit_weight_start, most, share)
    size = equations.logistic_step(state.size, rate * span, crop.size_max)
    weight = equations.logistic_step(state.fruit_weight, rate * filling, most)
    grows, fills = (state.stage == stage for stage in (Stage.GROW, Stage.FRUIT))
    return jnp.where(grows, size, state.size), jnp.where(fills, weight, state.fruit_weight)


def nutrient_demand(crop: Crop, state: PlantState, size: Array, weight: Array) -> Array:
    """Return the nutrients, in g per plot, in the growth to this size and weight; shape (4, length, width)."""
    contents = [jnp.asarray(group.nutrients)[:, None, None] for group in (crop.grow, crop.fruit)]
    gains = (10 * (size - state.size), state.fruits * (weight - state.fruit_weight))
    return sum(content * state.population * gain for content, gain in zip(contents, gains, strict=True))  # pyright: ignore[reportReturnType]


def body_water(crop: Crop, state: PlantState) -> Array:
    """Return the water that a plot's plants hold when saturated, in L."""
    grows, fills = (state.stage == stage for stage in (Stage.GROW, Stage.FRUIT))
    each = jnp.where(fills, state.fruits * state.fruit_weight * crop.fruit.water, 0.0)
    return state.population * jnp.where(grows, crop.grow.water, each) / 1000


def received_light(crop: Crop, air: Air, unshaded: Array | float) -> Array:
    """Return the light, as a fraction (0 to 1) of what the day's development can use.

    Warmth hastens development but not photosynthesis, so growth per degree-day needs a photothermal quotient (Nix
    1976): the radiation per degree-day, in MJ/m2, below which growth is in proportion to the light. Shade from taller
    neighbours reduces the result even in strong light, because growth is in proportion to the light that leaves
    intercept.
    """
    wanted = crop.light * thermal_time(crop.clock, air.t_mean)
    return unshaded * jnp.minimum(air.radiation / jnp.maximum(wanted, 1e-3), 1.0)


def drought_exponent(crop: Crop, state: PlantState) -> Array:
    """Return minus the log of the relative yield in drought: K_y times minus the log of relative uptake (Jensen 1968).

    For small deficits this agrees with FAO-33 eq. 1, which is valid for deficits of up to one half; as long as there is
    any water, some yield remains. Only the worst period counts, because the K_y of a whole season is close to the
    largest K_y of its periods. Drought slows growth only where it more than halves transpiration.
    """
    later = {Stage.BLOOM: crop.bloom.yield_response, Stage.FRUIT: crop.fruit.yield_response}
    factor = equations.by_stage(state.stage, later, crop.grow.yield_response)
    refused = equations.refused_share(state.stage_refused, state.stage_thirst)
    return jnp.maximum(state.past_drought, factor * equations.minus_log(1 - refused))


def hunger(crop: Crop, state: PlantState, asked: Array, given: Array) -> Drivers:
    """Return minus the log of each nutrient's nutrition index: its uptake so far, as a fraction of the need so far.

    The index covers the whole life, since plants move nutrients from old leaves to new ones and to the fruit; the
    paper uses the day's shortage. `asked` and `given` are today's need and supply, in g.
    """
    refused = state.nutrient_stress + jnp.maximum(asked - given, 0.0)
    share = equations.refused_share(refused, state.nutrient_stress + state.nutrients + asked)
    return dict(zip(NUTRIENTS, equations.minus_log(1 - share), strict=True))


def compute_drivers(
    crop: Crop, state: PlantState, place: Place, air: Air, ground: Ground, unshaded: Array | float
) -> Drivers:
    """Compute today's drivers from weather, soil and state, by the names in `parameters.py`, without the nutrients."""
    salt = ground.nutrients[NUTRIENTS.index("N")] * SALINITY / jnp.maximum(ground.water, 1e-3)
    return {
        "temperature": air.t_mean, "humidity": air.humidity,
        "cold": air.t_min + hardened(crop, state), "frost": air.frost_days,
        "rain": (air.rain_class > 0).astype(jnp.float32), "salt": salt,
        **{name: getattr(state, name).astype(jnp.float32) for name in COUNTED},
        "crowding": equations.minus_log(1 - crowding(crop, state, place.surface)),
        "drought": drought_exponent(crop, state),
        "light": equations.minus_log(received_light(crop, air, unshaded)),
        "water": equations.minus_log(transpired_share(crop, ground)),
        "carbon": equations.carbon_gain(air.co2, crop.carbon),
        "pace": pace(crop, state, air), "visits": state.visits,
    }  # fmt: skip
