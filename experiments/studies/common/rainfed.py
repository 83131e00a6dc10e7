"""Rain-fed crops in two models: twenty seasons each here and in WOFOST 7.2, with the same weather and soil.

The WOFOST seasons are stored in `wofost_seasons.csv`, written by `experiments/make_wofost_reference.py`, which needs
pcse; the comparison does not. Yields are dry mass in both. WOFOST 7.2 does not model a lack of nutrients, so the soil
here is rich.
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

from .published import read_published
from .season_record import SeasonRecord, compute_air, find_standing_days, watch_crop
from .trials import Case, make_trial_farm, run_seasons, tend

WOFOST_FILE = Path(__file__).with_name("wofost_seasons.csv")
SEASONS = 20
RAINFED_SEED = 2026
SPARE_DAYS = 100
"""Days of a season after the latest published day of ripeness."""

SOIL_DEPTH = 1.5
STOCKS = {"N": 40, "P": 20, "K": 60}
"""Nutrients in the soil, g per m2: more than any of the crops takes up."""

DEEP_SILT = {
    "extends": "silt", "depth#m": SOIL_DEPTH,
    "start": {"water_min#%": 1, "water_max#%": 1}
    | {f"{name}_{end}#g.m-2": grams for name, grams in STOCKS.items() for end in ("min", "max")},
}  # fmt: skip
"""A deep, rich soil for a crop without irrigation, at field capacity; WOFOST has the same water and depth."""

ESTABLISHED = 20
"""Number of days after which a stand counts as established."""

RAINFED_MEASURES = {
    "to_flowers": "sowing to flowers, days", "total": "sowing to ripe, days", "yield": "yield, kg.m-2 of dry mass",
    "water": "evapotranspiration, mm",
}  # fmt: skip


class RainfedCrop(NamedTuple):
    """A crop that both models have, as in `card.yaml`.

    Attributes:
        crop, variety: WOFOST's names.
        dry: dry mass fraction of the farm's harvest.
        sites: weather sites, with equal numbers of seasons.
        sown: day of the year of sowing.
        days: length of a season.
    """

    crop: str
    variety: str
    dry: float
    sites: tuple[str, ...]
    sown: int
    days: int


def list_rainfed() -> dict[str, RainfedCrop]:
    """Return the crops that both models have, by their names here."""
    found = {}
    for name, said in read_published().items():
        if "rainfed" in said:
            all_of_it = {**said, "days": said["total"]["high"] + SPARE_DAYS, **said["rainfed"]}
            all_of_it["sites"] = tuple(all_of_it["sites"])
            found[name] = RainfedCrop(**{field: all_of_it[field] for field in RainfedCrop._fields})
    return found


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
        """Return the mean difference, `here` minus `there`; NaN without a season."""
        return _mean(self.here - self.there)

    @property
    def error(self) -> float:
        """Return the root mean square difference; NaN without a season."""
        return float(np.sqrt(_mean(np.square(self.here - self.there))))

    @property
    def correlation(self) -> float:
        """Return Pearson's correlation over the seasons; NaN if fewer than three, or all alike in one of the models."""
        pair = np.stack([self.here, self.there])[:, self.known]
        return float(np.corrcoef(pair)[0, 1]) if pair.shape[1] >= 3 and pair.std(1).all() else np.nan


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else np.nan


def grow_rainfed(name: str, seasons: int = SEASONS) -> SeasonRecord:
    """Return the daily records of a crop's seasons, each (sites, seasons per site, days); nobody waters."""
    crop = list_rainfed()[name]
    cases = [_make_case(name, crop, site) for site in crop.sites]
    each = seasons // len(crop.sites)
    return run_seasons(cases, lambda litres, state: tend(state, litres), watch_crop, each, RAINFED_SEED)


def _make_case(name: str, crop: RainfedCrop, site: str) -> Case:
    entities = [("Weather", site), ("Soil", DEEP_SILT), ("Plant", name), ("Pollinators", "bee")]
    env = make_trial_farm(entities, day=crop.sown, days=crop.days, site=site)
    return Case({"site": site}, env, jnp.float32(0.0))


def measure_rainfed(record: SeasonRecord, dry: float) -> dict[str, np.ndarray]:
    """Return the measures of each season, one site after another; `dry` is the dry fraction of the harvest.

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
        "yield": dry * record["kg"].sum(-1), "water": (lost * stands).sum(-1),
    }  # fmt: skip
    stood = stands.sum(-1) > ESTABLISHED
    return {name: np.where(stood, values, np.nan).ravel() for name, values in found.items()}


def describe_weather(record: SeasonRecord) -> dict[str, np.ndarray]:
    """Return the mean temperature and rain of each season, which identify the matching reference season."""
    air = compute_air(record, 0.0)
    return {"t_mean": air["t_mean"].mean(-1).ravel(), "rain": air["rain"].sum(-1).ravel()}


def read_reference() -> dict[str, dict[str, np.ndarray]]:
    """Read the WOFOST seasons of each crop as an array per column; empty cells are NaN."""
    with WOFOST_FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    found: dict[str, dict[str, np.ndarray]] = {}
    for crop in dict.fromkeys(row["crop"] for row in rows):
        mine = [row for row in rows if row["crop"] == crop]
        numbers = {n: np.array([float(row[n] or "nan") for row in mine]) for n in mine[0] if n not in ("crop", "site")}
        found[crop] = numbers | {"site": np.array([row["site"] for row in mine])}
    return found


def compare_models(found: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> list[ModelPair]:
    """Pair the measures from both models."""
    return [ModelPair(name, found[name], reference[name]) for name in RAINFED_MEASURES]


def compare_rainfed(crops: Sequence[str]) -> dict[str, list[ModelPair]]:
    """Grow these crops here, those that WOFOST has, and pair their measures with WOFOST's."""
    rainfed, reference = list_rainfed(), read_reference()
    both = [crop for crop in crops if crop in rainfed and crop in reference]
    return {
        crop: compare_models(measure_rainfed(grow_rainfed(crop), rainfed[crop].dry), reference[crop]) for crop in both
    }


def tabulate_models(pairs: Mapping[str, Sequence[ModelPair]]) -> Table:
    """Tabulate means, bias, error and correlation of each crop."""
    title = f"rain-fed crops, predicted: here and in WOFOST 7.2 (water-limited), {SEASONS} seasons each"
    columns = ("crop", "measure", "seasons", "here", "WOFOST", "bias", "root mean square", "correlation")
    rows = [
        (
            crop, RAINFED_MEASURES[pair.name], str(int(pair.known.sum())), _format_sd(pair.here[pair.known]),
            _format_sd(pair.there[pair.known]), *_format_errors(pair),
        )
        for crop, measures in pairs.items()
        for pair in measures
    ]  # fmt: skip
    return Table(title, columns, rows)


def _format_errors(pair: ModelPair) -> tuple[str, str, str]:
    """Return the bias, the error and the correlation; empty if the crop ripened in no season of both models."""
    numbers = f"{pair.bias:+.3g}", f"{pair.error:.3g}", f"{pair.correlation:.2f}"
    return numbers if pair.known.any() else ("", "", "")


def _format_sd(values: np.ndarray) -> str:
    return f"{values.mean():.3g} ± {values.std():.2g}" if values.size else ""
