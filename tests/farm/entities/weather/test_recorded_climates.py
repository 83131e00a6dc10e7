"""The generator against the daily records whose climate it draws: rainy days by month, and years that differ."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

from harvestgym.farm.entities.weather import day_source
from harvestgym.farm.entities.weather.climate_of_normals import compute_climate
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.weather_data.normals import calendar, departure
from harvestgym.farm.weather_data.table import YEAR
from tests.farm.entities.weather.simulate import simulate

YEARS = 200
RECORDED = ("seattle", "newark", "new_york_jfk", "new_york_lga")
Days = dict[str, np.ndarray]


@functools.partial(jax.jit, static_argnums=2)
def years(climate: day_source.Climate, key: jax.Array, n: int) -> object:
    def one(key: jax.Array) -> object:
        draws = jax.random.uniform(key, (YEAR + 1, day_source.DRAWS))
        return simulate(climate, climate.first(1, draws[0]), 1, draws[1:])[0]

    return jax.vmap(one)(jax.random.split(key, n))


@functools.cache
def weather(site: str) -> tuple[Days, Days]:
    """Return the days of the record, and of generated years in a row."""
    table = load_site(site).table
    assert table is not None
    found = years(compute_climate(load_site(site).normals), jax.random.key(2), YEARS)
    pair = (days._asdict() for days in (table.days, found))  # pyright: ignore[reportAttributeAccessIssue]
    recorded, generated = ({name: np.asarray(v, float).ravel() for name, v in days.items()} for days in pair)
    return recorded, generated


def cool_by_month(days: Days, variable: str) -> np.ndarray:
    """Return the mean of rainy days minus that of others, within a month, pooled with both neighbouring months."""
    number = np.arange(len(days["rain"]))
    off, month = departure(days[variable], number), calendar().month[number % YEAR]
    rainy = days["rain"] >= 1
    unusual = rainy - np.array([rainy[month == m].mean() for m in range(12)])[month]
    pools = [np.isin(month, ((m - 1) % 12, m, (m + 1) % 12)) for m in range(12)]
    return np.array([(off * unusual)[pool].sum() / (unusual[pool] ** 2).sum() for pool in pools])


@pytest.mark.parametrize("site", RECORDED)
@pytest.mark.parametrize("variable", ["t_min", "t_max"])
def test_rainy_days_cool_by_month_as_in_the_record(site: str, variable: str) -> None:
    recorded, generated = (cool_by_month(days, variable) for days in weather(site))
    np.testing.assert_allclose(generated, recorded, atol=0.5)


@pytest.mark.parametrize("site", RECORDED)
@pytest.mark.parametrize("variable", ["t_min", "t_max"])
def test_temperatures_keep_their_mean_spread_and_persistence(site: str, variable: str) -> None:
    """Within three standard errors of 200 years, and what a departure from a smooth season adds in one year."""
    recorded, generated = weather(site)
    assert generated[variable].mean() == pytest.approx(recorded[variable].mean(), abs=0.15)
    assert generated[variable].std() == pytest.approx(recorded[variable].std(), rel=0.02)
    off = departure(generated[variable], np.arange(YEARS * YEAR))
    stated = getattr(load_site(site).normals.lag, variable)
    assert np.corrcoef(off[1:], off[:-1])[0, 1] == pytest.approx(stated, abs=0.02)


def test_seasons_differ_between_years_as_in_the_record() -> None:
    """The mean temperature from May to September; of the four records, only Seattle has several years."""
    recorded, generated = (
        days["t_mean"].reshape(-1, YEAR)[:, 120:273].mean(1).std(ddof=1) for days in weather("seattle")
    )
    assert generated == pytest.approx(recorded, rel=0.25)
    assert load_site("newark").normals.lasting == load_site("lille").normals.lasting == 0.03
