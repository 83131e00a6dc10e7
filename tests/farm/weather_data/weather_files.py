"""Writers of small weather files in every format that is read, all of the same days."""

from __future__ import annotations

import calendar
import datetime
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

TO_2_M = 4.87 / math.log(67.8 * 10 - 5.42)


class Reading(NamedTuple):
    """One day: degC, %, m/s at 2 m, mm."""

    date: datetime.date
    low: float
    high: float
    humidity: float
    wind: float
    rain: float


def make_days(first: datetime.date = datetime.date(2019, 1, 1), number: int = 731) -> list[Reading]:
    """Return days with a warm summer, values of one decimal, and rain on every fifth day."""
    found = []
    for i in range(number):
        date = first + datetime.timedelta(i)
        warm = round(-10 * math.cos(2 * math.pi * date.timetuple().tm_yday / 365), 1)
        found.append(Reading(date, 8 + warm, 18 + warm, 60.0 + i % 7, 2.0 + i % 4 / 2, 0.0 if i % 5 else 6.4))
    return found


def pressure(temperature: float) -> float:
    """Return the saturation vapour pressure in kPa (FAO-56 eq. 11)."""
    return 0.6108 * math.exp(17.27 * temperature / (temperature + 237.3))


def vapour(day: Reading) -> float:
    """Return the vapour pressure of a day in kPa."""
    return day.humidity / 100 * (pressure(day.low) + pressure(day.high)) / 2


def _lines(head: str, days: Sequence[Reading], row: Callable[[Reading], str]) -> str:
    return "\n".join([head, *map(row, days)]) + "\n"


def write_own(days: Sequence[Reading]) -> str:
    """Write our own table."""
    return _lines("Date,Tmin,Tmax,T,RH,U,Rain", days, lambda d: (
        f"{d.date},{d.low:.1f},{d.high:.1f},{(d.low + d.high) / 2:.2f},{d.humidity},{d.wind},{d.rain}"))  # fmt: skip


def write_power(days: Sequence[Reading]) -> str:
    """Write the CSV of NASA POWER."""
    head = ("-BEGIN HEADER-\nNASA/POWER CERES/MERRA2 Native Resolution Daily Data \n"
            "Location: Latitude  47.6   Longitude -122.3 \n"
            "Elevation from MERRA-2: Average for 0.5 x 0.625 degree lat/lon region = 123.45 meters\n"
            "T2M_MIN  MERRA-2 Temperature at 2 Meters Minimum (C) \n-END HEADER-\n"
            "YEAR,DOY,ALLSKY_SFC_SW_DWN,T2M_MIN,T2M_MAX,RH2M,WS2M,PRECTOTCORR")  # fmt: skip
    return _lines(head, days, lambda d: (
        f"{d.date.year},{d.date:%j},-999,{d.low:.1f},{d.high:.1f},{d.humidity},{d.wind},{d.rain}"))  # fmt: skip


def write_power_json(days: Sequence[Reading]) -> str:
    """Write the JSON of NASA POWER."""
    columns = {"T2M_MIN": "low", "T2M_MAX": "high", "RH2M": "humidity", "WS2M": "wind", "PRECTOTCORR": "rain"}
    units = {"T2M_MIN": "C", "T2M_MAX": "C", "RH2M": "%", "WS2M": "m/s", "PRECTOTCORR": "mm/day"}
    found = {key: {f"{d.date:%Y%m%d}": getattr(d, name) for d in days} for key, name in columns.items()}
    return json.dumps({
        "type": "Feature", "geometry": {"type": "Point", "coordinates": [-122.3, 47.6, 123.45]},
        "properties": {"parameter": found}, "header": {"fill_value": -999.0},
        "parameters": {key: {"units": unit, "longname": key} for key, unit in units.items()},
    })  # fmt: skip


def _open_meteo(days: Sequence[Reading]) -> dict[str, list[Any]]:
    return {
        "time": [str(d.date) for d in days], "weather_code": [3] * len(days),
        "temperature_2m_min": [d.low * 1.8 + 32 for d in days], "temperature_2m_max": [d.high * 1.8 + 32 for d in days],
        "relative_humidity_2m_mean": [d.humidity for d in days],
        "wind_speed_10m_mean": [d.wind / TO_2_M / 0.44704 for d in days],
        "precipitation_sum": [d.rain / 25.4 for d in days],
    }  # fmt: skip


UNITS = {"time": "iso8601", "weather_code": "wmo code", "temperature_2m_min": "°F", "temperature_2m_max": "°F",
         "relative_humidity_2m_mean": "%", "wind_speed_10m_mean": "mp/h", "precipitation_sum": "inch"}  # fmt: skip


def write_open_meteo(days: Sequence[Reading]) -> str:
    """Write the CSV of Open-Meteo, in American units."""
    columns = _open_meteo(days)
    names = [name if name == "time" else f"{name} ({UNITS[name]})" for name in columns]
    rows = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    head = "latitude,longitude,elevation,utc_offset_seconds\n52.54,13.41,123.45,0\n"
    return "\n".join([head, ",".join(names), *rows]) + "\n"


def write_open_meteo_json(days: Sequence[Reading]) -> str:
    """Write the JSON of Open-Meteo, in American units."""
    return json.dumps({"latitude": 52.5, "longitude": 13.4, "elevation": 123.45, "daily_units": UNITS,
                       "daily": _open_meteo(days)})  # fmt: skip


