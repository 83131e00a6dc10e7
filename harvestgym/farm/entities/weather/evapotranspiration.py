"""Radiation, and reference evapotranspiration from temperature, humidity and wind, by eqs. (23) to (25)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from harvestgym.farm.entities.response import power

SOLAR_CONSTANT = 0.0820  # MJ/m2/min
INLAND_COEFFICIENT = 0.16
"""The coefficient k_Rs of FAO-56 eq. (50) for locations away from the coast."""
CLEAR_SKY = 0.75
"""Fraction of the extraterrestrial radiation that reaches the ground under a clear sky (FAO-56 eq. 37)."""
POLE = 89.99
"""Latitude used for a pole, in degrees: at 90, the float32 tangent has the wrong sign, so it would always be night."""


def extraterrestrial_radiation(latitude: Any, day: Any) -> Array:
    """Compute R_A of eqs. (24) and (25), MJ/m2/day, at a latitude in degrees (north positive) on a day of the year.

    If the sun does not set, the sunrise hour angle is pi; if it does not rise, it is 0.
    """
    nearness = 1 + 0.033 * jnp.cos(2 * jnp.pi * jnp.asarray(day, jnp.float32) / 365)
    phi, declination, sunrise = _sun(latitude, day)
    high = sunrise * jnp.sin(phi) * jnp.sin(declination)
    low = jnp.cos(phi) * jnp.cos(declination) * jnp.sin(sunrise)
    return jnp.maximum(24 * 60 / jnp.pi * SOLAR_CONSTANT * nearness * (high + low), 0.0)


def compute_daylength(latitude: Any, day: Any) -> Array:
    """Compute the hours from sunrise to sunset (FAO-56 eq. 34); 24 if the sun does not set, 0 if it does not rise."""
    return 24 / jnp.pi * _sun(latitude, day)[2]


def solar_radiation(t_min: Any, t_max: Any, extraterrestrial: Any) -> Array:
    """Compute R_s, MJ/m2/day: the part of R_A that reaches the ground, from the temperature range (FAO-56 eq. 50).

    It is limited to the radiation under a clear sky near sea level (FAO-56 eq. 37). In the paper, crops ignore light.
    """
    spread = jnp.maximum(jnp.asarray(t_max, jnp.float32) - t_min, 0.0)
    return jnp.minimum(INLAND_COEFFICIENT * power(spread, 0.5), CLEAR_SKY) * extraterrestrial


def _sun(latitude: Any, day: Any) -> tuple[Array, Array, Array]:
    """Return the latitude, the declination and the sunrise hour angle, in rad."""
    angle = 2 * jnp.pi * jnp.asarray(day, jnp.float32) / 365
    phi = jnp.deg2rad(jnp.clip(jnp.asarray(latitude, jnp.float32), -POLE, POLE))
    declination = 0.409 * jnp.sin(angle - 1.39)
    return phi, declination, _sunrise(-jnp.tan(phi) * jnp.tan(declination))


def _sunrise(cosine: Array) -> Array:
    """Compute arccos so that its value and gradient stay finite if there is no sunrise."""
    rises = jnp.abs(cosine) < 1
    angle = jnp.arccos(jnp.where(rises, cosine, 0.0))
    return jnp.where(rises, angle, jnp.where(cosine < 0, jnp.pi, 0.0))


def reference_evapotranspiration(
    t_min: Any, t_max: Any, t_mean: Any, humidity: Any, wind: Any, radiation: Any
) -> Array:
    """Compute ET_0 of eq. (23), in mm/day (L/m2/day), never negative.

    Temperatures in degC, humidity in %, wind in m/s at 2 m, radiation (R_A) in MJ/m2/day. The coefficient is 0.0118, as
    in Valiantzas (2018, Agricultural Water Management, doi 10.1016/j.agwat.2018.06.028); with 0.018, as printed in the
    paper, the result exceeds the FAO-56 Penman-Monteith value by half. The paper's T = (Tmax + Tmin) / 2 estimates the
    mean temperature; weather tables contain the mean itself. Negative numbers under roots (for a mean below -10 degC)
    are set to zero.
    """
    dryness = jnp.clip((100 - jnp.asarray(humidity, jnp.float32)) / 100, 0.0, 1.0)  # 0 at 100 %, regardless of rounding
    spread = jnp.asarray(t_max, jnp.float32) - t_min
    warmth = jnp.asarray(t_mean, jnp.float32)
    sunlit = 0.0118 * power(dryness, 0.2) * power(spread, 0.3) * (radiation * power(warmth + 10, 0.5) - 40)
    windy = 0.1 * (warmth + 20) * dryness * power(jnp.asarray(wind, jnp.float32) / 2, 0.6)
    return jnp.maximum(sunlit + windy, 0.0)
