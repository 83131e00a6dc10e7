"""The generator against the statistics it was given, over centuries of weather.

The observed figures are those of 2021-2022 (two years, two stations), measured outside this package. Tolerances
are three standard errors or more of 300 simulated years (a month's mean temperature is known to 0.15 degC at
worst), plus the rounding of the figures (shares of days are given to 0.01, rain per wet day rests on as few as
three days) and, for humidity, what the bound of 100 % cuts off.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.weather import day_source as g
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data.normals import calendar, departure
from harvestgym.farm.weather_data.table import YEAR
from tests.farm.entities.weather.simulate import simulate
from tests.long_form import ALL

YEARS = 300
SITES = ("montpellier", "lille")
MONTH = calendar().month[np.arange(YEARS * YEAR) % YEAR]
OBSERVED = {
    "montpellier": {
        "t_mean_sd": (3.3, 2.5, 1.8, 2.9, 2.6, 2.1, 2.2, 2.3, 2.2, 2.4, 3.0, 3.6),
        "wet_after_dry": (0.08, 0.20, 0.23, 0.11, 0.24, 0.14, 0.15, 0.13, 0.31, 0.17, 0.31, 0.31),
        "rainy_after_dry": (0.03, 0.12, 0.07, 0.08, 0.05, 0.07, 0.09, 0.07, 0.17, 0.03, 0.17, 0.20),
        "total": (10, 18, 47, 26, 27, 7, 17, 41, 146, 40, 79, 39),
        "departure": {"t_min": 3.3, "t_max": 2.9, "t_mean": 2.7, "humidity": 14.1, "wind": 9.2},
        "lag": {"t_min": 0.66, "t_max": 0.65, "t_mean": 0.77, "humidity": 0.64, "wind": 0.42},
        "night_and_day": 0.54, "warmth_and_humidity": 0.03, "wind_and_rain": 0.19,
        "range": (6.2, 9.4), "humidity": (82, 66), "wind": (30.4, 25.3),
        "frost": 15, "rainy_days": 44,
    },
    "lille": {
        "t_mean_sd": (2.8, 4.6, 2.9, 3.5, 3.3, 2.8, 2.6, 2.9, 3.2, 2.5, 2.6, 4.5),
        "wet_after_dry": (0.67, 0.42, 0.23, 0.13, 0.30, 0.22, 0.20, 0.18, 0.47, 0.73, 0.83, 0.22),
        "rainy_after_dry": (0.21, 0.23, 0.10, 0.08, 0.20, 0.20, 0.12, 0.13, 0.19, 0.20, 0.33, 0.22),
        "total": (71, 28, 14, 21, 52, 96, 37, 40, 60, 71, 62, 56),
        "departure": {"t_min": 3.3, "t_max": 3.8, "t_mean": 3.2, "humidity": 9.1, "wind": 8.9},
        "lag": {"t_min": 0.66, "t_max": 0.74, "t_mean": 0.79, "humidity": 0.63, "wind": 0.55},
        "night_and_day": 0.65, "warmth_and_humidity": -0.29, "wind_and_rain": 0.38,
        "range": (6.0, 8.6), "humidity": (84, 75), "wind": (29.4, 21.9),
        "frost": 26.5, "rainy_days": 96,
    },
}  # fmt: skip


@functools.partial(jax.jit, static_argnames="days")
def _simulate(climate, key, days):
    draws = jax.random.uniform(key, (days + 1, g.DRAWS))
    return simulate(climate, climate.first(1, draws[0]), 1, draws[1:])[0]


@functools.cache
def _climate(name):
    return compute_climate(load_site(name).normals)


@functools.cache
def _days(name):
    """Centuries at a site, wind put back into the unit in which it was observed."""
    days = _simulate(_climate(name), jax.random.key(2021), YEARS * YEAR)
    columns = {n: np.asarray(v, np.float64) for n, v in days._asdict().items()}
    return columns | {"wind": columns["wind"] / load_site(name).normals.wind_factor}


def _monthly(values, statistic=np.mean):
    return np.array([statistic(values[m == MONTH]) for m in range(12)])


def _after(happens, before):
    """Monthly share of days on which it happens among those whose eve is one of `before`."""
    eve, today, month = before[:-1], happens[1:], MONTH[1:]
    return np.array([today[eve & (month == m)].mean() for m in range(12)])


both = pytest.mark.parametrize("name", SITES)


@both
def test_monthly_means_and_spreads(name):
    days, normals = _days(name), load_site(name).normals
    tolerance = {"t_min": 0.4, "t_max": 0.4, "humidity": 1.0, "wind": 0.8}
    for variable, within in tolerance.items():
        np.testing.assert_allclose(_monthly(days[variable]), getattr(normals, variable), atol=within)
        spread = getattr(normals, f"{variable}_sd")
        np.testing.assert_allclose(_monthly(days[variable], np.std), spread, rtol=0.07)
    np.testing.assert_allclose(_monthly(days["t_mean"]), normals.t_mean, atol=0.4)
    # not fitted but implied: nights, days and their correlation give that of the means
    np.testing.assert_allclose(_monthly(days["t_mean"], np.std), OBSERVED[name]["t_mean_sd"], rtol=0.2)


@both
def test_departures_persist_and_go_together(name):
    days, seen = _days(name), OBSERVED[name]
    off = {n: departure(days[n], np.arange(YEARS * YEAR)) for n in seen["lag"]}
    for variable, lag in seen["lag"].items():
        assert np.corrcoef(off[variable][1:], off[variable][:-1])[0, 1] == pytest.approx(lag, abs=0.03)
        assert off[variable].std() == pytest.approx(seen["departure"][variable], rel=0.06)
    assert np.corrcoef(off["t_min"], off["t_max"])[0, 1] == pytest.approx(seen["night_and_day"], abs=0.04)
    warmth = np.corrcoef(off["t_mean"], off["humidity"])[0, 1]
    assert warmth == pytest.approx(seen["warmth_and_humidity"], abs=0.05)
    assert np.corrcoef(off["wind"], days["rain"] >= 1)[0, 1] == pytest.approx(seen["wind_and_rain"], abs=0.04)


@both
def test_rain_comes_as_often_and_in_such_spells(name):
    rain, normals, seen = _days(name)["rain"], load_site(name).normals, OBSERVED[name]
    wet, rainy = rain > 0, rain >= 1
    assert rain[wet].min() >= np.float32(0.1)
    np.testing.assert_allclose(_monthly(wet), normals.wet, atol=0.03)
    np.testing.assert_allclose(_monthly(rainy), normals.rainy, atol=0.03)
    np.testing.assert_allclose(_after(wet, wet), normals.wet_after_wet, atol=0.05)
    np.testing.assert_allclose(_after(rainy, rainy), normals.rainy_after_rainy, atol=0.06)
    np.testing.assert_allclose(_after(wet, ~wet), seen["wet_after_dry"], atol=0.05)
    np.testing.assert_allclose(_after(rainy, ~rainy), seen["rainy_after_dry"], atol=0.04)
    assert rainy.sum() / YEARS == pytest.approx(seen["rainy_days"], rel=0.04)


@both
def test_rain_is_as_much(name):
    rain, normals, seen = _days(name)["rain"], load_site(name).normals, OBSERVED[name]
    per_rainy_day = np.array([rain[(m == MONTH) & (rain >= 1)].mean() for m in range(12)])
    np.testing.assert_allclose(per_rainy_day, normals.rain_per_rainy_day, rtol=0.17)
    total = _monthly(rain, np.sum) / YEARS
    np.testing.assert_allclose(total, seen["total"], rtol=0.17, atol=2)
    assert total.sum() == pytest.approx(sum(seen["total"]), rel=0.05)


@both
def test_rainy_days_differ_from_the_others(name):
    days, seen = _days(name), OBSERVED[name]
    rainy = days["rain"] >= 1
    for values, figures, within in (
        (days["t_max"] - days["t_min"], seen["range"], 0.3),
        (days["humidity"], seen["humidity"], 1.5),
        (days["wind"], seen["wind"], 0.8),
    ):
        assert values[rainy].mean() == pytest.approx(figures[0], abs=within)
        assert values[~rainy].mean() == pytest.approx(figures[1], abs=within)


@both
def test_frost_that_nobody_fitted(name):
    """Two years give 13 and 17 frosts at Montpellier, 29 and 24 at Lille."""
    assert (_days(name)["t_min"] < 0).sum() / YEARS == pytest.approx(OBSERVED[name]["frost"], rel=0.3)


@both
def test_wind_at_2m_is_a_plausible_daily_mean(name):
    """FAO-56 calls 2 to 5 m/s at 2 m moderate, and both towns are windy."""
    wind = np.asarray(_simulate(_climate(name), jax.random.key(5), 20 * YEAR).wind)
    assert 2.5 < wind.mean() < 3.7 and wind.min() >= 0 and wind.max() < 15


UNIFORM = st.floats(0, 1, exclude_max=True, width=32)
one_day = jax.jit(g.Climate.next)


@given(
    name=st.sampled_from(("montpellier", "lille", "newark", "rainy", "dry")),
    day=st.integers(1, YEAR),
    sky=st.integers(0, 3),
    departure=st.lists(st.floats(-6, 6, width=32), min_size=5, max_size=5),
    draws=st.lists(UNIFORM, min_size=g.DRAWS, max_size=g.DRAWS),
)
@settings(max_examples=1000 if ALL else 60, deadline=None, derandomize=True)
def test_every_day_is_possible(name, day, sky, departure, draws):
    memory = jnp.float32([sky, *departure])
    weather, after = one_day(_climate(name), memory, day, jnp.float32(draws))
    assert all(np.isfinite(v) for v in weather)
    assert weather.t_min <= weather.t_mean <= weather.t_max
    assert 0 < weather.humidity <= 100 and weather.wind >= 0 and 0 <= weather.rain < 1900
    assert (weather.rain == 0, weather.rain >= 1) == (after[0] == g.DRY, after[0] == g.RAIN)
    assert np.isfinite(after).all()


def test_vmap_over_climates_and_keys_equals_the_loop():
    climates = [_climate(n) for n in SITES]
    keys = jax.random.split(jax.random.key(8), 2)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *climates)
    together = jax.vmap(lambda c, k: _simulate(c, k, YEAR))(stacked, keys)
    for i, (climate, key) in enumerate(zip(climates, keys, strict=True)):
        alone = _simulate(climate, key, YEAR)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_allclose(a, b[i], rtol=1e-4, atol=1e-4)


def test_days_one_by_one_are_the_series():
    climate, draws = _climate("lille"), jax.random.uniform(jax.random.key(3), (5, g.DRAWS))
    memory = climate.first(1, draws[0])
    series, last = jax.jit(simulate)(climate, memory, 363, draws[1:])
    for i, day in enumerate((363, 364, 365, 1)):
        weather, memory = one_day(climate, memory, day, draws[i + 1])
        np.testing.assert_allclose(jnp.stack(weather), jnp.stack(series)[:, i], rtol=1e-5, atol=1e-5)
    assert memory[0] == last[0]


def test_every_parameter_matters_and_has_a_finite_gradient():
    climate = _climate("lille")
    base = _simulate(climate, jax.random.key(1), 2 * YEAR)
    for field in ("chances", "amounts", "level", "rainy", "spread", "carry", "shock", "start", "lasting"):
        changed = replace(climate, **{field: getattr(climate, field) * 0.9})
        other = _simulate(changed, jax.random.key(1), 2 * YEAR)
        assert any((a != b).any() for a, b in zip(base, other, strict=True)), field
    total = jax.grad(lambda c: sum(jnp.sum(v) for v in _simulate(c, jax.random.key(1), 60)))(climate)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(total))
