"""The air of a day by hand: units, classes, noise and forecasts, from draws at known quantiles."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.messages import zero_values
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entities.weather.day_source import DRAWS, Climate, Replay
from harvestgym.farm.entities.weather.site import load_site
from harvestgym.farm.entities.weather.weather import WeatherState
from tests.farm.entities.weather.test_generated_day import uniform
from tests.farm.soil_plant_day import check_ranges, field

LEADS = 5
NOISE = ("air_temperature_noise#°C2", "humidity_index_noise#%2", "wind_noise#km2.h-2")
ERRORS = (
    "forecast_noise_air_temperature#°C2.day-1",
    "forecast_noise_humidity_index#%2.day-1",
    "forecast_noise_wind#km2.h-2.day-1",
    "forecast_noise_rain#day-1",
)
QUIET = dict.fromkeys((*NOISE, *ERRORS), 0)
BASE = {"rain_heavy#mm": 10, "rain_leakageintensity_light#%": 0.1, "rain_leakageintensity_heavy#%": 0.4}
CALM = [10.0, 20.0, 15.0, 60.0, 2.0, 0.0]
"""t_min, t_max, t_mean, humidity, wind in m/s, rain."""
PLACE = field()


def weather(rows: Any = (CALM,), station: float = math.nan, occurrence: bool = False, **settings: Any) -> Weather:
    """Return a year whose first days are `rows`, the others like the last of them; without noise unless given."""
    rows = np.asarray(rows, np.float32)
    days = np.concatenate([rows, np.repeat(rows[-1:], 365 - len(rows), 0)])
    sky: Any = Replay(days=days, start_day=np.int32(1), occurrence=occurrence)  # pyright: ignore[reportArgumentType]
    quiet = Weather.named({"extends": "dry", **QUIET, **BASE, **settings})
    return replace(quiet, sky=sky, station=np.float32(station))


_update = jax.jit(Weather.update)


def tomorrow(
    air: Weather,
    ahead: Any = CALM,
    noise: float = 0.0,
    errors: Any = (0, 0, 0, 0),
    direction: float = 0.0,
    place: Place = PLACE,
    first: tuple[float, float] = (0.5, 0.5),
    **state: Any,
) -> WeatherState:
    """Return the weather after a day; `ahead` is tomorrow, `noise` and `errors` are quantiles of the normal draws."""
    now = replace(
        zero_values(Weather.State, air.sizes(place)),
        ahead=jnp.tile(jnp.asarray(ahead, jnp.float32), (LEADS, 1)),
        **{name: jnp.int32(value) for name, value in ({"day": 1} | state).items()},
    )
    draws = {
        "day": jnp.asarray([*first, *[0.5] * (DRAWS - 2)], jnp.float32),
        "direction": jnp.float32(direction),
        "noise": jnp.full(3, uniform(noise), jnp.float32),
        "forecast": jnp.tile(jnp.asarray([[uniform(z)] for z in errors], jnp.float32), (1, LEADS)),
    }
    found, ledger = _update(air, now, place, None, draws)
    assert not ledger.flows and not ledger.tally
    check_ranges(found)
    return found


def rainy(mm: float) -> list[float]:
    return [*CALM[:5], mm]


def test_today_is_what_was_ahead_in_the_units_of_the_paper() -> None:
    found = tomorrow(weather())
    assert found.temperature.tolist() == [10, 15, 20] and float(found.humidity) == 60
    assert float(found.wind) == pytest.approx(7.2), "2 m/s in km/h"
    assert int(found.day) == 2 and int(weather().init(jax.random.key(0), PLACE).day) == 1


@pytest.mark.parametrize(
    ("mm", "kind", "strength", "dry"),
    [
        (0, 0, 0, 4),
        (0.09, 0, 0, 4),
        (0.1, 1, 0.1, 0),
        (0.5, 1, 0.1, 0),
        (9.9, 1, 0.1, 0),
        (10, 2, 0.4, 0),
        (30, 2, 0.4, 0),
    ],
)
def test_a_wet_day_has_a_tenth_of_a_millimetre_and_heavy_rain_its_setting(
    mm: float, kind: int, strength: float, dry: int
) -> None:
    found = tomorrow(weather(), rainy(mm), dry=3)
    assert (int(found.rain_class), int(found.dry)) == (kind, dry)
    assert float(found.rain) == pytest.approx(mm) and float(found.rain_intensity) == pytest.approx(strength)


@pytest.mark.parametrize(("low", "days"), [(-0.1, 4), (0.0, 0), (0.5, 0)])
def test_frost_is_below_zero(low: float, days: int) -> None:
    assert int(tomorrow(weather(), [low, *CALM[1:]], frost=3).frost) == days


@pytest.mark.parametrize(
    ("degrees", "sun"), [(0, 0), (2, 0), (4, 1), (6, 2), (9, 3), (13, 4), (16, 4), (25, 5), (49, 5)]
)
def test_sunshine_grows_with_the_range_of_temperature(degrees: float, sun: int) -> None:
    """FAO-56 eq. (50) with 0.17: 0.24, 0.34, 0.42, 0.51, 0.61, 0.68 and 0.85 of R_a; classes from 0.25 to 0.75."""
    assert int(tomorrow(weather(), [10, 10 + degrees, *CALM[2:]]).sun) == sun


def test_noise_is_added_to_the_day_at_the_end_of_the_look_ahead() -> None:
    """One standard deviation each: 2 degC, 5 % and 3.6 km/h, which is 1 m/s."""
    noisy = weather(**dict(zip(NOISE, (4, 25, 12.96), strict=True)))
    for z in (1.0, -1.0, 2.0):
        found = tomorrow(noisy, noise=z).ahead
        np.testing.assert_allclose(found[-1], np.add(CALM, [2 * z, 2 * z, 2 * z, 5 * z, z, 0]), rtol=1e-4)
        np.testing.assert_allclose(found[:-1], np.tile(CALM, (LEADS - 1, 1)))


def test_noise_leaves_the_ranges_of_the_air() -> None:
    """Humidity from 1 to 100 %, wind up to 135 m/s, air from -90 to 60 degC."""
    wild = weather(**dict.fromkeys(NOISE, 1e4))
    assert tomorrow(wild, noise=-4).ahead[-1].tolist() == [-90, -90, -90, 1, 0, 0]
    assert tomorrow(wild, noise=4).ahead[-1, :4].tolist() == [60, 60, 60, 100]
    stormy = weather([[*CALM[:4], 134.0, 0]], **{"wind_noise#km2.h-2": 1e4})
    assert float(tomorrow(stormy, noise=4).ahead[-1, 4]) == 135


def test_air_cools_by_the_standard_lapse_rate_above_the_station() -> None:
    """6.5 degC a kilometre; an unknown station is at the field's altitude."""
    high = replace(PLACE, altitude=np.float32(1100.0))
    found = tomorrow(weather(station=100.0), place=high).ahead[-1]
    np.testing.assert_allclose(found, np.add(CALM, [-6.5, -6.5, -6.5, 0, 0, 0]), rtol=1e-5)
    np.testing.assert_allclose(tomorrow(weather(), place=high).ahead[-1], CALM, rtol=1e-6)


