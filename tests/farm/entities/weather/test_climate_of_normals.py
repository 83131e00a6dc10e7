"""The generator's parameters against the normals that they come from: what they imply is what the normals state.

Nothing is simulated: means, variances, covariances and chains of rain follow from the parameters in closed form.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.day_source import LATENT, Climate
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data.normals import MONTH_LENGTHS, Normals, departure

YEAR, MONTH = 365, np.repeat(np.arange(12), MONTH_LENGTHS)
both = pytest.mark.parametrize("name", ["montpellier", "lille"])


@functools.cache
def site(name: str) -> tuple[Normals, Climate]:
    normals = load_site(name).normals
    return normals, climate_of(normals)


def climate_of(normals: Normals) -> Climate:
    return Climate(**{n: np.asarray(v, float) for n, v in vars(compute_climate(normals)).items()})  # pyright: ignore


def other(normals: Normals, **changes: Any) -> Normals:
    """Return normals with some figures changed; one number stands for twelve."""
    full = {n: (v,) * 12 if isinstance(v, float) and n not in ("wind_factor",) else v for n, v in changes.items()}
    return Normals.model_validate(normals.model_dump() | full)


def columns(normals: Normals, suffix: str = "") -> np.ndarray:
    return np.column_stack([getattr(normals, name + suffix) for name in LATENT])


def units(normals: Normals) -> np.ndarray:
    return np.array([1, 1, 1, normals.wind_factor])


def daily(nodes: Any) -> np.ndarray:
    """Return straight lines between mid-months, in months that are equally long; (365, n)."""
    starts = np.cumsum((0, *MONTH_LENGTHS))[MONTH]
    at = MONTH + (np.arange(YEAR) + 0.5 - starts) / np.array(MONTH_LENGTHS)[MONTH]
    return np.column_stack([np.interp(at, np.arange(12) + 0.5, column, period=12) for column in nodes.T])


def by_month(values: np.ndarray, statistic: Any = np.mean) -> np.ndarray:
    return np.stack([statistic(values[m == MONTH], axis=0) for m in range(12)])


def season(normals: Normals) -> np.ndarray:
    """Return the smooth course that has the stated monthly means; (365, 4)."""
    weights = daily(np.eye(12))
    return weights @ np.linalg.solve(by_month(weights), columns(normals))


def rain_variance(normals: Normals) -> np.ndarray:
    return (np.array(normals.rainy) * (1 - np.array(normals.rainy)))[:, None]


@both
def test_months_have_the_stated_means(name: str) -> None:
    normals, climate = site(name)
    course = daily(climate.level) + np.pad((np.array(normals.rainy)[:, None] * climate.rainy)[MONTH], ((0, 0), (0, 1)))
    found = by_month(course)
    np.testing.assert_allclose(found[:, :4] / units(normals), columns(normals), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[:, :2].mean(1) + found[:, 4], normals.t_mean, rtol=1e-5, atol=1e-5)


@both
def test_the_variance_of_a_month_is_that_of_season_rain_and_noise(name: str) -> None:
    normals, climate = site(name)
    parts = climate.spread**2 + rain_variance(normals) * climate.rainy**2
    found = parts / units(normals) ** 2 + by_month(season(normals), np.var)
    np.testing.assert_allclose(found, columns(normals, "_sd") ** 2, rtol=1e-5)


def stated_variance(normals: Normals, share: float) -> dict[str, Any]:
    """Return standard deviations with which the season leaves the same variance in every month."""
    sd = np.sqrt(share + by_month(season(normals), np.var))
    return {f"{name}_sd": tuple(sd[:, i]) for i, name in enumerate(LATENT)}


def test_rainy_days_are_moister_and_windier_as_stated() -> None:
    """Exactly so if the season leaves equal variances in all months."""
    normals = load_site("lille").normals
    normals = other(normals, **stated_variance(normals, 16.0))
    effect = climate_of(normals).rainy / units(normals)
    rainy = np.array(normals.rainy)[:, None]
    wet = np.average(columns(normals) + (1 - rainy) * effect, axis=0, weights=rainy[:, 0])
    dry = np.average(columns(normals) - rainy * effect, axis=0, weights=1 - rainy[:, 0])
    stated = normals.rainy_minus_dry
    assert (wet - dry)[2:] == pytest.approx([stated.humidity, stated.wind], rel=1e-5)
    np.testing.assert_allclose(effect[:, :2], np.column_stack((stated.t_min, stated.t_max)), rtol=1e-6)


@both
def test_departures_have_the_stated_lags_and_correlations(name: str) -> None:
    """Of a day and the next: the season's departure from a sine, the effect of rain, and the Gaussian part."""
    normals, climate = site(name)
    same, following = implied(normals, climate)
    sd, lag = np.sqrt(np.diag(same)), normals.lag
    correlation, lagged = same / np.outer(sd, sd), following / np.outer(sd, sd)
    assert correlation[0, 1] == pytest.approx(normals.correlation.t_min_t_max, rel=1e-4)
    assert np.diag(lagged) == pytest.approx([lag.t_min, lag.t_max, lag.humidity, lag.wind], rel=1e-4)
    mean, humid = np.array([0.5, 0.5, 0, 0]), np.array([0, 0, 1, 0])
    assert mean @ following @ mean / (mean @ same @ mean) == pytest.approx(lag.t_mean, rel=1e-4)
    together = mean @ same @ humid / np.sqrt((mean @ same @ mean) * same[2, 2])
    assert together == pytest.approx(normals.correlation.t_mean_humidity, rel=1e-4)
    assert correlation[0, 2] == pytest.approx(correlation[1, 2], rel=1e-4)
    for i, own in enumerate((lag.t_min, lag.t_max)):
        assert lagged[i, 2] == pytest.approx(correlation[i, 2] * np.sqrt(own * lag.humidity), rel=1e-4)


