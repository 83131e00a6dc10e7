"""Monthly normals: measured from weather, made into a climate, and found again in what it generates."""

import jax
import numpy as np
import pytest
from scipy import stats

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather import day_source
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data import normals as figures
from harvestgym.farm.weather_data.normals import MONTH_LENGTHS, Normals, calendar, measure_normals
from harvestgym.farm.weather_data.table import YEAR, Day
from tests.farm.entities.weather.simulate import simulate


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 2.5, 40.0])
def test_gamma_is_that_of_scipy(shape):
    x = np.geomspace(1e-4, shape + 8 * np.sqrt(shape) + 8, 60)
    np.testing.assert_allclose(figures.gamma_cdf(shape, x), stats.gamma.cdf(x, shape), rtol=1e-10)
    nodes = np.linspace(-figures.REACH, figures.REACH, figures.NODES)
    exact = stats.gamma.isf(stats.norm.sf(nodes), shape)
    np.testing.assert_allclose(figures.gamma_quantiles(shape), exact, rtol=2e-3, atol=3e-3 * shape)


def test_amounts_have_the_mean_and_variance_asked_for():
    table = figures.amount_quantiles(mean=22.2, shape=0.61, least=1.0)
    uniforms = (np.arange(200_000) + 0.5) / 200_000
    nodes = np.linspace(-figures.REACH, figures.REACH, figures.NODES)
    rain = np.interp(stats.norm.ppf(uniforms), nodes, table)
    assert rain.min() >= 1.0
    assert rain.mean() == pytest.approx(22.2, rel=0.01)
    assert rain.var() == pytest.approx(22.2**2 / 0.61, rel=0.01)


def test_calendar():
    at = calendar()
    assert [int((at.month == m).sum()) for m in range(12)] == list(MONTH_LENGTHS)
    assert (at.weight >= 0).all() and (at.weight < 1).all()
    assert ((at.before == at.month) | (at.after == at.month)).all()


def test_smooth_levels_have_the_stated_monthly_means():
    normals = load_site("montpellier").normals
    climate = compute_climate(normals)
    at = calendar()
    weight = at.weight[:, None]
    level = (1 - weight) * np.asarray(climate.level)[at.before] + weight * np.asarray(climate.level)[at.after]
    means = np.array([level[at.month == m].mean(axis=0) for m in range(12)])
    with_rain = means[:, :4] + np.array(normals.rainy)[:, None] * np.asarray(climate.rainy)
    stated = np.stack((normals.t_min, normals.t_max, normals.humidity, normals.wind), axis=1)
    np.testing.assert_allclose(with_rain, stated * (1, 1, 1, normals.wind_factor), rtol=1e-4)


def _weather(years, rain, seed=0):
    draw = np.random.default_rng(seed)
    warm = 10 - 8 * np.cos(2 * np.pi * np.arange(years * YEAR) / YEAR) + draw.normal(size=years * YEAR)
    return Day(warm - 4, warm + 4, warm, np.full(years * YEAR, 70.0), draw.gamma(9, 0.3, years * YEAR), rain)


def test_measured_chains_and_amounts_are_those_drawn():
    years, draw = 60, np.random.default_rng(4)
    amount = 1 + draw.gamma(0.8, 5, years * YEAR)
    wet = np.zeros(years * YEAR, bool)
    for i in range(1, len(wet)):
        wet[i] = draw.random() < (0.6 if wet[i - 1] else 0.2)
    found = measure_normals(_weather(years, np.where(wet, amount, 0.0)))
    np.testing.assert_allclose(found.wet, 1 / 3, atol=0.05)
    np.testing.assert_allclose(found.wet_after_wet, 0.6, atol=0.08)
    assert found.wet == found.rainy and found.wet_after_wet == found.rainy_after_rainy
    np.testing.assert_allclose(found.rain_per_rainy_day, 5.0, rtol=0.15)
    np.testing.assert_allclose(found.rain_shape, 25 / (0.8 * 25), rtol=0.4)
    assert found.correlation.t_min_t_max == pytest.approx(0.99)  # they move as one; kept off 1
    assert abs(found.lag.t_mean) < 0.03
    np.testing.assert_allclose(found.wind, 2.7, rtol=0.05)


def test_months_with_few_rainy_days_lean_on_their_neighbours():
    rain = np.zeros(YEAR)
    rain[[5, 6, 7, 8, 9, 10, 11, 12, 33]] = (2, 3, 4, 5, 6, 7, 8, 9, 20)  # eight days in January, one in February
    found = measure_normals(_weather(1, rain))
    assert found.rainy_after_rainy[0] == pytest.approx(7 / 8)
    assert found.rainy_after_rainy[1] == pytest.approx(7 / 9)
    assert found.rain_per_rainy_day[:2] == pytest.approx((5.5, 20))
    assert found.rain_shape[0] != found.rain_shape[1]
    assert found.rainy[5] == 0 and found.rainy_after_rainy[5] == 0


def test_normals_want_every_month():
    with pytest.raises(ConfigError, match="days of every month"):
        measure_normals(Day(*(np.ones(100) for _ in range(6))))


@pytest.mark.parametrize("name", ["seattle", "newark"])
def test_what_is_measured_is_generated_and_measured_again(name):
    """One or four years in, two hundred out: the figures come back within sampling error."""
    first = load_site(name).normals
    climate = compute_climate(first)
    draws = jax.random.uniform(jax.random.key(6), (200 * YEAR, day_source.DRAWS))
    days, _ = jax.jit(simulate)(climate, climate.first(1, draws[0]), 1, draws)
    again = measure_normals(days)
    for field, within in {"t_min": 0.6, "t_max": 0.6, "t_mean": 0.6, "humidity": 1.5, "wind": 0.15}.items():
        np.testing.assert_allclose(getattr(again, field), getattr(first, field), atol=within, err_msg=field)
    for field in ("wet", "rainy"):
        np.testing.assert_allclose(getattr(again, field), getattr(first, field), atol=0.06, err_msg=field)
    for part in ("lag", "correlation"):
        for figure, value in getattr(first, part):
            assert getattr(getattr(again, part), figure) == pytest.approx(value, abs=0.08), figure


@pytest.mark.parametrize("name", ["dry", "rainy"])
def test_a_climate_of_one_day_generates_that_day(name):
    site = load_site(name)
    climate = compute_climate(site.normals)
    draws = jax.random.uniform(jax.random.key(0), (YEAR, day_source.DRAWS))
    days, _ = jax.jit(simulate)(climate, climate.first(1, draws[0]), 1, draws)
    for column, expected in zip(days, site.table.days, strict=True):
        np.testing.assert_allclose(column, expected, rtol=0.05, atol=0.02)


def test_figures_that_contradict_each_other_are_refused():
    stated = load_site("lille").normals
    with pytest.raises(
        ConfigError,
        match="expected consistent correlations and lags",
    ):
        compute_climate(Normals(**stated.model_dump() | {"lag": stated.lag.model_dump() | {"t_mean": -0.9}}))