def write_dssat(days: Sequence[Reading]) -> str:
    """Write a `.WTH` file of DSSAT with wind at 10 m."""
    head = ("*WEATHER DATA : ours\n\n@ INSI      LAT     LONG  ELEV   TAV   AMP REFHT WNDHT\n"
            "  OURS   47.600 -122.300 123.45 10.0  10.0  2.00 10.00\n@DATE  SRAD  TMAX  TMIN  RAIN  RHUM"
            "  WIND")  # fmt: skip
    return _lines(head, days, lambda d: f"{d.date:%y%j} -99.0 {d.high:5.1f} {d.low:5.1f} {d.rain:5.1f} "
                                        f"{d.humidity:5.1f} {d.wind / TO_2_M * 86.4:9.4f}")  # fmt: skip


def write_pyfao56(days: Sequence[Reading]) -> str:
    """Write a `.wth` file of pyfao56 with wind at 10 m and dew points."""
    head = (f"{'*' * 72}\npyfao56: FAO-56 Evapotranspiration in Python\nWeather Data\n{'*' * 72}\n"
            "           S Reference crop - Short ('S') or Tall ('T')\n 123.4500000 Weather station elevation (z) (m)\n"
            "  10.0000000 Wind speed measurement height (m)\n\nDaily weather data:\n"
            "Year-DOY   Srad   Tmax   Tmin   Vapr   Tdew  RHmax  RHmin  Wndsp   Rain  ETref   MorP")  # fmt: skip

    def row(d: Reading) -> str:
        x = math.log(vapour(d) / 0.6108)
        return (f"{d.date:%Y-%j}   5.00 {d.high:6.2f} {d.low:6.2f}    NaN {237.3 * x / (17.27 - x):10.6f}    NaN "
                f"   NaN {d.wind / TO_2_M:9.6f} {d.rain:6.2f}   1.00      M")  # fmt: skip

    return _lines(head, days, row)


def write_pcse(days: Sequence[Reading]) -> str:
    """Write the CSV of PCSE."""
    head = ("## Site Characteristics\nCountry     = 'Nowhere'\nLongitude = 5.7; Latitude = 52.0; Elevation = 123.45; "
            "AngstromA = 0.18; AngstromB = 0.55; HasSunshine = False\n## Daily weather observations (missing values "
            "are NaN)\nDAY,IRRAD,TMIN,TMAX,VAP,WIND,RAIN,SNOWDEPTH")  # fmt: skip
    return _lines(head, days, lambda d: (
        f"{d.date:%Y%m%d},NaN,{d.low:.1f},{d.high:.1f},{vapour(d):.6f},{d.wind},{d.rain},NaN"))  # fmt: skip


def write_farm_gym(days: Sequence[Reading]) -> str:
    """Write the CSV of Farm-Gym, whose rows are numbered and whose wind is the strongest of the day."""
    head, first = "Day,Temperature,TemperatureMax,TemperatureMin,Humidity,Rain,Clouds,WindSpeed,WindDirection", days[0]
    return _lines(head, days, lambda d: (
        f"{(d.date - first.date).days},{(d.low + d.high) / 2:.2f},{d.high:.1f},{d.low:.1f},{d.humidity},{d.rain},50.0,"
        f"{d.wind / TO_2_M / 0.59 * 3.6},180.0"))  # fmt: skip


def ghcn_values(day: Reading) -> dict[str, int]:
    """Return the elements of a day in the units of GHCN-Daily."""
    return {"TMIN": round(10 * day.low), "TMAX": round(10 * day.high), "PRCP": round(10 * day.rain),
            "RHAV": round(day.humidity), "AWND": round(10 * day.wind / TO_2_M)}  # fmt: skip


def write_ghcn_days(days: Sequence[Reading]) -> str:
    """Write a `by_station` file of GHCN-Daily."""
    return "".join(f"XX000000001,{d.date:%Y%m%d},{name},{value},,,W,0700\n"
                   for d in days for name, value in ghcn_values(d).items())  # fmt: skip


def write_ghcn(
    days: Sequence[Reading], change: Callable[[datetime.date, str, int], tuple[int, str]] = lambda _, __, v: (v, " ")
) -> str:
    """Write a `.dly` file of GHCN-Daily; `change` may replace a value and its quality flag."""
    known, lines = {d.date: ghcn_values(d) for d in days}, []
    for year, month in sorted({(d.date.year, d.date.month) for d in days}):
        for name in ("TMIN", "TMAX", "PRCP", "RHAV", "AWND"):
            cells = [(-9999, " ")] * 31
            for number in range(1, calendar.monthrange(year, month)[1] + 1):
                if (day := datetime.date(year, month, number)) in known:
                    cells[number - 1] = change(day, name, known[day][name])
            text = "".join(f"{value:5d} {quality}W" for value, quality in cells)
            lines.append(f"XX000000001{year}{month:02d}{name}{text}\n")
    return "".join(lines)


WRITERS: dict[str, Callable[[Sequence[Reading]], str]] = {
    "": write_own, "NASA POWER": write_power, "NASA POWER JSON": write_power_json, "Open-Meteo": write_open_meteo,
    "Open-Meteo JSON": write_open_meteo_json, "DSSAT": write_dssat, "pyfao56": write_pyfao56, "PCSE": write_pcse,
    "Farm-Gym": write_farm_gym, "GHCN-Daily": write_ghcn, "GHCN-Daily by station": write_ghcn_days,
}  # fmt: skip
"""A writer of each format that is read."""
