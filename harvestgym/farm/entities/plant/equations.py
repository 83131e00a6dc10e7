"""Plant equations other than responses and uptake: eqs. (6), (11), (17) and (21), and section 4.2.7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array

from harvestgym.core.random import normal
from harvestgym.farm.entities.crops_and_weeds import Drivers
from harvestgym.farm.entities.response import expglm, power

from .parameters import Bloom


def noisy_rate(rate: Array, variance: Array, uniform: Array) -> Array:
    """Compute r_t of eqs. (6), (17) and (21): the rate plus Gaussian noise, never negative."""
    return jnp.maximum(rate + jnp.sqrt(variance) * normal(uniform), 0.0)


def logistic_step(value: Array, rate: Array, ceiling: Array) -> Array:
    """Grow `value` towards the ceiling for a day, by eqs. (6) and (17); 0 stays 0, so growth needs an initial value.

    At a constant rate the solution is ceiling * tanh(t * rate / (2 sqrt(ceiling)))^2. A value above the ceiling does
    not change.
    """
    grown = value + rate * (1 - value / ceiling) * power(value, 0.5)
    return jnp.maximum(value, jnp.minimum(grown, ceiling))


def growth_span(start: Array, end: Array, share: Array) -> Array:
    """Return the sum of rates in eq. (6) or (17) that takes a plant from `start` to this share of `end`.

    It is the inverse of the solution in `logistic_step`. Multiplied by the fraction of the stage that passes in a day,
    it gives the rate of an unstressed plant, which therefore reaches the share at the end of its stage, in any climate.
    """
    first = jnp.minimum(start / end, 0.9 * share)
    return 2 * jnp.sqrt(end) * (jnp.arctanh(jnp.sqrt(share)) - jnp.arctanh(jnp.sqrt(first)))


def refused_share(refused: Array, needed: Array) -> Array:
    """Return the fraction of a need that was not met (0 to 1); 0 where nothing was needed."""
    return jnp.where(needed > 0, jnp.minimum(refused / jnp.where(needed > 0, needed, 1.0), 1.0), 0.0)


LEAST_RESPONSE = 1e-3
"""Lower limit on fractions before taking the logarithm, which keeps the logarithm finite."""


def minus_log(share: Array) -> Array:
    """Return the exponent for which the response equals this fraction (0 to 1)."""
    return -jnp.log(jnp.maximum(share, LEAST_RESPONSE))


def pollination(bloom: Bloom, drivers: Drivers) -> Array:
    """Return the chance that a flower is pollinated today: p = sum w p of eq. (11), by eqs. (12) and (13).

    The paper's weighted sum of three binomials is not an integer; a single binomial with the mean probability is.
    """
    chances = (bloom.auto_success, expglm(bloom.wind, **drivers), expglm(bloom.insects, **drivers))
    mixed = sum(w * p for w, p in zip(bloom.rates, chances, strict=True))
    return mixed / jnp.maximum(jnp.sum(bloom.rates), 1e-6)


def kept_fruits(fruits: Array, share: Array) -> Array:
    """Return the number of fruits left by eq. (21), whose "factor" of decrease is the remaining fraction (0 to 1)."""
    return jnp.floor(fruits * jnp.minimum(share, 1.0)).astype(jnp.int32)


def vapour_pressure(temperature: Array) -> Array:
    """Compute the saturation vapour pressure, in kPa (FAO-56 eq. 11)."""
    return 0.6108 * jnp.exp(17.27 * temperature / (temperature + 237.3))


def least_humidity(humidity: Array, t_mean: Array, t_max: Array) -> Array:
    """Compute RH_min, in %, assuming that the day's mean vapour pressure persists into its warmest hour."""
    return humidity * vapour_pressure(t_mean) / vapour_pressure(t_max)


REFERENCE_CO2 = 369.41
"""Carbon dioxide, in ppm, for which the parameters of growth and transpiration hold: Mauna Loa, 2000."""


def carbon_gain(co2: Array, response: Array) -> Array:
    """Return growth per unit of light, divided by its value at `REFERENCE_CO2`: 1.23 at 550 ppm, 1.56 at 1000.

    AquaCrop (Steduto et al. 2009, Agronomy Journal 101, 426-437; FAO reference manual, chapter 3), with its
    coefficient from free-air experiments: (c/c_0) / (1 + 0.001165 (c - c_0)). `response` is the share of this gain
    that the crop has: 1 for C3 plants, about a third for C4.
    """
    return 1 + response * (co2 / REFERENCE_CO2 / (1 + 0.001165 * (co2 - REFERENCE_CO2)) - 1)


def stomatal_saving(co2: Array) -> Array:
    """Return transpiration, divided by its value at `REFERENCE_CO2`: 5 % less at 550 ppm, linear, as in AquaCrop."""
    return 1 - 0.05 * (co2 - REFERENCE_CO2) / (550 - REFERENCE_CO2)


def crop_coefficient(alpha_0: Array, alpha_1: Array, height: Array, wind: Array, least_humidity: Array) -> Array:
    """Compute K_t of section 4.2.7, which is FAO-56 eq. (70) with a basal coefficient that increases with height.

    As in FAO-56, but not in the paper, wind is in m/s at 2 m and clipped to 1 to 6, humidity is the day's minimum in %
    and clipped to 20 to 80, and K_t multiplies ET_0 without a division by 100. Height is in cm.
    """
    wind, humid = jnp.clip(wind, 1.0, 6.0), jnp.clip(least_humidity, 20.0, 80.0)
    air = 0.04 * (wind - 2) - 0.004 * (humid - 45)
    return jnp.maximum(alpha_0 + alpha_1 * height + air * power(height / 300, 0.3), 0.0)


def choose(cases: Sequence[tuple[Array, Any]], otherwise: Any) -> Array:
    """Select elementwise the value of the first case `(condition, value)` that holds, or `otherwise`.

    This replaces `jnp.select`, and `largest` replaces `argmax`: on a CPU, they would take longer than the rest of
    a day.
    """
    found = jnp.asarray(otherwise)
    for holds, value in reversed(cases):
        found = jnp.where(holds, value, found)
    return found


def by_stage(stage: Array, values: Mapping[Any, Any], otherwise: Any) -> Array:
    """Select on each plot the value of its stage, or `otherwise` for a stage without one."""
    return choose([(stage == of, value) for of, value in values.items()], otherwise)


def largest(rows: Sequence[Array]) -> tuple[Array, Array]:
    """Return elementwise the index (int32) of the largest array, the first if equal, and its value."""
    best = jnp.asarray(rows[0])
    at = jnp.zeros(best.shape, jnp.int32)
    for i, row in enumerate(rows[1:], start=1):
        more = row > best
        best, at = jnp.where(more, row, best), jnp.where(more, i, at)
    return at, best
