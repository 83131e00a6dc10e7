"""The weather entity: rows as they are, forecasts of the true future, air at the field's place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Place
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entities.weather.site import load_site
from tests.farm.one_field import make_farm
from tests.long_form import long

QUIET = {
    "air_temperature_noise#°C2": 0, "humidity_index_noise#%2": 0, "wind_noise#km2.h-2": 0,
    "forecast_noise_air_temperature#°C2.day-1": 0, "forecast_noise_humidity_index#%2.day-1": 0,
    "forecast_noise_wind#km2.h-2.day-1": 0, "forecast_noise_rain#day-1": 0,
}  # fmt: skip


def farm(weather: Any, day: Any = 150, altitude: float = 132.0, latitude: float = 47.45) -> FarmModel:
    """Return a field with nothing but air over it."""
    init, place = {"Weather-0": {"day#int365": day}}, (latitude, 0.0, altitude)
    return make_farm([("Weather", weather)], init=init, place=place, rules={"horizon#day": 400}, mode="fo")


def season(env: FarmModel, days: int, seed: int = 0, episodes: int = 1) -> Any:
    """Return the states of the weather over some days, leading axes (episode, day)."""

    def one(key: jax.Array) -> Any:
        state = env.initial(key, env.params)

        def step(state: Any, now: jax.Array) -> tuple[Any, Any]:
            after = env.transition(jax.random.fold_in(key, now), state, jnp.int32(0), env.params)
            return after, state.fields[0][0]

        return jax.lax.scan(step, state, jnp.arange(days))[1]

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), episodes))


def test_a_table_is_replayed_row_by_row_from_a_year_drawn_at_the_start() -> None:
    table = load_site("seattle").table
    assert table is not None
    got = season(farm({"extends": "seattle", **QUIET}), 90, episodes=40)
    rows = np.asarray(table.days.t_max).reshape(4, 365)[:, 149:239]
    years = [int(np.argmin(np.abs(rows - np.asarray(run)).sum(1))) for run in got.temperature[:, :, 2]]
    assert set(years) == {0, 1, 2, 3}, "each of the four years occurs in 40 draws (misses one with p < 1e-4)"
    for year, run in zip(years, np.asarray(got.temperature[:, :, 2]), strict=True):
        np.testing.assert_allclose(run, rows[year], atol=1e-4)


def test_an_exact_forecast_is_the_future() -> None:
    got = jax.tree.map(np.asarray, season(farm({"extends": "montpellier", **QUIET}), 120))
    for lead in range(1, 6):
        np.testing.assert_allclose(
            got.forecast_temperature[0, :-lead, 1, lead - 1], got.temperature[0, lead:, 1], atol=1e-4
        )
        wet = got.rain_class[0, lead:] > 0
        np.testing.assert_array_equal(got.forecast_rain[0, :-lead, lead - 1] == 1, wet)


@long
def test_the_error_of_a_forecast_has_the_stated_variance_at_each_lead() -> None:
    """24,000 errors a lead: each variance is within 5 % (5 standard deviations of a variance are 4.6 %)."""
    got = jax.tree.map(np.asarray, season(farm("montpellier"), 60, episodes=400))
    for lead in range(1, 6):
        error = got.forecast_temperature[:, :-lead, 1, lead - 1] - got.temperature[:, lead:, 1]
        assert error.var() == pytest.approx(1.0 * lead, rel=0.05)
        assert abs(error.mean()) < 0.06


@long
def test_a_forecast_is_made_each_day() -> None:
    got = jax.tree.map(np.asarray, season(farm("dry"), 3))
    errors = got.forecast_temperature[0, :, 1] - 23.0
    assert len(np.unique(errors)) == errors.size


def test_days_follow_one_another_over_the_new_year() -> None:
    got = season(farm("seattle", day=[363]), 5)
    assert np.asarray(got.day[0]).tolist() == [363, 364, 365, 1, 2]


@long
def test_dry_and_frost_days_are_counted() -> None:
    got = jax.tree.map(np.asarray, season(farm("seattle", day=[330]), 80))
    dry = frost = 0
    for today in range(1, 80):
        dry = dry + 1 if got.rain[0, today] < 0.1 else 0
        frost = frost + 1 if got.temperature[0, today, 0] < 0 else 0
        assert (got.dry[0, today], got.frost[0, today]) == (dry, frost)
    assert got.dry.max() > 1 and got.frost.max() > 1


@long
def test_altitude_cools_and_latitude_moves_the_sun() -> None:
    low, high = (season(farm({"extends": "dry", "station_altitude#m": 0}, altitude=a), 2) for a in (0.0, 1000.0))
    np.testing.assert_allclose(low.temperature - high.temperature, 6.5, atol=1e-4)
    et0 = {}
    for latitude in (50.0, -50.0):
        env = farm("dry", day=[172], latitude=latitude)
        state = env.initial(jax.random.key(0), env.params).fields[0][0]
        weather, place = env.params.fields[0].entities[0], env.params.fields[0].place
        et0[latitude] = float(weather.air(state, place, Board(place, {}, "Weather-0", 0), {}).et0)
    assert et0[50.0] > 3 * et0[-50.0], "June in the north is midsummer, in the south midwinter"


@long
def test_wind_directions_follow_the_rose() -> None:
    """20,000 draws: every share is within 0.012 (3.5 standard deviations or more)."""
    got = season(farm("montpellier"), 100, episodes=200)
    shares = np.bincount(np.asarray(got.direction).ravel(), minlength=8) / got.direction.size
    np.testing.assert_allclose(shares, load_site("montpellier").wind_rose, atol=0.012)


def test_a_wind_from_the_north_blows_south() -> None:
    weather = Weather.named("dry")
    place: Any = Place(shape=(1, 1), latitude=45.0, longitude=0.0, altitude=0.0, scale=1.0)  # type: ignore[arg-type]
    state = replace(weather.init(jax.random.key(0), place), direction=jnp.int32(0))
    air = weather.air(state, place, Board(place, {}, "Weather-0", 0), {})
    assert (float(air.wind_x), float(air.wind_y)) == (0.0, 1.0), "north is y - 1"


@long
def test_a_csv_of_ones_own_and_one_that_says_only_whether_it_rains(tmp_path: Path) -> None:
    file = tmp_path / "my.csv"
    rows = "\n".join(f"{10 + i % 3},{20 + i % 3},15,60,2,{i % 2}" for i in range(365))
    file.write_text(f"Tmin,Tmax,T,RH,U,Rain\n{rows}\n")
    got = jax.tree.map(np.asarray, season(farm({"table": str(file), "rain": "occurrence", **QUIET}), 300, episodes=8))
    wet = got.rain[got.rain > 0]
    assert set(np.unique(got.rain_class)) == {0, 1, 2} and wet.max() == 10.0
    assert (got.rain == 10.0).sum() / len(wet) == pytest.approx(0.5, abs=0.06), "half of 1,200 rains are heavy"


@long
def test_new_days_can_be_drawn_after_the_climate_of_a_table() -> None:
    replayed, generated = (season(farm(w), 90, episodes=30) for w in ("seattle", "seattle_generated"))
    means = [float(np.mean(np.asarray(s.temperature[:, :, 1]))) for s in (replayed, generated)]
    assert means[0] == pytest.approx(means[1], abs=0.7)
    assert len(np.unique(np.asarray(generated.temperature[:, 0, 1]))) == 30


@pytest.mark.parametrize(
    ("which", "words"),
    [("seatle", "Weather set: expected a known name, got 'seatle'; try 'seattle'"),
     ({"extends": "base"}, "expected a `table`, or a `site` without `columns`, `fill` or `rain`"),
     ({"site": "atlantis"}, "weather site: expected a known name, got 'atlantis'"),
     ({"site": "dry", "rain_hevy#mm": 3}, "try 'rain_heavy#mm'"),
     ({"site": "dry", "forecast_lookahead#day": 0}, "lookahead#day: expected greater than or equal to 1, got 0"),
     ({"table": "absent.csv"}, "absent.csv")],
)  # fmt: skip
def test_a_wrong_set_is_refused_in_words(which: Any, words: str) -> None:
    with pytest.raises((ConfigError, FileNotFoundError), match=words):
        Weather.named(which)
