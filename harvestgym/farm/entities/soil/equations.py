"""The soil equations of section 4.3, as functions of arrays of plots."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from harvestgym.farm.entities.response import Response, Window, expglm


class Survival(Response):
    """Survival of the microlife, eq. (22), by the cide, in g/m2, and the surplus water divided by the capacity.

    The paper's intervals are (-inf, 0]: any amount of cide or surplus counts.
    """

    cide: Window
    surplus: Window


TOPSOIL = 0.1
"""Depth from which water evaporates, in m (FAO-56 page 144)."""


class Bucket(NamedTuple):
    """The capacity and the wilting point of a plot of this soil, in L."""

    capacity: Array
    wilting: Array


def bypass_share(extractable: Array, bucket: Bucket, bypass: Array) -> Array:
    """Return the fraction (0 to 1) of a watering that bypasses the roots; `bypass` is its value at the wilting point.

    In the paper, sand "does not retain water", but a bucket model loses no water until it is full. Dry sand repels
    water, which then drains in narrow channels; moist sand repels it less (Dekker and Ritsema 1994, Water Resources
    Research 30). This flow leaches no nutrients.
    """
    return bypass * (1 - jnp.clip(extractable / (bucket.capacity - bucket.wilting), 0.0, 1.0))


class WaterBalance(NamedTuple):
    """The water of one day, in L per plot: the remaining water and the flows across the boundary."""

    tomorrow: Array
    evaporated: Array
    rain: Array
    surplus: Array


def water_balance(water: Array, bucket: Bucket, served: Array, evaporable: Array, rain: Array) -> WaterBalance:
    """Return the water balance of a day.

    The order is: after watering, water above the capacity drains; hosts take up their shares; water evaporates from the
    rest; rain is added; and the surplus drains. In the paper, light and heavy rain are amounts relative to the soil's
    capacity; here, rain is in mm, regardless of the soil.
    """
    held = jnp.minimum(water, bucket.capacity)
    left = jnp.maximum(held - served, 0.0)
    evaporated = jnp.minimum(evaporable, jnp.maximum(left - bucket.wilting / 2, 0.0))
    full = left - evaporated + rain
    tomorrow = jnp.minimum(full, bucket.capacity)
    return WaterBalance(tomorrow, evaporated, rain, (water - held) + (full - tomorrow))


def evaporable_depth(capacity: Array, wilting: Array) -> Array:
    """Return TEW of FAO-56 eq. (73), mm: the water that can evaporate from wet topsoil; arguments are in L/m3."""
    return (capacity - wilting / 2) * TOPSOIL


def evaporable(et0: Array, shade: Array, wet_surface: Array, surface: Array) -> Array:
    """Compute ET of section 4.3, L/day: ET_0 from the part of the plot that is wet and unshaded.

    `water_balance` stops evaporation at half the wilting point (FAO-56 eq. 73); the paper states no limit.
    """
    return et0 * jnp.minimum(1 - jnp.minimum(shade, 1.0), wet_surface / surface) * surface


def next_wet_surface(wet_surface: Array, absorption: Array, rain: Array, layer: Array, surface: Array) -> Array:
    """Return tomorrow's wet surface, in m2.day: it dries at the absorption speed, and rain wets it.

    In the paper, rain is of the order of the soil's capacity and wets the whole surface. Here a few mm of rain only wet
    the part of the surface whose evaporating `layer` (mm) they can fill; otherwise, water would evaporate from clay for
    ten days after a drizzle.
    """
    dried = jnp.maximum(wet_surface - absorption * surface, 0.0)
    return jnp.minimum(dried + rain / layer * surface, surface)


def leaching_strength(rain_intensity: Array, surplus: Array) -> Array:
    """Compute q of section 4.3: the rain intensity, 0 to 1, plus the surplus water divided by the capacity.

    The paper multiplies only the first term by the surface; here q is dimensionless.
    """
    return rain_intensity + surplus


def leached_share(strength: Array, microlife: Array) -> Array:
    """Return the fraction of each nutrient that leaches; `microlife` is from 0 to 1.

    In the paper, an amount q (1 - mu) without a unit leaches; here it is a fraction, which never exceeds the stock.
    """
    return jnp.clip(strength * (1 - microlife), 0.0, 1.0)


def mineralised(stock: Array, level: Array, rate: Array) -> Array:
    """Return the nutrients that bedrock and humus release in a day, in g; negative above `level`, where they are bound.

    It is the exact solution of d stock / dt = rate (1 - stock / level). In the paper, the release is constant, so
    nutrients would accumulate without limit in an unfertilised soil.
    """
    return (level - stock) * -jnp.expm1(-rate / jnp.maximum(level, 1e-6))


VOLATILISED, DENITRIFIED = 0.11, 0.01
"""Nitrogen lost as ammonia, of fertilizers, and as N2O, of fertilizers and residues (IPCC 2019, tables 11.3, 11.1)."""


def cide_left(cide: Array, strength: Array, decay: Array, microlife: Array) -> Array:
    """Return the cide left after a day: it decreases by exp(-q) of section 4.3 and by breakdown.

    In the paper, only rain removes a cide, which would therefore act forever in dry weather. `decay` is the rate of
    breakdown at full microlife, in 1/day; `microlife` is from 0 to 1.
    """
    return cide * jnp.exp(-(strength + decay * microlife))


def cide_leached(lost: Array, strength: Array, decay: Array, microlife: Array) -> Array:
    """Return the part of the day's cide loss due to rain; rain and breakdown share it in proportion to their rates."""
    rate = strength + decay * microlife
    return lost * strength / jnp.where(rate > 0, rate, 1.0)


def next_microlife(survival: Survival, recovery: Array, microlife: Array, cide: Array, surplus: Array) -> Array:
    """Compute the microlife mu of section 4.3 after a day, in %, by eq. (22) and its flow, clipped to 0 to 100.

    The paper's text describes a probability, but its flow is an expectation, so nothing is drawn at random.
    """
    stay = expglm(survival, cide=cide, surplus=surplus)
    grown = stay * (1 + recovery * stay) + (1 - stay) * stay
    return jnp.clip(grown * microlife, 0.0, 100.0)
