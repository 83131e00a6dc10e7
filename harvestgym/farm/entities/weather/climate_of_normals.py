"""Conversion of monthly normals to generator parameters: levels, spreads, persistence and rain tables.

The monthly figures include effects that other parts of the model would add again, so these effects are removed first.
The standard deviations include the seasonal trend within the month and the difference between rainy and other days. The
correlations include the departure of the seasons from a sine, and the effect of rain, which persists. The differences
in humidity and wind between rainy and other days include the difference between their seasons. The remainder is
Gaussian; for temperatures, part of its variance lasts for months.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import mismatch
from harvestgym.farm.weather_data.normals import (
    MONTH_LENGTHS,
    MONTH_STARTS,
    RAINY,
    Normals,
    amount_quantiles,
    calendar,
    departure,
)
from harvestgym.farm.weather_data.table import YEAR

from .day_source import LATENT, Climate

LEAST_SHARE = 0.1
"""The minimum fraction of a variance that is Gaussian, even if season and rain explain all of it."""


class _Parts(NamedTuple):
    """Statistics derived from the normals: (12, 4) monthly values, and (4, 4) covariance matrices of the year."""

    rainy: np.ndarray
    spread: np.ndarray
    total: np.ndarray  # standard deviations of departures from a sine, (4,)
    rain: np.ndarray  # covariance that rain explains
    rain_next: np.ndarray  # the same, from one day to the next
    season: np.ndarray  # covariance of the season's departure from a sine


def compute_climate(normals: Normals) -> Climate:
    """Return the parameters of the generator; raise ConfigError if the lags and correlations contradict each other."""
    parts = _parts(normals)
    lasting = np.sqrt(normals.lasting) * np.array((1, 1, 0, 0))
    carry, shock, start = _persistence(normals, parts, lasting)
    unit = np.array((1, 1, 1, normals.wind_factor))
    gammas = zip(normals.rain_per_rainy_day, normals.rain_shape, strict=True)
    arrays = {
        "chances": _chances(normals),
        "amounts": np.stack([amount_quantiles(mean, shape, RAINY) for mean, shape in gammas]),
        "level": _levels(normals, parts.rainy) * (*unit, 1),
        "rainy": parts.rainy * unit,
        "spread": parts.spread * unit,
        "carry": carry,
        "shock": shock,
        "start": start,
        "lasting": lasting,
    }
    return Climate(**{name: jnp.asarray(array, jnp.float32) for name, array in arrays.items()})


def _columns(normals: Normals, suffix: str = "") -> np.ndarray:
    return np.stack([getattr(normals, name + suffix) for name in LATENT], axis=1)


def _chances(normals: Normals) -> np.ndarray:
    """Return P(wet) and P(rainy) after each state, which reproduce both Markov chains of the normals; (12, 4, 2).

    Two chains of two states do not determine all of these probabilities. Assumptions: a wet day is equally likely to be
    rainy after a dry day and after drizzle, and is as likely after drizzle as after rain if the figures allow it.
    """
    wet, again = np.array(normals.wet), np.array(normals.wet_after_wet)
    rainy, rainy_again = np.array(normals.rainy), np.array(normals.rainy_after_rainy)
    drizzle = np.maximum(wet - rainy, 0.0)
    after_dry = np.minimum(_ratio(wet * (1 - again), 1 - wet), 1.0)
    after_rain = np.maximum(again, rainy_again)
    after_drizzle = np.clip(_ratio(wet * again - rainy * after_rain, drizzle), 0.0, 1.0)
    onset = rainy * (1 - rainy_again)
    share = np.minimum(_ratio(onset, (1 - wet) * after_dry + drizzle * after_drizzle), 1.0)
    either = np.stack((after_dry, after_drizzle, after_rain, wet), axis=1)
    rain = np.stack((share * after_dry, share * after_drizzle, rainy_again, rainy), axis=1)
    return np.stack((either, rain), axis=2)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-9)


def _parts(normals: Normals) -> _Parts:
    curve = _smooth() @ _nodes(_columns(normals))
    variance = _columns(normals, "_sd") ** 2
    seasonal = _by_month(curve**2) - _by_month(curve) ** 2
    within = np.maximum(variance - seasonal, LEAST_SHARE * variance)
    sine_off = departure(curve, np.arange(YEAR))
    season = sine_off.T @ sine_off / YEAR
    share = np.array(normals.rainy)
    damp = within[:, 2:]
    shift = _rainy_shift(normals, share) * np.sqrt(damp / damp.mean(axis=0))
    rainy = np.column_stack((normals.rainy_minus_dry.t_min, normals.rainy_minus_dry.t_max, shift))
    explained = (share * (1 - share))[:, None] * rainy**2
    spread = np.sqrt(np.maximum(within - explained, LEAST_SHARE * within))
    total = np.sqrt(within.mean(axis=0) + np.diag(season))
    same = (rainy * (share * (1 - share))[:, None]).T @ rainy / 12
    again = (rainy * (share * (np.array(normals.rainy_after_rainy) - share))[:, None]).T @ rainy / 12
    return _Parts(rainy, spread, total, same, again, season)


def _rainy_shift(normals: Normals, share: np.ndarray) -> np.ndarray:
    """Return the effect of rain within a season on humidity and wind; (2,)."""
    often, apart = share.mean(), (share * (1 - share)).mean()
    if apart < 1e-9:
        return np.zeros(2)
    by_season = (share / often - (1 - share) / (1 - often)) @ _columns(normals)[:, 2:] / 12
    stated = normals.rainy_minus_dry
    return (np.array((stated.humidity, stated.wind)) - by_season) * often * (1 - often) / apart


def _levels(normals: Normals, rainy: np.ndarray) -> np.ndarray:
    means = _columns(normals) - np.array(normals.rainy)[:, None] * rainy
    offset = np.array(normals.t_mean) - (np.array(normals.t_min) + np.array(normals.t_max)) / 2
    return _nodes(np.column_stack((means, offset)))


def _smooth() -> np.ndarray:
    """Return the weight of each of the twelve mid-month nodes in the value of each day; (365, 12)."""
    at, identity = calendar(), np.eye(12)
    return (1 - at.weight)[:, None] * identity[at.before] + at.weight[:, None] * identity[at.after]


def _by_month(daily: np.ndarray) -> np.ndarray:
    return np.add.reduceat(daily, MONTH_STARTS) / MONTH_LENGTHS[:, None]


def _nodes(means: np.ndarray) -> np.ndarray:
    """Return mid-month values whose linear interpolation has exactly these monthly means; (12, n)."""
    return np.linalg.solve(_by_month(_smooth()), means)


def _persistence(normals: Normals, parts: _Parts, lasting: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first-order autoregression matrices (Matalas 1967) of the Gaussian part without the lasting anomaly.

    The two parts together have unit variances.
    """
    same, following = _stated_covariances(normals, parts)
    today = same - parts.season - parts.rain
    today[3, :3] = today[:3, 3] = 0.0  # wind is correlated with the others only through season and rain
    tomorrow = following - parts.season - parts.rain_next
    np.fill_diagonal(today, np.maximum(np.diag(today), LEAST_SHARE * parts.total**2))
    scale = np.sqrt(np.diag(today))
    today, tomorrow = today / np.outer(scale, scale), tomorrow / np.outer(scale, scale)
    tomorrow[3, :3] = tomorrow[:3, 3] = 0.0
    today, tomorrow = today - np.outer(lasting, lasting), tomorrow - np.outer(lasting, lasting)
    try:
        carry = tomorrow @ np.linalg.inv(today)
        shock = np.linalg.cholesky(today - carry @ tomorrow.T)
        return carry, shock, np.linalg.cholesky(today)
    except np.linalg.LinAlgError:
        got = f"{normals.lag!r}, {normals.correlation!r}"
        raise mismatch("normals", "consistent correlations and lags of temperatures", got) from None


def _stated_covariances(normals: Normals, parts: _Parts) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariances of the four departures, on the same day and from one day to the next.

    Humidity has the same correlation with t_max as with t_min. The lagged correlation of two variables is their
    correlation times the geometric mean of their lags, except for t_min and t_max, where the lag of t_mean implies it.
    """
    low, high, _, _ = parts.total
    stated, lag = normals.correlation, normals.lag
    doubled = low**2 + high**2 + 2 * stated.t_min_t_max * low * high  # variance of t_min + t_max
    same = np.eye(4)
    same[0, 1] = same[1, 0] = stated.t_min_t_max
    same[:2, 2] = same[2, :2] = stated.t_mean_humidity * np.sqrt(doubled) / (low + high)
    lags = np.array([getattr(lag, n) for n in LATENT])
    following = same * np.sqrt(np.maximum(np.outer(lags, lags), 0.0))
    np.fill_diagonal(following, lags)
    own = lag.t_min * low**2 + lag.t_max * high**2
    following[0, 1] = following[1, 0] = (lag.t_mean * doubled - own) / (2 * low * high)
    scale = np.outer(parts.total, parts.total)
    return same * scale, following * scale
