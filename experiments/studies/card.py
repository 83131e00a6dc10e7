"""The validation card: three crops on four soils, compared with published ranges.

Each season starts near Montpellier at the end of April, and crops lack nothing: bees come, and the soil is watered when
it has lost a quarter of its extractable water. The card shows means with 95 % intervals over the seasons in which crops
ripen. It separates calibrated measures, for which parameters were chosen to meet the published ranges, from
predictions: the water used in a season, the yield response to a dry season, rain-fed maize compared with WOFOST
(`common/rainfed.py`), and published experiments (`common/experiments.py`). The published ranges are frozen
(`card.yaml`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.core.yaml_io import read_file
from harvestgym.evaluate.statistics import ConfidenceInterval
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.sweep.batches import LOCAL, EngineOptions
from harvestgym.sweep.cases import CallCase
from harvestgym.sweep.engine import collect

from .common import fao56
from .common.experiments import predict_experiment, read_experiments, tabulate_predictions
from .common.findings import bootstrap
from .common.rainfed import compare_models, grow_rainfed_maize, measure_rainfed, read_reference, tabulate_models
from .common.report import open_figure, write_seasons
from .common.season_record import compute_air, find_standing_days, watch_crop
from .common.trials import (
    APRIL,
    CROPS,
    REPORTED,
    Case,
    TreatmentOrder,
    find_water_level,
    make_trial_farm,
    run_seasons,
    soil_of,
    tend,
)
from .common.yield_response import measure_yield_response

CARD_SOILS = ("clay", "silt", "loam", "sand")
SEASON_DAYS = 200
LATITUDE = 43.6
MOIST, SHOWER = 0.75, 20.0
RANGED = {
    "to_flowers": "sowing to flowers, days", "total": "sowing to ripe, days", "height": "height, m",
    "yield": "yield as harvested, kg.m-2", "water": "evapotranspiration, mm",
}  # fmt: skip
GROWTH = {"seed": Stage.SEED, "grow": Stage.GROW, "bloom": Stage.BLOOM, "fruit": Stage.FRUIT}
SHARES = {"single": "evapotranspiration to K_c ET_0"}
CALIBRATED = ("to_flowers", "total", "height", "yield")
"""Measures for which parameters were chosen to meet the ranges. The others are predicted, with K_cb of that source."""
CALIBRATED_PERIODS = ("vegetative", "flowering", "yield formation")
FIFTH = (0.8, 1.2)
RANGES_FILE = Path(__file__).with_name("card.yaml")
TABLE_TITLE = "means with 95 % intervals; ! marks one outside the published range"
RESPONSE_SOIL = "loam"
RESPONSE_TITLE = "yield response to water on loam, compared with full supply; ! marks a K_y more than a fifth off"
RESPONSE_COLUMNS = (
    "crop", "dry period", "kind", "less water in it, %", "less yield, %", "died, %", "K_y", "K_y of FAO-33",
)  # fmt: skip


class CardLine(NamedTuple):
    """A line of the card: a measure for a crop on a soil, and its published range."""

    crop: str
    soil: str
    name: str
    found: ConfidenceInterval
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Return whether the mean lies in the published range."""
        return self.low <= self.found.value <= self.high


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
    work: Path | None = None,
    options: EngineOptions = LOCAL,
) -> list[Table]:
    """Tabulate the calibrated and the predicted measures, and the sources of the published ranges.

    Args:
        replicates, out, progress: as in every study; progress counts crops.
        crops: parameter sets of the plant.
        seed: seed of the seasons.
        work, options: where the cases (one per crop) are stored and run; see `harvestgym.sweep.engine.collect`.
    """
    common = {"replicates": replicates, "seed": seed}
    cases = [CallCase(function=f"{__name__}:run_crop", arguments={"crop": crop} | common) for crop in crops]
    measured: list[dict[str, np.ndarray]] = []
    lines: list[CardLine] = []
    stages: list[tuple[str, ...]] = []
    responses: list[tuple[str, ...]] = []
    for crop, record in zip(crops, collect(cases, work, options, progress), strict=True):
        found = measure_seasons(record, read_published()[crop])
        lines += _lines(crop, found)
        stages += _stage_rows(crop, found)
        responses += _response_rows(crop, replicates, seed)
        measured.append(found)
    if out is not None:
        columns = {name: np.concatenate([found[name] for found in measured]) for name in measured[0]}
        labels = {"crop": np.repeat(crops, len(CARD_SOILS)), "soil": np.tile(CARD_SOILS, len(crops))}
        write_seasons(out / "card.parquet", labels, columns)
        _draw(lines, out / "card.png")
    lengths = Table("days in each stage: means with 95 % intervals", ("crop", "stage", "FAO-56", *CARD_SOILS), stages)
    calibrated = [line for line in lines if line.name in CALIBRATED]
    predicted = [line for line in lines if line.name not in CALIBRATED]
    return [
        _table(f"calibrated: {TABLE_TITLE}", calibrated),
        _table(f"predicted: {TABLE_TITLE}", predicted),
        Table(RESPONSE_TITLE, RESPONSE_COLUMNS, responses),
        *predict_elsewhere(crops, replicates, seed),
        lengths,
        _sources(crops),
    ]