def test_another_climate_is_warmer_and_wetter_at_the_same_humidity() -> None:
    """Rain keeps to what a day can bring."""
    other = weather([rainy(4)], **{"warming#°C": 3, "rain_factor": 1.5, "CO2#ppm": 550})
    found = tomorrow(other).ahead[-1]
    np.testing.assert_allclose(found, np.add(CALM, [3, 3, 3, 0, 0, 6]), rtol=1e-5)
    assert float(tomorrow(weather([rainy(500)], rain_factor=10)).ahead[-1, 5]) == 2000
    air = other.air(other.init(jax.random.key(0), PLACE), PLACE, None, {})  # pyright: ignore[reportArgumentType]
    assert float(air.co2) == 550 and float(published().co2) == pytest.approx(369.41)


def test_a_direction_comes_as_often_as_its_share() -> None:
    """Shares of 1, 3 and 4 in eight for NE, E and NW: a direction without a share never comes."""
    rose = replace(weather(), wind_from=jnp.asarray([0, 0.25, 0.75, 0, 0, 0, 0, 1], jnp.float32))
    found = [int(tomorrow(rose, direction=u).direction) for u in (0.0, 0.124, 0.125, 0.499, 0.5, 1 - 2.0**-24)]
    assert found == [1, 1, 2, 2, 7, 7]


