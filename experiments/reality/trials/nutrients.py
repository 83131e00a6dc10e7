"""Corn over nitrogen at five sites in Minnesota (2006), and over nitrogen and phosphorus in Iowa (1952 and 1953).

Hernandez and Mulla (2008) state neither weather nor soil in the data: the generator makes the weather of southern
Minnesota, and the soils are a deep loam in the west (Faribault, Waseca) and a deep silt in the east (Fillmore,
Olmsted), with 4 g/m2 of nitrate in spring and the humus of the package's soils. The trial of Heady, Pesek and Brown
(1955) was on an eroded silt loam in western Iowa that is poor in both nutrients: a deep silt with little of both; the
weather is from Des Moines. Their P is P2O5, and the second year had no fertiliser. Fertilisers are given with the seed:
urea, and the package's phosphorus.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from experiments.studies.common.trials import (
    REPORTED,
    Case,
    TreatmentOrder,
    crop_of,
    make_trial_farm,
    run_seasons,
    tend,
    watch_harvest,
)
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.fertilizer import Fertilizer
from harvestgym.farm.entities.plant.stages import Stage

from .climates import DES_MOINES, SOUTHERN_MINNESOTA, Months, write_climate
from .files import DATA, read_columns
from .measures import bootstrap, find_supply, rank_correlation

HERNANDEZ = DATA / "trials" / "agridat-hernandez.nitrogen.txt"
HEADY = DATA / "trials" / "agridat-heady.fertilizer.txt"
SOWN = 121
"""Day of the year, 1 May; assumed."""

YEAR, DAYS = 365, 200
"""Days from one sowing to the next, and days of a season."""

SEASONS = 32
LB_PER_ACRE = 0.4535924 / 4046.856
"""kg per m2."""

P2O5 = 0.4364
"""Share of phosphorus in P2O5."""

HECTARE = 1e-4
"""kg per m2 in one kg per ha."""

UREA, PHOSPHORUS = ("Fertilizer-0", "scatter"), ("Fertilizer-1", "scatter")
SOW = ("Plant-0", "sow")
PLANTS = 8
"""Plants per m2 of the package's corn, also in the second year, in a square grid."""
RICH = {"P": 20, "K": 60}
"""Stocks of the nutrients that are not limiting, g per m2, as on the validation card."""

SITES = {"S1": "loam", "S2": "silt", "S3": "loam", "S4": "loam", "S5": "silt"}
"""Soil texture of each site: Faribault, Fillmore, Waseca, Waseca and Olmsted."""

SPRING_NITROGEN = 4.0
"""Nitrate in spring, g per m2: 40 kg per ha, assumed."""

IDA = {"bedrocks_release_N#mg.day-1": 40, "bedrocks_release_P#mg.day-1": 5}
IDA_STOCKS = {"N": 2.0, "P": 0.5, "K": 60.0}
"""An eroded soil with half of the nitrogen and a third of the phosphorus that humus releases elsewhere; assumed."""


def run_hernandez(parameters: Any = None) -> dict[str, Any]:
    """Predict the five sites over nitrogen, then compare with the yields; WOFOST 7.2 has no nitrogen."""
    treated = read_columns(HERNANDEZ, ["site", "nitro"])
    nitrogen = treated["nitro"].astype(float)
    levels = {site: np.unique(nitrogen[treated["site"] == site]) for site in SITES}
    predicted = {site: predict_nitrogen(texture, levels[site]) for site, texture in SITES.items()}
    measured = read_columns(HERNANDEZ, ["yield"])["yield"].astype(float)
    found = {}
    for site, supply in levels.items():
        mine = treated["site"] == site
        means = np.array([measured[mine & (nitrogen == level)].mean() for level in supply])
        found[site] = {"nitrogen_kg_ha": supply.tolist()} | compare_responses(predicted[site], means)
        for name, response in (("predicted", predicted[site]), ("measured", means)):
            found[site][f"{name}_nitrogen_at_95_percent"] = find_supply(supply, response)
    reached = sum(site["rho"] >= 0.8 for site in found.values())
    return {"seasons": SEASONS, "sites": found, "sites_with_rho_of_0.8": reached, "wofost": "no nitrogen in WOFOST 7.2"}


def run_heady(parameters: Any = None) -> dict[str, Any]:
    """Predict two years over both nutrients, then compare with the yields; WOFOST 7.2 has no nutrients."""
    treated = read_columns(HEADY, ["crop", "P", "N"])
    first, second = ((treated["crop"] == crop) & ~_unknown(treated) for crop in ("corn", "corn2"))
    levels = np.unique(np.stack([treated[name][first].astype(float) for name in "NP"]), axis=1).T
    predicted = predict_two_nutrients(levels)
    measured, found = read_columns(HEADY, ["yield"])["yield"], {}
    for i, (year, mine) in enumerate((("1952", first), ("1953", second))):
        known = mine & ~np.isin(measured, ("NA", ""))
        given = np.stack([treated[name][known].astype(float) for name in "NP"], axis=1)
        yields = measured[known].astype(float)
        rows = [(given == level).all(1) for level in levels]
        kept = np.array([row.any() for row in rows])
        means = np.array([yields[row].mean() for row in rows if row.any()])
        found[year] = {"N_P2O5_lb_acre": levels[kept].tolist()} | compare_responses(predicted[kept, i], means)
        for name, response in (("predicted", predicted[kept, i]), ("measured", means)):
            found[year] |= find_supplies(levels[kept], response, name)
    return {"seasons": SEASONS, "years": found, "wofost": "no nutrients in WOFOST 7.2"}