def predict_elsewhere(crops: Sequence[str], replicates: int, seed: int) -> list[Table]:
    """Compare rain-fed maize with WOFOST, and these crops with published experiments."""
    found = [p for crop in crops if crop in read_experiments() for p in predict_experiment(crop, replicates, seed)]
    tables = [tabulate_predictions(found)] if found else []
    if "corn" not in crops:
        return tables
    return [tabulate_models(compare_models(measure_rainfed(grow_rainfed_maize()), read_reference())), *tables]


def run_crop(crop: str, replicates: int, seed: int) -> dict[str, np.ndarray]:
    """Run a crop's seasons on each soil; return the records of `watch_crop`, each (soils, seasons, days)."""
    cases = [_make_case(crop, soil) for soil in CARD_SOILS]
    return run_seasons(cases, water_when_dry, watch_crop, replicates, seed)


def read_published() -> Mapping[str, Any]:
    """Read the published ranges of each crop, with their sources (card.yaml)."""
    return {crop: ranges for crop, ranges in read_file(RANGES_FILE).items() if crop != "frozen"}


def water_when_dry(level: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Water the soil when it has less than `level`, L."""
    return tend(state, SHOWER, jnp.any(soil_of(state).water < level))


def measure_seasons(record: Mapping[str, np.ndarray], ranges: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the measures of each season, each (soils, seasons); NaN where nothing ripened."""
    stands = find_standing_days(record)
    ripe = record["kg"].sum(-1) > 0
    lived, lost = stands.sum(-1), ((record["transpired"] + record["evaporated"])[..., 1:] * stands).sum(-1)
    young = (record["stage"] > Stage.NONE) & (record["stage"] < Stage.BLOOM)
    single = _sum_demand(compute_air(record, LATITUDE)["et0"], stands, ranges)
    found = {
        "to_flowers": young.sum(-1), "total": lived, "height": record["size"].max(-1) / 100,
        "yield": record["kg"].sum(-1), "water": lost, "single": lost / single,
    } | {name: (record["stage"] == stage).sum(-1) for name, stage in GROWTH.items()}  # fmt: skip
    return {name: np.where(ripe, values, np.nan) for name, values in found.items()}


def _sum_demand(et0: np.ndarray, stands: np.ndarray, ranges: Mapping[str, Any]) -> np.ndarray:
    """Return the FAO-56 water demand over the days on which the crop stood, in mm per season, at least 1."""
    demand = np.ones(et0.shape[:-1])
    for at in np.ndindex(demand.shape):
        curve = fao56.coefficients(int(stands[at].sum()), ranges["stages"], ranges["kc"])
        demand[at] = max(float((curve * et0[at][stands[at]]).sum()), 1.0)
    return demand


def _make_case(crop: str, soil: str) -> Case:
    entities = [("Weather", "montpellier"), ("Soil", soil), ("Plant", crop), ("Pollinators", "bee")]
    env = make_trial_farm(entities, day=APRIL, days=SEASON_DAYS)
    return Case({"crop": crop, "soil": soil}, env, find_water_level(env, MOIST))


def _lines(crop: str, found: Mapping[str, np.ndarray]) -> list[CardLine]:
    mean = partial(np.nanmean, axis=-1)
    ranges = read_published()[crop]
    bounds = {name: (ranges[name]["low"], ranges[name]["high"]) for name in RANGED} | dict.fromkeys(SHARES, FIFTH)
    return [
        CardLine(crop, soil, name, bootstrap(mean, found[name][i]), *ends)
        for i, soil in enumerate(CARD_SOILS)
        for name, ends in bounds.items()
    ]


def _table(title: str, lines: Sequence[CardLine]) -> Table:
    names = RANGED | SHARES
    columns = ("crop", "measure", "published", *CARD_SOILS)
    rows = []
    for crop, name in dict.fromkeys((line.crop, line.name) for line in lines):
        mine = [line for line in lines if (line.crop, line.name) == (crop, name)]
        cells = [f"{line.found}{'' if line.holds else ' !'}" for line in mine]
        rows.append((crop, names[name], f"{mine[0].low:g} to {mine[0].high:g}", *cells))
    return Table(title, columns, rows)


def _stage_rows(crop: str, found: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Return the days in each stage on each soil, with the FAO-56 stages that end with it."""
    first, second, third, last = read_published()[crop]["stages"]
    stages = {"grow": f"{first} + {second} from the seed", "fruit": f"{third} + {last} from the bloom"}
    mean = partial(np.nanmean, axis=-1)
    return [
        (crop, name, stages.get(name, ""), *(str(bootstrap(mean, days)) for days in found[name])) for name in GROWTH
    ]


def _response_rows(crop: str, replicates: int, seed: int) -> list[tuple[str, ...]]:
    """Return the yield response to water deficits, by period; ! marks a K_y that differs by a fifth from FAO-33."""
    published = read_published()[crop]["k_y"]
    rows = []
    for found in measure_yield_response(crop, RESPONSE_SOIL, replicates, seed):
        wanted = published[found.period]
        mark = "" if FIFTH[0] <= found.factor / wanted <= FIFTH[1] else " !"
        shares = (f"{100 * share:.0f}" for share in (found.deficit, found.loss, found.died))
        kind = "calibrated" if found.period in CALIBRATED_PERIODS else "predicted"
        rows.append((crop, found.period, kind, *shares, f"{found.factor:.2f}{mark}", f"{wanted:g}"))
    return rows


def _sources(crops: Sequence[str]) -> Table:
    rows = []
    for crop in crops:
        ranges = read_published()[crop]
        rows += [(crop, RANGED[name], ranges[name]["source"]) for name in RANGED]
        rows.append((crop, "K_c, K_cb", ranges["coefficients_source"]))
        rows.append((crop, "K_y", ranges["k_y"]["source"]))
    return Table("sources of the published ranges", ("crop", "measure", "source"), rows)


def _draw(lines: Sequence[CardLine], path: Path) -> None:
    crops, names = list(dict.fromkeys(line.crop for line in lines)), RANGED | SHARES
    with open_figure(path, 3 * len(crops) + 0.6, 1.6 * len(names) + 0.6, dpi=100) as figure:
        grid = figure.subplots(len(names), len(crops), squeeze=False, sharex=True)
        for (row, name), (column, crop) in itertools.product(enumerate(names), enumerate(crops)):
            mine = [line for line in lines if (line.crop, line.name) == (crop, name)]
            _draw_measure(grid[row, column], mine)
            if row == 0:
                grid[row, column].set_title(crop)
            if column == 0:
                grid[row, column].set_ylabel(names[name].replace(", ", ",\n").replace(" to K", "\nto K"))


def _draw_measure(axes: Any, lines: Sequence[CardLine]) -> None:
    """Draw the mean on each soil: blue inside the published range (green), red outside."""
    axes.axhspan(lines[0].low, lines[0].high, color="C2", alpha=0.25)
    for line in lines:
        at, found = CARD_SOILS.index(line.soil), line.found
        error = [[found.value - found.low], [found.high - found.value]]
        axes.errorbar(at, found.value, error, marker="o", ms=4, capsize=3, color="C0" if line.holds else "C3")
    axes.set_xticks(range(len(CARD_SOILS)), CARD_SOILS)
    axes.set_ylim(0, 1.15 * max(line.high for line in lines))
