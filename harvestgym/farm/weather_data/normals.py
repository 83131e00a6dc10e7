"""Monthly normals: the climate of a site as a short table, given or computed from days; and rain amounts."""

from __future__ import annotations

import functools
import math
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from harvestgym.core.config import Strict
from harvestgym.core.errors import mismatch
from harvestgym.farm.weather_data.table import YEAR, Day

WET = 0.1
"""Minimum rain, in mm, on a wet day; a wet day that is not rainy has drizzle."""
RAINY = 1.0
"""Minimum rain, in mm, on a rainy day; rainy days are more humid and windier and have a smaller temperature range."""
FEWEST_DAYS = 8
"""A month with fewer wet or rainy days is pooled with both its neighbours for statistics about the following day."""
FEWEST_RAINY = 4
"""A month with fewer rainy days is pooled with both its neighbours for the effect of rain on temperatures."""
FEWEST_YEARS = 4
"""Minimum number of years from which the difference between years is computed."""
LASTING = 0.03
"""Fraction of the variance of temperatures that lasts for months, if it cannot be computed: between
0.06 in Seattle (4 years) and 0.01 in Maricopa, Arizona (18 years)."""
NODES = 89
REACH = 5.5
"""Standard normal value at the last node of rain amounts; at the first node, minus this value.

The values for float32 uniforms in [0, 1) stay below 5.42.
"""
MONTH_LENGTHS = np.array((31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31))
MONTH_STARTS = np.cumsum(MONTH_LENGTHS) - MONTH_LENGTHS

_Positive = Annotated[float, Field(gt=0)]
_Share = Annotated[float, Field(gt=-1, lt=1)]
_Twelve = Field(min_length=12, max_length=12)
Months = Annotated[tuple[float, ...], _Twelve]
MonthlyShares = Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], _Twelve]
Positives = Annotated[tuple[_Positive, ...], _Twelve]


class Lag(Strict):
    """Correlation of a departure from the season with the previous day's departure."""

    t_min: _Share
    t_max: _Share
    t_mean: _Share
    humidity: _Share
    wind: _Share


class Correlation(Strict):
    """Correlation between two variables' departures from their seasonal means on the same day."""

    t_min_t_max: _Share
    t_mean_humidity: _Share


class RainyMinusDry(Strict):
    """Difference between rainy days (1 mm or more) and other days: monthly for temperatures, yearly for the rest.

    Monthly differences compare days of the same season; yearly ones include the difference between rainy and dry
    seasons.
    """

    t_min: Months
    t_max: Months
    humidity: float
    wind: float


class Normals(Strict):
    """The climate of a site: twelve monthly figures per variable, January first, and a few for the whole year.

    Temperatures are in degC, humidity in %, rain in mm. `wind * wind_factor` is the daily mean at 2 m in m/s, so that
    wind may be given as measured. `wet` and `rainy` are the fractions of days with at least 0.1 mm and at least 1 mm;
    `wet_after_wet` is the fraction of wet days among the days after a wet day, and `rainy_after_rainy` likewise for
    rainy days. `rain_shape` is the shape of the gamma distribution of amounts on rainy days, mean**2 / variance.
    `lasting` is the fraction of the variance of temperatures that lasts for months and makes years differ.
    """

    t_min: Months
    t_min_sd: Positives
    t_max: Months
    t_max_sd: Positives
    t_mean: Months
    humidity: Months
    humidity_sd: Positives
    wind: Positives
    wind_sd: Positives
    wind_factor: _Positive = 1.0
    wet: MonthlyShares
    wet_after_wet: MonthlyShares
    rainy: MonthlyShares
    rainy_after_rainy: MonthlyShares
    rain_per_rainy_day: Annotated[tuple[Annotated[float, Field(gt=RAINY)], ...], _Twelve]
    rain_shape: Positives
    lag: Lag
    correlation: Correlation
    rainy_minus_dry: RainyMinusDry
    lasting: Annotated[float, Field(ge=0, le=0.5)] = LASTING
    source: str | None = None


