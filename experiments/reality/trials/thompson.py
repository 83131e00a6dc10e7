"""Corn in five states, 1930 to 1962: the response to July rain and temperature, after a linear trend by state.

The generator makes 16 seasons for each state and year from the monthly means and totals of Thompson (1963): the mean
temperatures from May to August, the rain from June to August, and the rain before the season, which is spread over
September to May as in Des Moines. The other months and the spread of a day are taken from Des Moines. The soil is deep,
rich and at field capacity at sowing, because neither it nor the fertiliser is stated. Sizes are compared as a
percentage of the mean yield, since varieties and fertiliser differ from the model's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments.studies.common import wofost
from experiments.studies.common.rainfed import DEEP_SILT, list_rainfed
from experiments.studies.common.season_record import SeasonRecord, compute_air, watch_crop
from experiments.studies.common.trials import REPORTED, Case, make_trial_farm, run_seasons, tend

from .climates import DES_MOINES, Months, to_celsius, to_mm, write_climate
from .files import DATA, read_columns
from .measures import SEED

FILE = DATA / "trials" / "agridat-thompson.cornsoy.txt"
LATITUDES = {"Illinois": 40.0, "Indiana": 40.0, "Iowa": 42.0, "Missouri": 38.5, "Ohio": 40.3}
SOWN, DAYS, SEASONS = 130, 180, 16
"""10 May, assumed; days of a season; generated seasons of each state and year."""

DRIVERS = ("rain7", "temp7")
DRAWS = 2000
BEFORE = np.array([0, 1, 2, 3, 4, 8, 9, 10, 11])
"""Months of the rain before the season, September to May."""


def run(parameters: Any = None) -> dict[str, Any]:
    """Predict every state and year, then compare the responses; `parameters` are those of WOFOST, or None."""
    names = [f"{kind}{month}" for month in (6, 7, 8) for kind in ("rain", "temp")]
    columns = read_columns(FILE, ["state", "year", "rain0", "temp5", *names])
    weather = {name: values.astype(float) for name, values in columns.items() if name != "state"}
    state = columns["state"]
    record = grow(state, weather)
    yields = {"here": record["kg"].sum(-1).mean(1)}
    if parameters is not None:
        yields["wofost"] = grow_wofost(state, record, parameters)
    yields["measured"] = read_columns(FILE, ["corn"])["corn"].astype(float)
    drivers = np.stack([to_mm(weather["rain7"]), weather["temp7"] / 1.8], axis=1)
    found = {name: measure_response(state, weather["year"], drivers, values) for name, values in yields.items()}
    rows = {name: values.tolist() for name, values in yields.items()}
    return {
        "seasons": SEASONS,
        "state": state.tolist(),
        "year": weather["year"].tolist(),
        "yields": rows,
        "drivers": drivers.tolist(),
        "responses": found,
    }  # noqa: E501


def make_months(state: str, at: Mapping[str, float]) -> Months:
    """Return the months of a state and year; the spread between night and day is taken from Des Moines."""
    t_min, t_max, rain = (np.array(values) for values in (DES_MOINES.t_min, DES_MOINES.t_max, DES_MOINES.rain))
    rain[BEFORE] *= to_mm([at["rain0"]])[0] / rain[BEFORE].sum()
    for month in (5, 6, 7, 8):
        shift = to_celsius([at[f"temp{month}"]])[0] - (t_min + t_max)[month - 1] / 2
        t_min[month - 1] += shift
        t_max[month - 1] += shift
        if month > 5:
            rain[month - 1] = to_mm([at[f"rain{month}"]])[0]
    wet = np.clip(DES_MOINES.rainy * np.sqrt(rain / DES_MOINES.rain), 0.03, 0.6)
    return DES_MOINES._replace(name=state, latitude=LATITUDES[state], t_min=t_min, t_max=t_max, rain=rain, rainy=wet)


def grow(state: np.ndarray, weather: Mapping[str, np.ndarray]) -> SeasonRecord:
    """Return the daily records of all seasons, each (states and years, seasons, days)."""
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(state):
            site = Path(folder) / f"{i}.yaml"
            write_climate(make_months(name, {key: values[i] for key, values in weather.items()}), site)
            entities = [("Weather", {"extends": "base", "site": str(site)}), ("Soil", DEEP_SILT), ("Plant", "corn")]
            env = make_trial_farm(entities, day=SOWN, days=DAYS, site=str(site))
            cases.append(Case({"case": i}, env, jnp.float32(0.0)))
    return run_seasons(cases, lambda litres, farm: tend(farm, litres), watch_crop, SEASONS, REPORTED)


def grow_wofost(state: np.ndarray, record: SeasonRecord, parameters: Any) -> np.ndarray:
    """Return the yield in WOFOST of the first generated season of each state and year, kg of dry mass per m2."""
    crop = list_rainfed()["corn"]
    planted = wofost.WofostCrop(parameters, crop.crop, crop.variety)
    ground = wofost.describe_soil(DEEP_SILT)
    found = []
    for i, name in enumerate(state):
        air = compute_air({key: values[i, 0] for key, values in record.items()}, LATITUDES[name])
        found.append(wofost.grow(planted, air, SOWN + 1, LATITUDES[name], ground).kg)
    return np.array(found)


def measure_response(state: np.ndarray, year: np.ndarray, drivers: np.ndarray, yields: np.ndarray) -> dict[str, Any]:
    """Return the slopes of the yield over the drivers, in % of its mean per 10 mm and per degC, with intervals.

    Args:
        state, year: of each case.
        drivers: July rain, mm, and temperature, degC, (cases, 2).
        yields: (cases,).
    """
    years, generator = np.unique(year), np.random.default_rng(SEED)
    slopes = fit_slopes(state, year, drivers, yields)
    drawn = []
    for _ in range(DRAWS):  # whole years, which the states share
        rows = np.concatenate([np.flatnonzero(year == y) for y in generator.choice(years, len(years))])
        drawn.append(fit_slopes(state[rows], year[rows], drivers[rows], yields[rows]))
    ends = np.quantile(np.array(drawn), (0.025, 0.975), axis=0)
    scale = 100 / yields.mean() * np.array([10.0, 1.0])
    each = {
        name: {"percent": float(slopes[i] * scale[i]), "interval": (ends[:, i] * scale[i]).tolist()}
        for i, name in enumerate(DRIVERS)
    }
    return {"mean": float(yields.mean())} | each


def fit_slopes(state: np.ndarray, year: np.ndarray, drivers: np.ndarray, yields: np.ndarray) -> np.ndarray:
    """Return the slopes over the drivers, (2,), by least squares with an intercept and a trend for each state."""
    own = (state[:, None] == np.unique(state)).astype(float)
    columns = np.concatenate([own, own * (year - year.mean())[:, None], drivers - drivers.mean(0)], axis=1)
    return np.linalg.lstsq(columns, yields, rcond=None)[0][-2:]
