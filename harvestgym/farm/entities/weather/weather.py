"""Weather: the air over the field each day, drawn a few days ahead so that forecasts are based on the true future.

Every day, one more day at the end of the look-ahead, the wind direction and the forecast error are drawn. The state
stores the error, so that averaging repeated observations of a forecast does not reduce it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field, StrictBool, StrictInt, create_model, field_validator

from harvestgym.core.config import Strict, build_params, choose_set, make_schema, validate
from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import Pytree, par, replace, static, var
from harvestgym.core.random import normal
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import KMH, Air
from harvestgym.farm.weather_data.normals import WET, measure_normals
from harvestgym.farm.weather_data.table import YEAR, Day, RainOption, WeatherTable, read_table

from . import drawing
from .climate_of_normals import compute_climate
from .day_source import DRAWS, MEMORY, DaySource, replay_table
from .evapotranspiration import (
    compute_daylength,
    extraterrestrial_radiation,
    reference_evapotranspiration,
    solar_radiation,
)
from .site import WIND_DIRECTIONS, Site, load_site

LAPSE = 0.0065
"""Temperature decrease in degC per m of altitude (standard atmosphere)."""

STORM = 135.0
"""Largest daily mean wind speed, in m/s: twice the highest measured on Earth."""

FLOOD = 2000.0
"""Largest daily rain, in mm; the highest measured amount is 1825."""

EAST = np.asarray([0, 1, 1, 1, 0, -1, -1, -1], np.float32) / np.sqrt([1, 2] * 4).astype(np.float32)
SOUTH = np.asarray([-1, -1, 0, 1, 1, 1, 0, -1], np.float32) / np.sqrt([1, 2] * 4).astype(np.float32)
"""Unit vectors towards each of `WIND_DIRECTIONS`; the wind blows in the opposite direction."""

TEMPERATURES = ("air_temperature/min#°C", "air_temperature/mean#°C", "air_temperature/max#°C")
FORECASTS = tuple(f"forecast/{key}" for key in TEMPERATURES)

_variance = functools.partial(par, low=0, high=1e4)
"""The variance of noise or of the error of a forecast."""


class Settings(Pytree):
    """Weather settings: climate change, rain classes, daily noise, and forecast errors (variances, section 4.1).

    Climate change applies to recorded, generated and constant days. Relative humidity stays the same, so that
    warmer air holds more water.
    """

    warming: Array = par("warming#°C", "increase of all temperatures", low=-30, high=30)
    rain_factor: Array = par("rain_factor", "factor on the amounts of rain", low=0, high=10)
    co2: Array = par("CO2#ppm", "carbon dioxide in the air", low=0, high=2000)
    rain_heavy: Array = par("rain_heavy#mm", "rain per day at or above which it counts as heavy", low=WET, high=1900)
    heavy_chance: Array = par("rain_lightheavy_proba", "chance that rain of unknown amount is heavy", low=0, high=1)
    light: Array = par("rain_leakageintensity_light#%", "leaching strength of light rain, 0 to 1", low=0, high=1)
    heavy: Array = par("rain_leakageintensity_heavy#%", "leaching strength of heavy rain, 0 to 1", low=0, high=1)
    temperature_noise: Array = _variance("air_temperature_noise#°C2", "variance added to the day's temperature")
    humidity_noise: Array = _variance("humidity_index_noise#%2", "variance added to the day's humidity")
    wind_noise: Array = _variance("wind_noise#km2.h-2", "variance added to the day's wind")
    temperature_error: Array = _variance("forecast_noise_air_temperature#°C2.day-1", "error variance per day ahead")
    humidity_error: Array = _variance("forecast_noise_humidity_index#%2.day-1", "error variance per day ahead")
    wind_error: Array = _variance("forecast_noise_wind#km2.h-2.day-1", "error variance per day ahead")
    rain_error: Array = _variance("forecast_noise_rain#day-1", "error variance of the chance of rain, per day ahead")


class WeatherOptions(Strict):
    """Options of a parameter set besides the settings: the source of its days and the number of forecast days."""

    site: str | None = None
    table: Any = None
    years: list[StrictInt] | None = None
    rain: RainOption = "auto"
    columns: dict[str, str] = {}
    fill: StrictInt | None = None
    generate: StrictBool = False
    station: float | None = Field(alias="station_altitude#m", default=None, ge=-430, le=8850)
    lookahead: StrictInt = Field(alias="forecast_lookahead#day", default=5, ge=1, le=30)

    @field_validator("table")
    @classmethod
    def _readable(cls, table: Any) -> Any:
        if not (table is None or isinstance(table, (str, PathLike)) or hasattr(table, "columns")):
            raise ValueError("expected the path of a weather file, or a data frame")
        return table


air = functools.partial(var, axes=(), settled=True)
"""A variable that is computed from the day and the source of days, so a farm file cannot set it."""


class WeatherState(Pytree):
    """Today's air, the forecast, and (hidden) the future."""

    day: Array = var("day#int365", "day of the year, 1 to 365", low=1, high=365, dtype="int", axes=())
    year: Array = var("year#nb", "number of times that 1 January has passed", high=1000, dtype="int", axes=())
    temperature: Array = air(TEMPERATURES, "air temperature of the day", low=-90, high=60)
    humidity: Array = air("humidity_index#%", "mean relative humidity", high=100)
    wind: Array = air("wind/speed#km.h-1", "mean wind speed 2 m above the ground", high=500)
    direction: Array = air("wind/direction", "direction from which the wind blows", labels=WIND_DIRECTIONS)
    rain: Array = air("rain/amount#mm", "rain of the day", high=FLOOD)
    rain_class: Array = air("rain_amount", "class of the day's rain", labels=("none", "light", "heavy"))
    rain_intensity: Array = air("rain_intensity", "leaching strength of the day's rain", high=1)
    sun: Array = air("sun_exposure#int5", "sunshine, 0 overcast to 5 clear", high=5, dtype="int")
    dry: Array = var("consecutive_dry#day", "days in a row without rain", dtype="int", axes=())
    frost: Array = var("consecutive_frost#day", "days in a row with frost", dtype="int", axes=())
    forecast_temperature: Array = air(FORECASTS, "forecast temperature", low=-120, high=90, axes=("lead",))
    forecast_humidity: Array = air("forecast/humidity_index#%", "forecast humidity", high=100, axes=("lead",))
    forecast_wind: Array = air("forecast/wind/speed#km.h-1", "forecast wind speed", high=600, axes=("lead",))
    forecast_rain: Array = air("forecast/rain", "forecast chance of rain, 0 to 1", high=1, axes=("lead",))
    ahead: Array = var("ahead", "the coming days, as `Day`", low=-90, axes=("lead", "record"), hidden=True)
    memory: Array = var("memory", "memory of the day source", low=-1e9, axes=("memory",), hidden=True)