def test_a_forecast_errs_by_the_stated_variance_times_the_lead() -> None:
    vague = weather(**dict(zip(ERRORS, (4, 9, 16, 0.01), strict=True)))
    found, root = tomorrow(vague, errors=(1, -1, 0.5, 1)), np.sqrt(np.arange(1, LEADS + 1))
    for i, degrees in enumerate((10, 15, 20)):
        np.testing.assert_allclose(found.forecast_temperature[i], degrees + 2 * root, rtol=1e-4)
    np.testing.assert_allclose(found.forecast_humidity, 60 - 3 * root, rtol=1e-4)
    np.testing.assert_allclose(found.forecast_wind, 7.2 + 2 * root, rtol=1e-4)
    np.testing.assert_allclose(found.forecast_rain, 0.1 * root, rtol=1e-4)


def test_a_forecast_without_error_says_whether_it_will_rain() -> None:
    for mm, chance in ((0.09, 0), (0.1, 1), (30, 1)):
        assert (np.asarray(tomorrow(weather([rainy(mm)]), rainy(mm)).forecast_rain) == chance).all()


def test_a_forecast_keeps_within_what_can_be_said() -> None:
    wild = weather(**dict.fromkeys(ERRORS, 1e4))
    for z, ends in ((-5, (-120, 0, 0, 0)), (5, (90, 100, 600, 1))):
        found = tomorrow(wild, [*CALM[:4], 130.0, 0.0], errors=(z,) * 4)
        forecasts = (found.forecast_temperature[1], found.forecast_humidity, found.forecast_wind, found.forecast_rain)
        assert tuple(float(values[-1]) for values in forecasts) == ends


@pytest.mark.parametrize(("first", "mm"), [((0.2, 0.5), 10), ((0.3, 0.5), 2.5), ((0.9, 0.0), 0), ((0.9, 0.8), 4)])
def test_rain_of_unknown_amount_is_heavy_or_up_to_half_of_it(first: tuple[float, float], mm: float) -> None:
    """Below the chance of 0.3 it is heavy."""
    flags = weather([rainy(1)], occurrence=True, rain_lightheavy_proba=0.3)
    assert float(tomorrow(flags, first=first).ahead[-1, 5]) == pytest.approx(mm)
    dry = weather([rainy(0)], occurrence=True)
    assert float(tomorrow(dry, first=first).ahead[-1, 5]) == 0


def test_the_last_day_of_the_look_ahead_is_drawn_for_its_date() -> None:
    """Six days after today the generator is in the figures of that day."""
    air = replace(Weather.named({"extends": "lille", **QUIET}), station=np.float32(math.nan))
    for today, last in ((100, 106), (362, 3)):
        found = tomorrow(air, day=today)
        wanted, _ = jax.jit(Climate.next)(air.sky, found.memory * 0, last, jnp.full(DRAWS, 0.5))  # pyright: ignore
        np.testing.assert_allclose(found.ahead[-1], jnp.stack(wanted), rtol=1e-5, atol=1e-5)
        assert int(found.day) == today + 1


