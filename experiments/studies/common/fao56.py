"""FAO-56 on its own: reference and crop evapotranspiration from a weather record, independent of the farm's laws.

Penman-Monteith (eq. 6) with radiation estimated from temperatures (eq. 50), and the crop coefficients of chapters 6 and
7 over a season. Allen, Pereira, Raes and Smith (1998), FAO Irrigation and Drainage Paper 56. NumPy only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

INLAND = 0.16
"""k_Rs of eq. (50)."""

ALBEDO = 0.23
STEFAN_BOLTZMANN = 4.903e-9


def vapour_pressure(temperature: np.ndarray) -> np.ndarray:
    """Saturation vapour pressure, kPa (eq. 11)."""
    return 0.6108 * np.exp(17.27 * temperature / (temperature + 237.3))


def actual_vapour(t_min: np.ndarray, t_max: np.ndarray, humidity: np.ndarray) -> np.ndarray:
    """Vapour pressure, kPa, at a mean relative humidity, % (eq. 19)."""
    return humidity / 100 * (vapour_pressure(t_min) + vapour_pressure(t_max)) / 2


def extraterrestrial(latitude: float, day: np.ndarray) -> np.ndarray:
    """R_a, MJ.m-2.day-1 (eqs. 21 to 25), between the polar circles."""
    phi, angle = np.radians(latitude), 2 * np.pi * day / 365
    declination = 0.409 * np.sin(angle - 1.39)
    sunset = np.arccos(-np.tan(phi) * np.tan(declination))
    up = sunset * np.sin(phi) * np.sin(declination) + np.cos(phi) * np.cos(declination) * np.sin(sunset)
    return 24 * 60 / np.pi * 0.0820 * (1 + 0.033 * np.cos(angle)) * up


def solar(t_min: np.ndarray, t_max: np.ndarray, latitude: float, day: np.ndarray) -> np.ndarray:
    """R_s, MJ.m-2.day-1, from the temperature range (eq. 50), at most the radiation of a clear sky near sea level."""
    spread = np.sqrt(np.maximum(t_max - t_min, 0.0))
    return np.minimum(INLAND * spread, 0.75) * extraterrestrial(latitude, day)


def reference(
    t_min: np.ndarray, t_max: np.ndarray, humidity: np.ndarray, wind: np.ndarray, radiation: np.ndarray,
    clear: np.ndarray, pressure: float = 101.3,
) -> np.ndarray:  # fmt: skip
    """ET_0, mm.day-1, by Penman-Monteith (eq. 6).

    Args:
        t_min, t_max: degC.
        humidity: mean, %.
        wind: m/s at 2 m.
        radiation: R_s, MJ.m-2.day-1.
        clear: radiation of a clear sky, R_so.
        pressure: air pressure, kPa.
    """
    mean, actual = (t_min + t_max) / 2, actual_vapour(t_min, t_max, humidity)
    slope = 4098 * vapour_pressure(mean) / (mean + 237.3) ** 2
    gamma = 0.665e-3 * pressure
    kelvin = ((t_max + 273.16) ** 4 + (t_min + 273.16) ** 4) / 2
    cloud = 1.35 * np.minimum(radiation / clear, 1.0) - 0.35
    net = (1 - ALBEDO) * radiation - STEFAN_BOLTZMANN * kelvin * (0.34 - 0.14 * np.sqrt(actual)) * cloud
    deficit = (vapour_pressure(t_min) + vapour_pressure(t_max)) / 2 - actual
    energy, air = 0.408 * slope * net, gamma * 900 / (mean + 273) * wind * deficit
    return np.maximum((energy + air) / (slope + gamma * (1 + 0.34 * wind)), 0.0)


def coefficients(length: int, stages: Sequence[float], values: Sequence[float]) -> np.ndarray:
    """Compute the crop coefficient for `length` days: the curve of figure 34, with its stages stretched to this length.

    Args:
        length: number of days in the season.
        stages: lengths of the initial, development, mid-season and late stages.
        values: crop coefficients in the initial stage, in the mid-season stage and at the end of the season.
    """
    ends = np.cumsum([0, *stages]) / np.sum(stages) * length
    initial, middle, end = values
    return np.interp(np.arange(length) + 0.5, ends, [initial, initial, middle, middle, end])
