"""The laws of the soil of section 4.3, as functions of arrays of plots."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from harvestgym.core.tree import pytree
from harvestgym.farm.entities.response import Response, Window, expglm


@pytree
class Survival(Response):
    """Stress of the microlife, eq. (22): grams of cide per m2, and surplus water over the capacity.

    The paper's intervals are (-inf, 0]: any cide, any surplus counts.
    """

    cide: Window
    surplus: Window


TOPSOIL = 0.1
"""Depth from which water evaporates, m (FAO-56 page 144)."""


class Bucket(NamedTuple):
    """The capacity of a plot of this soil and its water that no plant can take, L."""

    capacity: jax.Array
    wilting: jax.Array


def bypass_share(extractable: jax.Array, bucket: Bucket, bypass: jax.Array) -> jax.Array:
    """Share of a watering that runs past the roots, 0 to 1; `bypass` is that of a soil without water for plants.

    The paper's sand "does not retain water", yet as a bucket it loses no drop that it has room for. A dry sand repels
    water, which seeps through it in fingers, and the less the moister it is (Dekker and Ritsema 1994, Water Resources
    Research 30). No nutrients are washed out on that way.
    """
    return bypass * (1 - jnp.clip(extractable / (bucket.capacity - bucket.wilting), 0.0, 1.0))


class WaterBalance(NamedTuple):
    """The water of a day, L per plot: what stays, and what crossed the boundary."""

    tomorrow: jax.Array
    evaporated: jax.Array
    rain: jax.Array
    surplus: jax.Array


def water_balance(
    water: jax.Array, bucket: Bucket, served: jax.Array, evaporable: jax.Array, rain: jax.Array
) -> WaterBalance:
    """Return the water balance of a day.

    What a watering brought above the capacity drains, the hosts are served, the remainder evaporates, the rain
    comes in, and what the soil cannot hold of it drains too. The paper's light and heavy rains fill the soil by
    its capacity; a rain in mm does not depend on the soil it falls on.
    """
    held = jnp.minimum(water, bucket.capacity)
    left = jnp.maximum(held - served, 0.0)
    evaporated = jnp.minimum(evaporable, jnp.maximum(left - bucket.wilting / 2, 0.0))
    full = left - evaporated + rain
    tomorrow = jnp.minimum(full, bucket.capacity)
    return WaterBalance(tomorrow, evaporated, rain, (water - held) + (full - tomorrow))


def evaporable_depth(capacity: jax.Array, wilting: jax.Array) -> jax.Array:
    """TEW of FAO-56 eq. (73), mm: what can evaporate from a wet topsoil; capacity and wilting point in L/m3."""
    return (capacity - wilting / 2) * TOPSOIL


def evaporable(et0: jax.Array, shade: jax.Array, wet_surface: jax.Array, surface: jax.Array) -> jax.Array:
    """ET of section 4.3, L/day: ET_0 from the part of the plot that is wet and in the sun.

    `water_balance` stops it at half the wilting point (FAO-56 eq. 73), about which the paper says nothing.
    """
    return et0 * jnp.minimum(1 - jnp.minimum(shade, 1.0), wet_surface / surface) * surface


def next_wet_surface(
    wet_surface: jax.Array, absorption: jax.Array, rain: jax.Array, layer: jax.Array, surface: jax.Array
) -> jax.Array:
    """Return the wet surface of tomorrow, m2.day: it dries at the absorption speed, and rain wets it.

    The paper's rains, of the order of the soil's capacity, wet everything; a rain of few mm wets the part of the
    surface whose evaporating `layer` (mm) it fills, without which a drizzle would cost a clay ten days of sun.
    """
    dried = jnp.maximum(wet_surface - absorption * surface, 0.0)
    return jnp.minimum(dried + rain / layer * surface, surface)


def leaching_strength(rain_intensity: jax.Array, surplus: jax.Array) -> jax.Array:
    """q of section 4.3: the intensity of the rain, 0 to 1, plus the surplus water over the capacity.

    The paper multiplies the first by the surface and not the second; q has no unit here.
    """
    return rain_intensity + surplus


def leached_share(strength: jax.Array, microlife: jax.Array) -> jax.Array:
    """Share of each nutrient that leaches, 0 to 1; microlife from 0 to 1.

    The paper removes q (1 - mu) without a unit; a share of the stock never takes more than there is.
    """
    return jnp.clip(strength * (1 - microlife), 0.0, 1.0)


def cide_left(cide: jax.Array, strength: jax.Array, decay: jax.Array, microlife: jax.Array) -> jax.Array:
    """Return the share of cide left after a day: exp(-q) of section 4.3, less the breakdown by the soil life.

    In the paper rain alone ends a cide, which would act for ever in dry weather. `decay` is the rate, 1/day, of a
    soil of full life; microlife from 0 to 1.
    """
    return cide * jnp.exp(-(strength + decay * microlife))


def cide_leached(lost: jax.Array, strength: jax.Array, decay: jax.Array, microlife: jax.Array) -> jax.Array:
    """Return the part of the cide lost in a day that rain washed out: the two losses share it as their rates do."""
    rate = strength + decay * microlife
    return lost * strength / jnp.where(rate > 0, rate, 1.0)


def next_microlife(
    survival: Survival, recovery: jax.Array, microlife: jax.Array, cide: jax.Array, surplus: jax.Array
) -> jax.Array:
    """mu of section 4.3 after a day, %, by eq. (22) and its flow, within 0 and 100.

    The text speaks of a probability, its flow is the expectation; so nothing is drawn here.
    """
    stay = expglm(survival, cide=cide, surplus=surplus)
    grown = stay * (1 + recovery * stay) + (1 - stay) * stay
    return jnp.clip(grown * microlife, 0.0, 100.0)
