"""Rain-fed maize in two models: twenty seasons here and in WOFOST 7.2, with the same weather and soil.

No farm parameter was chosen with the help of WOFOST. The WOFOST seasons are stored in `wofost_maize.csv`, written by
`experiments/make_wofost_reference.py`, which needs pcse; the comparison does not. Grain is dry mass in both.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.farm.entities.plant.stages import Stage

from .season_record import SeasonRecord, compute_air, find_standing_days, watch_crop
from .trials import MAY, Case, make_trial_farm, run_seasons, tend

WOFOST_FILE = Path(__file__).with_name("wofost_maize.csv")
RAINFED_SITES = ("debrecen", "isparta", "lille", "montpellier")
SEASONS_PER_SITE = 5
RAINFED_DAYS = 240
RAINFED_SEED = 2026
SOIL_DEPTH = 1.5
DEEP_SILT = {"extends": "silt", "depth#m": SOIL_DEPTH, "start": {"water_min#%": 1, "water_max#%": 1}}
"""A deep soil for a crop without irrigation, at field capacity; WOFOST has the same water and depth."""

ESTABLISHED = 20
"""Number of days after which a stand counts as established."""

DRY_GRAIN = 0.885
"""Dry mass fraction of the farm's grain, from FAO's crop information: 10 to 13 % moisture."""

RAINFED_MEASURES = {
    "to_flowers": "sowing to flowers, days", "total": "sowing to ripe, days", "grain": "grain, kg.m-2 of dry mass",
    "water": "evapotranspiration, mm",
}  # fmt: skip


class ModelPair(NamedTuple):
    """A measure of the same seasons in both models, and their agreement.

    Attributes:
        here, there: a value per season; NaN where the stage was not reached.
    """

    name: str
    here: np.ndarray
    there: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """Return whether both models have a value."""
        return ~np.isnan(self.here) & ~np.isnan(self.there)

    @property
    def bias(self) -> float:
        """Return the mean difference, `here` minus `there`."""
        return float((self.here - self.there)[self.known].mean())

    @property
    def error(self) -> float:
        """Return the root mean square difference."""
        return float(np.sqrt(np.square((self.here - self.there)[self.known]).mean()))

    @property
    def correlation(self) -> float:
        """Return Pearson's correlation over the seasons."""
        return float(np.corrcoef(self.here[self.known], self.there[self.known])[0, 1])


def grow_rainfed_maize() -> SeasonRecord:
    """Return the daily records of the seasons, each (sites, seasons, days); nobody waters."""
    cases = [_make_case(site) for site in RAINFED_SITES]
    return run_seasons(cases, lambda litres, state: tend(state, litres), watch_crop, SEASONS_PER_SITE, RAINFED_SEED)


def _make_case(site: str) -> Case:
    entities = [("Weather", site), ("Soil", DEEP_SILT), ("Plant", "corn")]
    env = make_trial_farm(entities, day=MAY, days=RAINFED_DAYS, site=site)
    return Case({"site": site}, env, jnp.float32(0.0))


def measure_rainfed(record: SeasonRecord) -> dict[str, np.ndarray]:
    """Return the measures of each season, one site after another.

    Dates are NaN if the stage was not reached. All measures are NaN if frost killed the seedlings, since WOFOST has no
    frost.
    """
    stands = find_standing_days(record)
    lost = (record["transpired"] + record["evaporated"])[..., 1:]
    ripe, stage = record["kg"].sum(-1) > 0, record["stage"]
    young = ((stage > Stage.NONE) & (stage < Stage.BLOOM)).sum(-1)
    flowered = (stage >= Stage.BLOOM).any(-1) & (stage != Stage.DEAD).all(-1)
    found = {
        "to_flowers": np.where(flowered | ripe, young, np.nan), "total": np.where(ripe, stands.sum(-1), np.nan),
        "grain": DRY_GRAIN * record["kg"].sum(-1), "water": (lost * stands).sum(-1),
    }  # fmt: skip
    stood = stands.sum(-1) > ESTABLISHED
    return {name: np.where(stood, values, np.nan).ravel() for name, values in found.items()}


def describe_weather(record: SeasonRecord) -> dict[str, np.ndarray]:
    """Return the mean temperature and rain of each season, which identify the reference that belongs to it."""
    air = compute_air(record, 0.0)
    return {"t_mean": air["t_mean"].mean(-1).ravel(), "rain": air["rain"].sum(-1).ravel()}


def read_reference() -> dict[str, np.ndarray]:
    """Read the WOFOST seasons as an array per column; empty cells are NaN."""
    with WOFOST_FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    numbers = {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0] if name != "site"}
    return numbers | {"site": np.array([row["site"] for row in rows])}


def compare_models(found: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> list[ModelPair]:
    """Pair the measures from both models."""
    return [ModelPair(name, found[name], reference[name]) for name in RAINFED_MEASURES]


def tabulate_models(pairs: Sequence[ModelPair]) -> Table:
    """Tabulate means, bias, error and correlation."""
    title = f"rain-fed maize, predicted: here and in WOFOST 7.2 (water-limited), {len(pairs[0].here)} seasons"
    columns = ("measure", "seasons", "here", "WOFOST", "bias", "root mean square", "correlation")
    rows = [
        (
            RAINFED_MEASURES[pair.name], str(int(pair.known.sum())), _format_sd(pair.here[pair.known]),
            _format_sd(pair.there[pair.known]), f"{pair.bias:+.3g}", f"{pair.error:.3g}", f"{pair.correlation:.2f}",
        )
        for pair in pairs
    ]  # fmt: skip
    return Table(title, columns, rows)


def _format_sd(values: np.ndarray) -> str:
    return f"{values.mean():.3g} ± {values.std():.2g}"