def implied(normals: Normals, climate: Climate) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariances of the departures on a day and with the next day, in the units of the normals."""
    gauss, next_gauss = gaussian(climate)
    scale = np.sqrt((climate.spread**2).mean(0)) / units(normals)
    effect, rainy = climate.rainy / units(normals), np.array(normals.rainy)
    off = departure(season(normals), np.arange(YEAR))
    slow = off.T @ off / YEAR
    again = rainy * (np.array(normals.rainy_after_rainy) - rainy)
    rain, rain_next = (np.einsum("m,mi,mj->ij", w, effect, effect) / 12 for w in (rain_variance(normals)[:, 0], again))
    return gauss * np.outer(scale, scale) + slow + rain, next_gauss * np.outer(scale, scale) + slow + rain_next


def gaussian(climate: Climate) -> tuple[Any, Any]:
    """Return the covariances of the Gaussian part on a day and with the next day, on which the lasting part stays."""
    same, lasting = climate.start @ climate.start.T, np.outer(climate.lasting, climate.lasting)
    return same + lasting, climate.carry @ same + lasting


def test_the_lasting_part_moves_both_temperatures_and_nothing_else() -> None:
    normals = load_site("lille").normals
    climate = climate_of(Normals.model_validate(normals.model_dump() | {"lasting": 0.09}))
    np.testing.assert_allclose(climate.lasting, [0.3, 0.3, 0, 0], rtol=1e-6)


@both
def test_the_gaussian_part_is_stationary_with_unit_variances(name: str) -> None:
    climate = site(name)[1]
    same, following = gaussian(climate)
    np.testing.assert_allclose(np.diag(same), 1, rtol=1e-5)
    own: Any = climate.start @ climate.start.T
    np.testing.assert_allclose(climate.carry @ own @ climate.carry.T + climate.shock @ climate.shock.T, own, atol=1e-5)
    for matrix in (same, following):
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-5)
        np.testing.assert_allclose(matrix[3, :3], 0, atol=1e-6)  # wind goes with the others through season and rain


@both
def test_both_chains_of_rain_are_those_stated(name: str) -> None:
    normals, climate = site(name)
    wet, rainy = np.array(normals.wet), np.array(normals.rainy)
    before = np.stack([1 - wet, wet - rainy, rainy], 1)
    chances = climate.chances[:, :3]
    today = np.einsum("mb,mbx->mx", before, chances)
    np.testing.assert_allclose(today, np.stack([wet, rainy], 1), atol=1e-6)
    np.testing.assert_allclose(climate.chances[:, 3], today, atol=1e-6, err_msg="after an unknown day")
    after_wet = np.einsum("mb,mb->m", before[:, 1:], chances[:, 1:, 0])
    np.testing.assert_allclose(after_wet, wet * normals.wet_after_wet, atol=1e-6)
    np.testing.assert_allclose(chances[:, 2, 1], normals.rainy_after_rainy, rtol=1e-6)
    shares = chances[:, :2, 1] / chances[:, :2, 0]
    np.testing.assert_allclose(shares[:, 0], shares[:, 1], rtol=1e-5, err_msg="after dry days and after drizzle")


CONTRADICTIONS = {
    "wet": (0.0, 1.0, 0.9, 0.5, 0.5, 0.2, 0.5, 0.9, 0.3, 0.6, 0.05, 0.95),
    "wet_after_wet": (0.0, 1.0, 0.3, 0.9, 0.3, 1.0, 0.5, 0.9, 0.8, 0.1, 0.05, 1.0),
    "rainy": (0.0, 0.5, 0.5, 0.5, 0.45, 0.2, 0.25, 0.1, 0.3, 0.5, 0.04, 0.9),
    "rainy_after_rainy": (0.0, 0.5, 0.3, 0.0, 0.9, 0.5, 0.5, 0.1, 0.4, 0.5, 0.04, 0.9),
}
"""Months in which it always or never rains, or whose figures no chain of rain can have."""


def test_figures_that_contradict_each_other_still_give_chances() -> None:
    """A rainy day is wet, so that it is never more likely than a wet one."""
    even: dict[str, Any] = {"t_min": 5.0, "t_max": 12.0, "t_mean": 8.0, "humidity": 70.0, "wind": 20.0}
    even |= {"rainy_minus_dry": {"t_min": (0.0,) * 12, "t_max": (0.0,) * 12, "humidity": 0.0, "wind": 0.0}}
    chances = climate_of(other(load_site("lille").normals, **even, **CONTRADICTIONS)).chances
    assert np.isfinite(chances).all() and (chances >= 0).all() and (chances <= 1).all()
    assert (chances[..., 1] <= chances[..., 0] + 1e-7).all()
    assert not chances[0].any(), "no month without rain"
    np.testing.assert_allclose(chances[6, :, 0], 0.5, atol=1e-6, err_msg="wet half of the time, after any day")
    np.testing.assert_allclose(chances[6, :, 1], [1 / 6, 1 / 6, 1 / 2, 1 / 4], atol=1e-6)


def test_wind_may_be_stated_in_any_unit() -> None:
    """Wind at 10 m in knots, or at 2 m in m/s: the factor between them is that of its mean, its spread and its rain."""
    normals, climate = site("lille")
    factor, stated = normals.wind_factor, normals.rainy_minus_dry.model_dump()
    scaled = {n: tuple(v * factor for v in getattr(normals, n)) for n in ("wind", "wind_sd")}
    stated["wind"] *= factor
    metric = climate_of(other(normals, wind_factor=1.0, rainy_minus_dry=stated, **scaled))
    for name in vars(climate):
        np.testing.assert_allclose(getattr(metric, name), getattr(climate, name), rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_tenth_of_the_variance_stays_where_the_season_explains_all() -> None:
    """Of a wind of little spread and a great trend, in a dry climate."""
    normals = load_site("lille").normals
    lag = normals.lag.model_dump() | {"wind": 0.97}
    dry = dict.fromkeys(("wet", "wet_after_wet", "rainy", "rainy_after_rainy"), 0.0)
    found = climate_of(other(normals, wind_sd=0.2, lag=lag, **dry))
    np.testing.assert_allclose(found.spread[:, 3], 0.2 * np.sqrt(0.1) * normals.wind_factor, rtol=1e-5)
    assert not found.rainy[:, 2:].any(), "no rain, no effect of rain"


def test_a_tenth_of_the_variance_stays_where_rain_explains_all() -> None:
    normals = load_site("lille").normals
    lag = normals.lag.model_dump() | {"wind": 0.0}
    stated = normals.rainy_minus_dry.model_dump() | {"wind": 50.0}
    again = {"rainy_after_rainy": normals.rainy, "wet_after_wet": normals.wet}
    found = climate_of(other(normals, wind=20.0, wind_sd=5.0, lag=lag, rainy_minus_dry=stated, **again))
    np.testing.assert_allclose(found.spread[:, 3], 5 * np.sqrt(0.1) * normals.wind_factor, rtol=1e-5)
