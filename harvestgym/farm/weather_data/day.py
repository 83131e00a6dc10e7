"""A day of weather, in the units of the formulas; arrays of days have the same fields."""

from __future__ import annotations

from typing import Any, NamedTuple

YEAR = 365
"""Days in a year of the farm: without 29 February, so that a day number is the same date every year."""


class Day(NamedTuple):
    """The weather of a day (scalars) or of n days (arrays of shape (n,)), float32.

    Attributes:
        t_min, t_max, t_mean: air temperature, degC; t_min <= t_mean <= t_max.
        humidity: mean relative humidity, % in [0, 100].
        wind: mean wind speed 2 m above the ground, m/s.
        rain: rain of the day, mm; or 1 on a day with rain and 0 without, if the table has flags only.
    """

    t_min: Any
    t_max: Any
    t_mean: Any
    humidity: Any
    wind: Any
    rain: Any