def _unknown(treated: Mapping[str, np.ndarray]) -> np.ndarray:
    return (treated["N"] == "NA") | (treated["P"] == "NA")


def compare_responses(predicted: np.ndarray, measured: np.ndarray) -> dict[str, Any]:
    """Return relative yields, their RMSE, and the rank correlation with its interval over treatments."""
    here, there = (values / max(values.max(), 1e-9) for values in (predicted, measured))
    return {
        "predicted_kg_m2": predicted.tolist(), "measured": measured.tolist(),
        "rmse_of_relative_yield": float(np.sqrt(np.mean((here - there) ** 2))),
        "rho": rank_correlation(here, there),
        "rho_interval": bootstrap(lambda rows: rank_correlation(here[rows], there[rows]), len(here), 2000),
    }  # fmt: skip


def find_supplies(levels: np.ndarray, response: np.ndarray, name: str) -> dict[str, float]:
    """Return the supply of N (and of P2O5) at 95 % of the largest mean yield, over all levels of the other nutrient."""
    found = {}
    for i, nutrient in enumerate(("N", "P2O5")):
        given = np.unique(levels[:, i])
        means = np.array([response[levels[:, i] == level].mean() for level in given])
        found[f"{name}_{nutrient}_at_95_percent"] = find_supply(given, means)
    return found


def predict_nitrogen(texture: str, levels: np.ndarray) -> np.ndarray:
    """Return the mean yield, kg per m2, for each amount of nitrogen, kg per ha."""
    soil = _make_soil(texture, {"N": SPRING_NITROGEN, **RICH})
    urea = levels * HECTARE / _share("urea", 0)
    return _grow(soil, SOUTHERN_MINNESOTA, urea, np.zeros_like(urea), 1)[:, 0]


def predict_two_nutrients(levels: np.ndarray) -> np.ndarray:
    """Return the mean yields of two years, kg per m2, (levels, 2), for N and P2O5, lb per acre, (levels, 2)."""
    given = levels * LB_PER_ACRE
    urea, phosphorus = given[:, 0] / _share("urea", 0), given[:, 1] * P2O5 / _share("basic_P", 1)
    return _grow({**_make_soil("silt", IDA_STOCKS), **IDA}, DES_MOINES, urea, phosphorus, 2)


def _share(product: str, nutrient: int) -> float:
    return float(np.asarray(Fertilizer.named(product).shares)[nutrient])


def _make_soil(texture: str, stocks: Mapping[str, float]) -> dict[str, Any]:
    """Return a soil of 1.5 m at field capacity."""
    start = {f"{name}_{end}#g.m-2": grams for name, grams in stocks.items() for end in ("min", "max")}
    return {"extends": texture, "depth#m": 1.5, "start": {"water_min#%": 1, "water_max#%": 1} | start}


def _grow(soil: Any, months: Months, urea: np.ndarray, phosphorus: np.ndarray, years: int) -> np.ndarray:
    """Return the mean harvest of each year, (treatments, years), kg per m2; fertilisers in kg per m2."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "climate.yaml"
        write_climate(months, site)
        entities = [
            ("Weather", {"extends": "base", "site": str(site)}), ("Soil", soil), ("Plant", "corn"),
            ("Fertilizer", "urea"), ("Fertilizer", "basic_P"),
        ]  # fmt: skip
        days = YEAR * (years - 1) + DAYS
        env = make_trial_farm(entities, [UREA, PHOSPHORUS, SOW], day=SOWN, days=days, site=str(site))
    cases = [
        Case({"case": i}, env, (jnp.float32(u), jnp.float32(p)))
        for i, (u, p) in enumerate(zip(urea, phosphorus, strict=True))
    ]  # noqa: E501
    kg = run_seasons(cases, fertilize, watch_harvest, SEASONS, REPORTED)["kg"].mean(1)
    return np.stack([kg[:, YEAR * year : YEAR * (year + 1)].sum(1) for year in range(years)], axis=1)


def fertilize(treatment: tuple[Any, Any], state: FarmState) -> list[TreatmentOrder]:
    """Give both fertilisers with the first seed, sow again a year later, and harvest ripe corn; nobody waters."""
    urea, phosphorus = treatment
    empty = jnp.all(crop_of(state).stage == Stage.NONE)
    first = state.day == 0
    return [
        *tend(state, 0.0), (UREA, first & (urea > 0), (urea,)), (PHOSPHORUS, first & (phosphorus > 0), (phosphorus,)),
        (SOW, empty & (state.day == YEAR), (PLANTS, 100 / PLANTS**0.5)),
    ]  # fmt: skip
