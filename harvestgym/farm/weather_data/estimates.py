"""Quantities computed from others, gaps in a record, and estimates that fill them, as FAO-56 recommends."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .columns import QUANTITIES

USUAL_WIND = 2.0
"""Wind in m/s at 2 m for a station that does not record it (FAO-56, chapter 3: the mean of over 2000 stations)."""


def derive_quantities(found: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return Tmin, Tmax, T, RH, U and Rain; NaN where a value is not measured and cannot be computed from others.

    T is the mean of the extremes (FAO-56 eq. 9). RH is the mean of its extremes, or is computed from the dew point or
    the vapour pressure (eqs. 14 and 12).
    """
    of = dict.fromkeys(QUANTITIES, np.full_like(found["Tmin"], np.nan)) | dict(found)
    low, high, humidity = of["Tmin"], of["Tmax"], of["RH"]
    pressures = (compute_humidity(each, low, high) for each in (saturation_pressure(of["Tdew"]), of["VAP"]))
    for other in ((of["RHmax"] + of["RHmin"]) / 2, *pressures):
        humidity = np.where(np.isnan(humidity), other, humidity)
    return low, high, np.where(np.isnan(of["T"]), (low + high) / 2, of["T"]), humidity, of["U"], of["Rain"]


def compute_humidity(pressure: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the relative humidity, in %, for a vapour pressure, in kPa, on a day with these extreme temperatures."""
    return np.minimum(200 * pressure / (saturation_pressure(low) + saturation_pressure(high)), 100)


def saturation_pressure(temperature: np.ndarray) -> np.ndarray:
    """Return the saturation vapour pressure, in kPa (FAO-56 eq. 11)."""
    return 0.6108 * np.exp(17.27 * temperature / (temperature + 237.3))


def fill_days(days: np.ndarray) -> np.ndarray:
    """Fill the missing values of (6, n) days from 1 January.

    Temperatures are interpolated. Days without a value for rain are assumed dry. Humidity is estimated with Tmin as
    the dew point (eq. 48). Wind is set to the mean of the month, or to `USUAL_WIND` if it is not recorded.
    """
    low, high, mean, humidity, wind, rain = days
    both = np.isnan(low) | np.isnan(high)
    low, high = (_interpolate(np.where(both, np.nan, values)) for values in (low, high))
    mean = np.where(np.isnan(mean) | both, (low + high) / 2, mean)
    humidity = np.where(np.isnan(humidity), compute_humidity(saturation_pressure(low), low, high), humidity)
    month = np.arange(len(rain)) % 365 * 12 // 365
    means = [of[~np.isnan(of)] for of in (wind[month == m] for m in range(12))]
    usual = np.array([of.mean() if len(of) else USUAL_WIND for of in means])[month]
    return np.stack([low, high, mean, humidity, np.where(np.isnan(wind), usual, wind), np.nan_to_num(rain)])


def _interpolate(values: np.ndarray) -> np.ndarray:
    known = np.flatnonzero(~np.isnan(values))
    return np.interp(np.arange(len(values)), known, values[known])


def longest_run(years: list[int]) -> list[int]:
    """Return the longest run of consecutive years; if two runs are equally long, the later one."""
    runs = np.split(years, np.flatnonzero(np.diff(years) != 1) + 1)
    return max(reversed(runs), key=len).tolist()
