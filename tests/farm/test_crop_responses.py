"""Whole seasons of a crop: how its yield follows nitrogen, the life of its soil, the light and the frost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from experiments.studies.card import water_when_dry
from experiments.studies.common.trials import (
    APRIL,
    MAY,
    Case,
    crop_of,
    find_water_level,
    make_trial_farm,
    run_seasons,
    watch_harvest,
)
from harvestgym.farm.engine.state import DayReport, FarmState
from harvestgym.farm.entities.messages import NUTRIENTS
from harvestgym.farm.entities.plant.state import CAUSES
from tests.long_form import long, some

CROPS = ("bean", "corn", "tomato", "carrots")
SOME_CROPS = some(CROPS, "corn")
SEASONS, DAYS, SEED = 300, 240, 8
MOIST = 0.7
YEAR = 365
JANUARY = 1

WORN = {
    "microlife_recovery#day-1": 0.005, "bedrocks_release_N#mg.day-1": 20, "bedrocks_release_P#mg.day-1": 4,
    "bedrocks_release_K#mg.day-1": 20, "bedrocks_release_C#mg.day-1": 5,
}  # fmt: skip
"""A loam with little humus, whose life does not come back within a season."""

PLENTY = {"N": 20.0, "P": 8.0, "K": 30.0, "C": 10.0}
"""Stocks of a soil that lacks nothing, g.m-2."""


def start(life: float = 90.0, **stocks: float) -> dict[str, float]:
    """Return the start of a soil of such a life with these stocks, g.m-2, and plenty of the others."""
    given = {f"{n}_{end}#g.m-2": (PLENTY | stocks)[n] for n in NUTRIENTS for end in ("min", "max")}
    return {"microlife_health_index#%": life, **given}


def watch(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    crop = crop_of(state)
    return watch_harvest(state, report) | {"cause": crop.cause_of_death[0, 0]}


def season(crop: str, soil: Mapping[str, Any], weather: Any = "montpellier", day: int = APRIL) -> Case:
    """Return a watered season of a crop with bees."""
    entities = [("Weather", weather), ("Soil", {"extends": "loam", **soil}), ("Plant", crop), ("Pollinators", "bee")]
    env = make_trial_farm(entities, day=day, days=DAYS)
    return Case({}, env, find_water_level(env, MOIST))


def run(cases: Sequence[Case]) -> dict[str, np.ndarray]:
    """Return the record of some cases, all in the same seasons; of eight at a time, so that they share a program."""
    return run_seasons(cases, water_when_dry, watch, SEASONS, SEED)


def yields(cases: Sequence[Case]) -> np.ndarray:
    """Return the mean harvest of each case, kg.m-2."""
    return run(cases)["kg"].sum(-1).mean(-1)


@long
@pytest.mark.parametrize("crop", SOME_CROPS)
def test_yield_rises_with_nitrogen_until_there_is_enough(crop: str) -> None:
    stocks = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 40.0)
    kg = yields([season(crop, {**WORN, "start": start(N=stock)}) for stock in stocks])
    assert (np.diff(kg) >= -0.02 * kg.max()).all(), kg
    assert kg[0] < 0.5 * kg[-1] and kg[-1] == pytest.approx(kg[-2], rel=0.01)


@long
@pytest.mark.parametrize("crop", SOME_CROPS)
def test_a_sick_soil_never_yields_more_than_a_living_one(crop: str) -> None:
    """On poor and on rich soils."""
    lives, stocks = (10.0, 30.0, 60.0, 100.0), (2.0, 16.0)
    poor = [{"N": stock, "P": stock / 3, "K": stock, "C": stock / 3} for stock in stocks]
    cases = [season(crop, {**WORN, "start": start(life, **each)}) for each in poor for life in lives]
    kg = yields(cases).reshape(len(stocks), len(lives))
    assert (np.diff(kg, axis=1) > 0).all(), kg


def constant_sky(spread: float) -> pd.DataFrame:
    """Return a year of dry days of 23 degC whose nights and noons are so far apart: the clearer, the farther."""
    day = {"Tmin": 23 - spread / 2, "Tmax": 23 + spread / 2, "T": 23.0, "RH": 60.0, "U": 2.0, "Rain": 0.0}
    return pd.DataFrame({name: np.full(YEAR, value) for name, value in day.items()})


@long
@pytest.mark.parametrize("crop", SOME_CROPS)
def test_a_dull_season_yields_less(crop: str) -> None:
    """Radiation by the range of temperature (FAO-56 eq. 50): about 9, 17 and 24 MJ a day in June."""
    skies = [{"extends": "dry", "table": constant_sky(spread), "rain": "mm"} for spread in (2.0, 7.0, 14.0)]
    dull, middling, bright = yields([season(crop, {"start": start()}, sky, day=MAY) for sky in skies])
    assert dull < 0.9 * middling and middling < 1.02 * bright


@pytest.fixture(scope="module")
def sowings() -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Return seasons in Lille of every crop, sown on 1 January and on 15 May."""
    keys = [(crop, day) for day in (JANUARY, MAY) for crop in CROPS]
    record = run([season(crop, {"start": start()}, "lille", day) for crop, day in keys])
    return {key: {name: values[i] for name, values in record.items()} for i, key in enumerate(keys)}


Sowings = dict[tuple[str, int], dict[str, np.ndarray]]


def ripened(record: dict[str, np.ndarray]) -> float:
    """Return the share of seasons with a harvest."""
    return float((record["kg"].sum(-1) > 0).mean())


@long
def test_no_tender_crop_survives_a_winter_in_lille(sowings: Sowings) -> None:
    """Their seeds stay in the cold soil until they are too old; a seedling that comes up dies of cold."""
    for crop in ("bean", "tomato", "corn"):
        record = sowings[crop, JANUARY]
        assert ripened(record) == 0, crop
        assert {CAUSES[cause] for cause in record["cause"].max(-1)} <= {"seed: age", "grow: cold"}, crop


@long
def test_carrots_bear_what_kills_beans(sowings: Sowings) -> None:
    assert ripened(sowings["carrots", JANUARY]) > 0.2 > ripened(sowings["bean", JANUARY])


@long
@pytest.mark.parametrize("crop", CROPS)
def test_crops_sown_in_may_are_spared(crop: str, sowings: Sowings) -> None:
    """Tomatoes sown outdoors are often late: frost takes the fruits that are green in autumn."""
    share = ripened(sowings[crop, MAY])
    assert 0.2 < share < 0.8 if crop == "tomato" else share > 0.95