class Calendar(NamedTuple):
    """Calendar data for each day of the year: its month (0 to 11) and the mid-months before and after it.

    A smooth value for a day is (1 - weight) * node[before] + weight * node[after].
    """

    month: np.ndarray
    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray


@functools.cache
def calendar() -> Calendar:
    """Return the calendar of the 365-day year; arrays of shape (365,), day 1 first."""
    month = np.repeat(np.arange(12), MONTH_LENGTHS)
    position = month + (np.arange(YEAR) + 0.5 - MONTH_STARTS[month]) / MONTH_LENGTHS[month] - 0.5
    before = np.floor(position).astype(np.int32)
    weight = (position - before).astype(np.float32)
    return Calendar(month.astype(np.int32), before % 12, (before + 1) % 12, weight)


def measure_normals(days: Day, start_day: int = 1) -> Normals:
    """Compute the normals of consecutive days of weather, ideally whole years; the first day is `start_day`.

    Departures from the season are differences from a yearly sine fitted to all days. A month with fewer than eight wet
    or rainy days is pooled with its neighbours for the fractions after such days and for the shape, and a month with
    fewer than four rainy days for the effect of rain on temperatures. Raises ConfigError if a month has no days.
    """
    columns = {name: np.asarray(values, np.float64) for name, values in days._asdict().items()}
    day = (start_day - 1 + np.arange(len(columns["rain"]))) % YEAR
    month = calendar().month[day]
    if len(np.unique(month)) < 12:
        raise mismatch("", "days of every month to compute normals", f"{len(np.unique(month))} months")
    average = {n: tuple(v[month == m].mean() for m in range(12)) for n, v in columns.items()}
    sd = {n: tuple(max(v[month == m].std(), 1e-3) for m in range(12)) for n, v in columns.items()}
    off = {n: departure(v, day) for n, v in columns.items()}
    monthly = {n: average[n] for n in ("t_min", "t_max", "t_mean", "humidity")}
    monthly |= {f"{n}_sd": sd[n] for n in ("t_min", "t_max", "humidity", "wind")}
    monthly |= {"wind": tuple(max(w, 1e-3) for w in average["wind"])} | _rain(columns["rain"], month)
    return Normals(
        **monthly,  # pyright: ignore[reportArgumentType]
        lag=Lag(**{n: _correlation(off[n][:-1], off[n][1:]) for n in Lag.model_fields}),
        correlation=Correlation(
            t_min_t_max=_correlation(off["t_min"], off["t_max"]),
            t_mean_humidity=_correlation(off["t_mean"], off["humidity"]),
        ),
        rainy_minus_dry=_rainy_minus_dry(columns, off, month),
        lasting=_lasting_share(off["t_mean"]),
    )