def test_a_season_starts_on_its_day_with_the_coming_days_ahead() -> None:
    rows = [[number, number + 10, number + 5, 60, 2, 0] for number in range(20)]
    air = weather(rows)
    state = replace(air.init(jax.random.key(0), PLACE), day=jnp.int32(3), dry=jnp.int32(7), frost=jnp.int32(2))
    found = jax.jit(Weather.settle)(air, jax.random.key(1), state, PLACE)
    check_ranges(found)
    assert found.temperature.tolist() == [2, 7, 12] and found.ahead[:, 0].tolist() == [3, 4, 5, 6, 7]
    assert float(found.memory[0]) == 8 and (int(found.day), int(found.dry), int(found.frost)) == (3, 7, 2)
    np.testing.assert_allclose(found.forecast_temperature[0], [3, 4, 5, 6, 7])


def published(**changes: Any) -> Any:
    full = {"temperature": jnp.asarray([10.0, 15, 20]), "humidity": jnp.float32(60), "wind": jnp.float32(7.2)}
    state = replace(weather().init(jax.random.key(0), PLACE), day=jnp.int32(187), **(full | changes))
    return weather().air(state, PLACE, None, {})  # pyright: ignore[reportArgumentType]


def test_the_wind_blows_away_from_where_it_comes() -> None:
    """Directions are 45 degrees apart, clockwise from north; x is to the east, y to the south."""
    said = published(direction=jnp.arange(8))
    bearing = np.deg2rad(45) * np.arange(8)
    np.testing.assert_allclose(said.wind_x, -np.sin(bearing), atol=1e-6)
    np.testing.assert_allclose(said.wind_y, np.cos(bearing), atol=1e-6)


def test_evapotranspiration_is_that_of_wind_in_metres_per_second() -> None:
    """Eq. (23) by hand for 2 m/s and an R_a of 41.2 MJ/m2, as at 45 degrees north in early July."""
    said, dry = published(), 0.4
    sunlit = 0.0118 * dry**0.2 * 10**0.3 * (41.2 * math.sqrt(25) - 40)
    assert float(said.et0) == pytest.approx(sunlit + 0.1 * 35 * dry, rel=0.01)
    assert float(said.radiation) == pytest.approx(0.16 * math.sqrt(10) * 41.2, rel=0.01)
    assert [float(v) for v in (said.t_min, said.t_mean, said.t_max, said.wind)] == pytest.approx([10, 15, 20, 7.2])


@pytest.fixture
def csv(tmp_path: Path) -> str:
    file = tmp_path / "my.csv"
    file.write_text("Tmin,Tmax,T,RH,U,Rain\n" + "\n".join(f"{10 + i % 3},20,15,60,2,{i % 4}.5" for i in range(365)))
    return str(file)


def test_a_table_of_ones_own_has_no_prevailing_wind_and_no_altitude(csv: str) -> None:
    own = Weather.named({"table": csv})
    np.testing.assert_array_equal(own.wind_from, np.full(8, 0.125, np.float32))
    assert np.isnan(own.station) and isinstance(own.sky, Replay)
    assert float(Weather.named({"table": csv, "station_altitude#m": 12}).station) == 12


def test_days_are_generated_after_the_years_that_are_chosen() -> None:
    """Of a site with a table: its whole climate, or that of one of its years."""
    site = load_site("seattle")
    whole, one = (Weather.named({"extends": "seattle", "generate": True} | years) for years in ({}, {"years": [2012]}))
    assert isinstance(whole.sky, Climate) and isinstance(one.sky, Climate)
    assert float(np.abs(np.asarray(whole.sky.level) - one.sky.level).max()) > 0.1
    assert whole.station == np.float32(site.about.altitude)
    assert Weather.named({"extends": "seattle", "years": [2012]}).sky.days.shape[0] == 365  # pyright: ignore


@pytest.mark.parametrize(("key", "value"), [("wind_noise#km2.h-2", 10_000.5), ("humidity_index_noise#%2", -0.5)])
def test_a_variance_is_from_0_to_10000(key: str, value: float) -> None:
    assert Weather.named({"extends": "dry", key: 10_000}).lookahead == LEADS
    with pytest.raises(ConfigError, match=f"{key}: expected"):
        Weather.named({"extends": "dry", key: value})