class Weather(Entity):
    """The air over the field: temperature, humidity, wind, rain and sunshine, with a forecast."""

    State: ClassVar[type] = WeatherState
    shared: ClassVar[bool] = True
    randomness: ClassVar = {"day": ("draw",), "noise": ("noise",), "direction": (), "forecast": ("forecast", "lead")}

    settings: Settings
    sky: DaySource
    wind_from: Array = par(tuple(f"wind_from_{d}" for d in WIND_DIRECTIONS), "share of each direction", low=0, high=1)
    station: Array = par("station_altitude#m", "its altitude; NaN if unknown", low=-430, high=8850, unknown=True)
    lookahead: int = static("forecast_lookahead#day", "days of forecast", low=1, high=30, default=5)

    @classmethod
    def named(cls, which: str | Mapping[str, Any]) -> Weather:
        """Return a set from the file, possibly with changes.

        A change is `site`, `table` (a DataFrame or the path of a file, with `columns` and `fill` as in `read_table`),
        `years` to use only some of its calendar years, `generate: true` to draw new days from the climate of a table,
        or any setting.
        """
        name, data = choose_set(cls.file(), which, cls.__name__)
        where = f"Weather {which!r}" if isinstance(which, str) else f"Weather (extends {name})"
        days = validate(_whole(), data, where)
        own = {key for field, info in WeatherOptions.model_fields.items() for key in (field, info.alias)}
        settings = build_params(Settings, {key: value for key, value in data.items() if key not in own}, where)
        sky, wind_from, station = _sky(days, where)
        return cls(settings=settings, sky=sky, wind_from=wind_from, station=station, lookahead=days.lookahead)

    @classmethod
    def written(cls, which: str | Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings under their field, and cite the site as the source of the weather."""
        data = super().written(which)
        about = load_site(data["site"]).about if "site" in data else None
        source = f"{about.source} ({about.licence})" if about else str(data.get("table", ""))
        return {"settings": data, "sky": {"source": source}, "source": source}

    def sizes(self, place: Place) -> dict[str, tuple[int, ...]]:
        """Return the sizes of the field, forecast and draw axes."""
        own = {"lead": self.lookahead, "record": len(Day._fields), "memory": MEMORY}
        own |= {"draw": DRAWS, "noise": 3, "forecast": 4}
        return place.sizes | {name: (size,) for name, size in own.items()}

    def init(self, key: Array, place: Place) -> WeatherState:
        """Return the state on 1 January; `settle` fills in the air on the actual first day."""
        return replace(super().init(key, place), day=jnp.int32(1))

    def settle(self, key: Array, state: WeatherState, place: Place) -> WeatherState:
        """Draw the air of the first and coming days, from `day` on; other initial values are dropped, except counts."""
        year, days, rest = jax.random.split(key, 3)
        draws = jax.random.uniform(days, (self.lookahead + 1, DRAWS + 3), jnp.float32)
        memory = self.sky.first(state.day, jax.random.uniform(year, (DRAWS,), jnp.float32))

        def step(memory: Array, turn: tuple[Array, Array]) -> tuple[Array, Array]:
            ahead, draw = turn
            day, memory = self._next(memory, _later(state.day, ahead), draw[:DRAWS])
            return memory, self._noisy(day, draw[DRAWS:], place)

        memory, found = jax.lax.scan(step, memory, (jnp.arange(self.lookahead + 1, dtype=jnp.int32), draws))
        uniform = jax.random.uniform(rest, (1 + 4 * self.lookahead,), jnp.float32)
        state = replace(state, ahead=found[1:], memory=memory)
        state = self._forecast(state, uniform[1:].reshape(4, -1))
        return self._today(state, Day(*found[0]), uniform[0], state.dry, state.frost)

    @publishes(Air)
    def air(self, state: WeatherState, place: Place, board: Board, draws: Draws) -> Air:
        """Publish today's air, with radiation and evapotranspiration by eq. (23) at the field's latitude."""
        low, mean, high = state.temperature
        radiation = extraterrestrial_radiation(place.latitude, state.day)
        et0 = reference_evapotranspiration(low, high, mean, state.humidity, state.wind / KMH, radiation)
        whole = {name: getattr(state, name).astype(jnp.float32) for name in ("day", "rain_class", "sun")}
        return Air(
            **whole, t_min=low, t_mean=mean, t_max=high, humidity=state.humidity, wind=state.wind,
            wind_x=-jnp.asarray(EAST)[state.direction], wind_y=-jnp.asarray(SOUTH)[state.direction],
            rain=state.rain, rain_intensity=state.rain_intensity, dry_days=state.dry.astype(jnp.float32),
            frost_days=state.frost.astype(jnp.float32), et0=et0, radiation=solar_radiation(low, high, radiation),
            daylength=compute_daylength(place.latitude, state.day), co2=self.settings.co2,
        )  # fmt: skip

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw the sky, and wind and frost if any, in the north-western corner."""
        return drawing.draw_sky(self, seen)

    def describe(self, seen: DrawContext, place: Place) -> list[str]:
        """Describe the day's air in numbers."""
        return drawing.describe(seen)

    def update(self, state: WeatherState, place: Place, board: Board, draws: Draws) -> tuple[WeatherState, Ledger]:
        """Advance to the next day: draw one more day at the end of the look-ahead, and a new forecast."""
        tomorrow = Day(*state.ahead[0])
        last, memory = self._next(state.memory, _later(state.day, self.lookahead + 1), draws["day"])
        ahead = jnp.concatenate([state.ahead[1:], self._noisy(last, draws["noise"], place)[None]])
        year = state.year + (state.day == YEAR)
        new = replace(state, day=_later(state.day, 1), year=year, ahead=ahead, memory=memory)
        new = self._forecast(new, draws["forecast"])
        dry = jnp.where(tomorrow.rain < WET, state.dry + 1, 0)
        frost = jnp.where(tomorrow.t_min < 0, state.frost + 1, 0)
        return self._today(new, tomorrow, draws["direction"], dry, frost), Ledger({}, {})

    def _next(self, memory: Array, day: Any, draws: Array) -> tuple[Day, Array]:
        """Return the next day from the source; if only the occurrence of rain is known, draw its class (section 4.1).

        In the paper, rain is relative to the soil's capacity: heavy rain fills it, and light rain fills it up to half.
        Here, heavy rain is `rain_heavy#mm` for every soil.
        """
        found, memory = self.sky.next(memory, day, draws)
        if not self.sky.occurrence:
            return found, memory
        s = self.settings
        amount = jnp.where(draws[0] < s.heavy_chance, s.rain_heavy, 0.5 * s.rain_heavy * draws[1])
        return found._replace(rain=found.rain * amount), memory

    def _noisy(self, day: Day, uniform: Array, place: Place) -> Array:
        """Return a day from the source in the climate of the settings and the field's altitude, with noise; (6,)."""
        s, error = self.settings, normal(uniform)
        climb = jnp.where(jnp.isnan(self.station), 0.0, place.altitude - self.station)
        shift = jnp.sqrt(s.temperature_noise) * error[0] - LAPSE * climb + s.warming
        humidity = jnp.clip(day.humidity + jnp.sqrt(s.humidity_noise) * error[1], 1.0, 100.0)
        wind = jnp.clip(day.wind + jnp.sqrt(s.wind_noise) / KMH * error[2], 0.0, STORM)
        warm = [jnp.clip(t + shift, -90.0, 60.0) for t in day[:3]]
        rain = jnp.minimum(day.rain * s.rain_factor, FLOOD)
        return jnp.stack([*warm, humidity, wind, rain]).astype(jnp.float32)

    def _today(self, state: WeatherState, day: Day, uniform: Array, dry: Array, frost: Array) -> WeatherState:
        s = self.settings
        kind = (day.rain >= WET).astype(jnp.int32) + (day.rain >= s.rain_heavy)
        share = jnp.cumsum(jnp.asarray(self.wind_from) / jnp.sum(self.wind_from))
        return replace(
            state, temperature=jnp.stack([day.t_min, day.t_mean, day.t_max]), humidity=day.humidity,
            wind=day.wind * KMH, direction=jnp.sum(uniform >= share[:-1], dtype=jnp.int32), rain=day.rain,
            rain_class=kind, rain_intensity=jnp.stack([jnp.float32(0.0), s.light, s.heavy])[kind],
            sun=_sunshine(day), dry=dry, frost=frost,
        )  # fmt: skip

    def _forecast(self, state: WeatherState, uniform: Array) -> WeatherState:
        """Forecast the coming days, with errors whose variance grows with the lead time (section 4.1).

        The paper also adds daily noise, which the coming days already contain.
        """
        s, days = self.settings, Day(*state.ahead.T)
        lead = 1.0 + jnp.arange(self.lookahead, dtype=jnp.float32)
        variance = jnp.stack([s.temperature_error, s.humidity_error, s.wind_error, s.rain_error])[:, None] * lead
        error = jnp.sqrt(variance) * normal(uniform)
        return replace(
            state,
            forecast_temperature=jnp.clip(jnp.stack([days.t_min, days.t_mean, days.t_max]) + error[0], -120.0, 90.0),
            forecast_humidity=jnp.clip(days.humidity + error[1], 0.0, 100.0),
            forecast_wind=jnp.clip(days.wind * KMH + error[2], 0.0, 600.0),
            forecast_rain=jnp.clip((days.rain >= WET) + error[3], 0.0, 1.0),
        )


def _later(day: Any, days: Any) -> Array:
    """Return the day of the year that is `days` days after `day`; 1 follows 365."""
    return (day - 1 + days) % YEAR + 1


def _sunshine(day: Day) -> Array:
    """Return the sunshine class from the temperature range, by Hargreaves (FAO-56 eq. 50, k = 0.17).

    The estimated fraction of extraterrestrial radiation ranges from 0.25 under cloud (class 0) to 0.75 under a clear
    sky (class 5), by FAO-56 eqs. 35 and 37.
    """
    share = 0.17 * jnp.sqrt(jnp.maximum(day.t_max - day.t_min, 0.0))
    return jnp.round(jnp.clip((share - 0.25) / 0.5, 0.0, 1.0) * 5).astype(jnp.int32)


@functools.cache
def _whole() -> Any:
    """Make a single schema for a set's options and settings, so that errors suggest the nearest key of either."""
    return create_model("Weather", __base__=(WeatherOptions, make_schema(Settings)))


def load_table(own: WeatherOptions) -> WeatherTable | None:
    """Return the table that a set replays or computes its climate from, with all years; None for monthly normals."""
    if own.table is not None:
        return read_table(own.table, own.rain, columns=own.columns, fill=own.fill)
    return load_site(own.site).table if own.site is not None else None


def load_recorded_years(which: str | Mapping[str, Any]) -> tuple[list[int] | None, str | None]:
    """Return the calendar years of the recorded days that a set replays (None if it replays none) and its site."""
    own = validate(_whole(), choose_set(Weather.file(), which, "Weather")[1], f"Weather {which!r}")
    table = None if own.generate else load_table(own)
    if table is None or not np.ptp(np.stack(table.days), axis=1).any():  # a constant day is not a record
        return None, None
    return sorted(set(own.years or table.calendar_years)), own.site if own.table is None else None


def _sky(own: WeatherOptions, where: str) -> tuple[DaySource, Any, Any]:
    """Return the day source, the wind rose and the station altitude for a set."""
    of_table = own.columns or own.fill is not None or own.rain != "auto"
    if own.table is None and (own.site is None or of_table):
        raise mismatch(where, "a `table`, or a `site` without `columns`, `fill` or `rain`", "none")
    site: Site | None = load_site(own.site) if own.site is not None else None
    rose: Any = np.asarray(site.wind_rose if site else np.full(8, 1 / 8), np.float32)
    table = load_table(own)
    stated = (own.station, table.altitude if table else None, site.about.altitude if site else None)
    altitude = np.float32(next((each for each in stated if each is not None and not np.isnan(each)), np.nan))
    if own.years is not None:
        if table is None:
            raise mismatch(where, f"a site with a table of days for years {own.years}", repr(own.site))
        table = table.of_years(own.years)
    if table is not None and not own.generate:
        return replay_table(table), rose, altitude
    normals = site.normals if site and table is site.table else measure_normals(table.days, table.start_day)  # pyright: ignore
    return compute_climate(normals), rose, altitude
