"""Tomato in 18 environments of Latin America (Ortiz et al. 2007): the rank of the mean yields.

Predicted from the mean temperature, the rain, whether the field was irrigated, and the nitrogen. The generator makes
days of the mean temperature; the range of a day is half of that between the lowest and the highest temperature of the
season, and the rain is spread evenly over the days to harvest. Latitudes have no sign, so that all seasons are sown in
the summer half of the year. The soil is a loam of 1 m with 4 g/m2 of nitrogen, rich in all else, at field capacity. An
irrigated field is watered when 30 % of the extractable water is used. Altitude, humidity and wind are assumed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments.studies.common.trials import (
    REPORTED,
    Case,
    TreatmentOrder,
    find_water_level,
    make_trial_farm,
    run_seasons,
    soil_of,
    tend,
    watch_harvest,
)
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.fertilizer import Fertilizer

from .climates import Months, write_climate
from .files import DATA, read_columns
from .measures import bootstrap, rank_correlation
from .nutrients import HECTARE, RICH, SPRING_NITROGEN, UREA

ENVIRONMENTS = DATA / "trials" / "agridat-ortiz.tomato.covs.txt"
YIELDS = DATA / "trials" / "agridat-ortiz.tomato.yield.txt"
DRIVERS = ("MeT", "MnT", "MxT", "Prec", "Dha", "Irr", "ExN", "Lat")
SOWN, DAYS, SEASONS = 135, 220, 32
MOIST = 0.7
SHOWER_LITRES = 20.0
RAIN_PER_DAY = 8.0
"""Rain on a rainy day, mm; assumed."""

ALTITUDE = 500.0


def run(parameters: Any = None) -> dict[str, Any]:
    """Predict the 18 environments, then compare their ranks; WOFOST has no tomato."""
    given = read_columns(ENVIRONMENTS, ["env", *DRIVERS])
    name = given["env"]
    predicted = predict(given)
    grown = read_columns(YIELDS, ["env", "yield"])
    of_env = [grown["yield"][grown["env"] == each] for each in name]
    measured = np.array([values[~np.isin(values, ("NA", ""))].astype(float).mean() for values in of_env])
    irrigated = given["Irr"] == "1"
    parts = {
        "all": np.arange(len(name)),
        "irrigated": np.flatnonzero(irrigated),
        "rain-fed": np.flatnonzero(~irrigated),
    }
    found = {}
    for part, rows in parts.items():
        here, there = predicted[rows], measured[rows]

        def rank(drawn: np.ndarray, here: np.ndarray = here, there: np.ndarray = there) -> float:
            return rank_correlation(here[drawn], there[drawn])

        found[part] = {"n": len(rows), "rho": rank_correlation(here, there), "interval": bootstrap(rank, len(rows))}
    return {
        "seasons": SEASONS, "environments": name.tolist(), "irrigated": irrigated.tolist(),
        "predicted_kg_m2": predicted.tolist(), "measured_t_ha": measured.tolist(), "ranks": found,
        "wofost": "no tomato in WOFOST",
    }  # fmt: skip


def predict(given: dict[str, np.ndarray]) -> np.ndarray:
    """Return the mean yield of each environment, kg per m2, from the columns of `DRIVERS`."""
    numbers = {name: given[name].astype(float) for name in DRIVERS}
    start = {f"{n}_{end}#g.m-2": g for n, g in {"N": SPRING_NITROGEN, **RICH}.items() for end in ("min", "max")}
    soil = {"extends": "loam", "depth#m": 1.0, "start": {"water_min#%": 1, "water_max#%": 1} | start}
    urea = float(np.asarray(Fertilizer.named("urea").shares)[0])
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(len(given["env"])):
            at = {name: values[i] for name, values in numbers.items()}
            site = Path(folder) / f"{i}.yaml"
            write_climate(make_months(at), site)
            entities = [
                ("Weather", {"extends": "base", "site": str(site)}), ("Soil", soil), ("Plant", "tomato"),
                ("Fertilizer", "urea"), ("Pollinators", "bee"),
            ]  # fmt: skip
            env = make_trial_farm(entities, [UREA], day=SOWN, days=DAYS, site=str(site))
            treatment = jnp.float32(at["ExN"] * HECTARE / urea), at["Irr"] > 0, find_water_level(env, MOIST)
            cases.append(Case({"case": i}, env, treatment))
    return run_seasons(cases, tend_tomato, watch_harvest, SEASONS, REPORTED)["kg"].sum(-1).mean(1)


def make_months(at: dict[str, float]) -> Months:
    """Return twelve equal months with the weather of an environment's season."""
    range_of_day = (at["MxT"] - at["MnT"]) / 2
    t_min, t_max = (np.full(12, at["MeT"] + side * range_of_day / 2) for side in (-1, 1))
    per_day = at["Prec"] / at["Dha"]
    rain, rainy = np.full(12, 30 * per_day), np.full(12, np.clip(per_day / RAIN_PER_DAY, 0.02, 0.6))
    return Months("tomato", at["Lat"], ALTITUDE, t_min, t_max, rain, rainy)


def tend_tomato(treatment: tuple[Any, Any, Any], state: FarmState) -> list[TreatmentOrder]:
    """Give the nitrogen on the first day, water an irrigated field when it is dry, and harvest ripe fruit."""
    urea, irrigated, level = treatment
    dry = irrigated & jnp.any(soil_of(state).water < level)
    return [*tend(state, SHOWER_LITRES, dry), (UREA, (state.day == 0) & (urea > 0), (urea,))]
