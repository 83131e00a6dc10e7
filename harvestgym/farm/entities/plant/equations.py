"""Plant equations other than responses: eqs. (6) to (8), (11), (17) to (19) and (21), and section 4.2.7."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from harvestgym.core.random import normal
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.response import expglm, power

from .parameters import Bloom, StressWeights


def noisy_rate(rate: jax.Array, variance: jax.Array, uniform: jax.Array) -> jax.Array:
    """Compute r_t of eqs. (6), (17) and (21): the rate plus Gaussian noise, never negative."""
    return jnp.maximum(rate + jnp.sqrt(variance) * normal(uniform), 0.0)


def logistic_step(value: jax.Array, rate: jax.Array, ceiling: jax.Array) -> jax.Array:
    """Grow `value` towards the ceiling for a day, by eqs. (6) and (17); 0 stays 0, so growth needs an initial value.

    At a constant rate the solution is ceiling * tanh(t * rate / (2 sqrt(ceiling)))^2. A value above a ceiling that
    stress has lowered does not change.
    """
    grown = value + rate * (1 - value / ceiling) * power(value, 0.5)
    return jnp.maximum(value, jnp.minimum(grown, ceiling))


def arrival(value: jax.Array, threshold: jax.Array, ceiling: jax.Array) -> jax.Array:
    """Return the probability of entering the next stage, by eqs. (7) and (18); it is 1 at or above the threshold.

    The distance below the threshold is in percent of the ceiling. In the paper it is in cm or g, but then a fruit of
    at most 6 g would always be close to the threshold: pods would ripen at half their weight.
    """
    return jnp.exp(-100 * jnp.maximum(threshold - value, 0.0) / ceiling)


def stress(weights: StressWeights, nutrients: jax.Array, water: jax.Array, light: jax.Array) -> jax.Array:
    """Return the stress of eqs. (8) and (19): a weighted sum of unmet needs, as fractions of the needs.

    Only the scarcest nutrient counts, as in eq. (4). The paper adds grams and litres without weights, so a plant that
    grows well, and therefore needs more, is worse off than one that never grew: a poor soil would yield more than a
    healthy one.
    """
    hunger = functools.reduce(jnp.maximum, [w * share for w, share in zip(weights.nutrients, nutrients, strict=True)])
    return hunger + weights.water * water + weights.light * light


def refused_share(refused: jax.Array, needed: jax.Array) -> jax.Array:
    """Return the fraction of a need that was not met (0 to 1); 0 where nothing was needed."""
    return jnp.where(needed > 0, jnp.minimum(refused / jnp.where(needed > 0, needed, 1.0), 1.0), 0.0)


LEAST_RESPONSE = 1e-3
"""Lower limit on fractions before taking the logarithm, which keeps the logarithm finite."""


def minus_log(share: jax.Array) -> jax.Array:
    """Return the exponent for which the response equals this fraction (0 to 1)."""
    return -jnp.log(jnp.maximum(share, LEAST_RESPONSE))


def size_left(stress: jax.Array) -> jax.Array:
    """Return the fraction of the largest size that a stressed plant can reach (0.5 to 1), by eq. (8).

    The paper lowers the size at which a plant flowers, so stress brings flowering forward by weeks. Here, stress
    lowers the ceiling of eq. (6), so a stressed plant flowers at about the same age but is smaller.
    """
    return (1 + jnp.exp(-stress)) / 2


def pollination(bloom: Bloom, drivers: Drivers) -> jax.Array:
    """Return the chance that a flower is pollinated today: p = sum w p of eq. (11), by eqs. (12) and (13).

    The paper's weighted sum of three binomials is not an integer; a single binomial with the mean probability is.
    """
    chances = (bloom.auto_success, expglm(bloom.wind, **drivers), expglm(bloom.insects, **drivers))
    mixed = sum(w * p for w, p in zip(bloom.rates, chances, strict=True))
    return mixed / jnp.maximum(jnp.sum(bloom.rates), 1e-6)


def kept_fruits(fruits: jax.Array, share: jax.Array) -> jax.Array:
    """Return the number of fruits left by eq. (21), whose "factor" of decrease is the remaining fraction (0 to 1)."""
    return jnp.floor(fruits * jnp.minimum(share, 1.0)).astype(jnp.int32)


def vapour_pressure(temperature: jax.Array) -> jax.Array:
    """Compute the saturation vapour pressure, in kPa (FAO-56 eq. 11)."""
    return 0.6108 * jnp.exp(17.27 * temperature / (temperature + 237.3))


def least_humidity(humidity: jax.Array, t_mean: jax.Array, t_max: jax.Array) -> jax.Array:
    """Compute RH_min, in %, assuming that the day's mean vapour pressure persists into its warmest hour."""
    return humidity * vapour_pressure(t_mean) / vapour_pressure(t_max)


def crop_coefficient(
    alpha_0: jax.Array, alpha_1: jax.Array, height: jax.Array, wind: jax.Array, least_humidity: jax.Array
) -> jax.Array:
    """Compute K_t of section 4.2.7, which is FAO-56 eq. (70) with a basal coefficient that increases with height.

    As in FAO-56, but not in the paper, wind is in m/s at 2 m and clipped to 1 to 6, humidity is the day's minimum in %
    and clipped to 20 to 80, and K_t multiplies ET_0 without a division by 100. Height is in cm.
    """
    wind, humid = jnp.clip(wind, 1.0, 6.0), jnp.clip(least_humidity, 20.0, 80.0)
    air = 0.04 * (wind - 2) - 0.004 * (humid - 45)
    return jnp.maximum(alpha_0 + alpha_1 * height + air * power(height / 300, 0.3), 0.0)