def departure(values: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Return the residuals of a yearly sine fitted to the values; `day` is the day of the year of each row, from 0."""
    angle = 2 * np.pi * day / YEAR
    season = np.stack((np.ones_like(angle), np.cos(angle), np.sin(angle)), axis=1)
    return values - season @ np.linalg.lstsq(season, values, rcond=None)[0]


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation, or 0 if one of the arrays does not vary."""
    scale = a.std() * b.std()
    if scale < 1e-9:
        return 0.0
    return float(np.clip(((a - a.mean()) * (b - b.mean())).mean() / scale, -0.99, 0.99))


def _rainy_minus_dry(columns: dict[str, np.ndarray], off: dict[str, np.ndarray], month: np.ndarray) -> RainyMinusDry:
    rainy = columns["rain"] >= RAINY
    both = rainy.any() and not rainy.all()
    yearly = {n: columns[n][rainy].mean() - columns[n][~rainy].mean() if both else 0.0 for n in ("humidity", "wind")}
    unusual = rainy - np.array([rainy[month == m].mean() for m in range(12)])[month]
    chosen = [_enough(rainy, month, m, FEWEST_RAINY) for m in range(12)]
    monthly = {n: tuple(_slope(off[n][days], unusual[days]) for days in chosen) for n in ("t_min", "t_max")}
    return RainyMinusDry(**monthly, **yearly)  # pyright: ignore[reportArgumentType]


def _slope(values: np.ndarray, driver: np.ndarray) -> float:
    """Return the slope of the regression on a driver of mean 0; for rain, the mean of rainy days minus other days."""
    return float((values * driver).sum() / max((driver**2).sum(), 1e-9))


def _lasting_share(off: np.ndarray) -> float:
    """Return how much years vary beyond what independent spells explain, as a fraction of the variance of days."""
    years = len(off) // YEAR
    if years < FEWEST_YEARS:
        return LASTING
    lag = _correlation(off[:-1], off[1:])
    spells = (1 + lag) / (1 - lag) / YEAR
    between = off[: years * YEAR].reshape(years, YEAR).mean(axis=1).var(ddof=1) / max(off.var(), 1e-9)
    return float(np.clip((between - spells) / (1 - spells), 0.0, 0.5))


def _rain(rain: np.ndarray, month: np.ndarray) -> dict[str, tuple[float, ...]]:
    wet, rainy = rain >= WET, rain >= RAINY
    own = [month == m for m in range(12)]
    amounts = [rain[_enough(rainy, month, m) & rainy] for m in range(12)]
    return {
        "wet": tuple(wet[m].mean() for m in own),
        "rainy": tuple(rainy[m].mean() for m in own),
        "wet_after_wet": tuple(_again(wet, _enough(wet, month, m)) for m in range(12)),
        "rainy_after_rainy": tuple(_again(rainy, _enough(rainy, month, m)) for m in range(12)),
        "rain_per_rainy_day": tuple(_mean_amount(rain[m & rainy]) for m in own),
        "rain_shape": tuple(_gamma_shape(a) for a in amounts),
    }


def _enough(happens: np.ndarray, month: np.ndarray, m: int, fewest: int = FEWEST_DAYS) -> np.ndarray:
    """Select the days of month `m`, and of both neighbouring months if `happens` is true on too few of them."""
    own = month == m
    return own if happens[own].sum() >= fewest else np.isin(month, ((m - 1) % 12, m, (m + 1) % 12))


def _again(happens: np.ndarray, chosen: np.ndarray) -> float:
    """Return the fraction of chosen days with `happens` true on which it is also true the next day."""
    after = happens[1:][chosen[1:] & happens[:-1]]
    return float(after.mean()) if after.size else 0.0


def _mean_amount(amounts: np.ndarray) -> float:
    """Return the mean amount, at least slightly above `RAINY`; in a month without rainy days, it has no effect."""
    return max(float(amounts.mean()), 1.001 * RAINY) if amounts.size else 2 * RAINY


def _gamma_shape(amounts: np.ndarray) -> float:
    """Estimate the shape by the method of moments; 1 if there are too few days."""
    return float(amounts.mean() ** 2 / max(amounts.var(), 1e-3)) if amounts.size > 1 else 1.0


def gamma_cdf(shape: float, x: np.ndarray) -> np.ndarray:
    """Return P(X <= x) for a gamma distribution with scale 1, by the power series of the incomplete gamma function."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    for n in range(1, int(2 * x.max() + 60)):
        term = term * x / (shape + n)
        total += term
    return np.exp(shape * np.log(x) - x - math.lgamma(shape + 1)) * total


def gamma_quantiles(shape: float) -> np.ndarray:
    """Return the quantiles of a gamma distribution with scale 1 at the nodes; (NODES,)."""
    top = shape + 6 * math.sqrt(shape) + 20  # the probability above it is less than 1e-9
    x = np.geomspace(1e-8, top, 4000)
    uniforms = [math.erfc(-z / math.sqrt(2)) / 2 for z in np.linspace(-REACH, REACH, NODES)]
    return np.interp(uniforms, gamma_cdf(shape, x), x, left=0.0)


def amount_quantiles(mean: float, shape: float, least: float) -> np.ndarray:
    """Return amounts (mm) at the nodes: `least` plus a gamma variable, with mean `mean` and variance mean**2 / shape.

    The generator interpolates this table, so a rainy day needs one uniform number, and no rejection loop or key. The
    nodes are evenly spaced in the standard normal that corresponds to that number.
    """
    above = mean - least
    shape_above = shape * (above / mean) ** 2
    return least + gamma_quantiles(shape_above) * above / shape_above
