"""The validation card: twelve crops compared with published ranges.

Bean, corn and tomato grow on four soils near Montpellier from the end of April; nine field crops grow on loam and sand
at two sites where each is grown, from its usual day of sowing. Nothing limits the growth of the crops: bees come, the
soil is watered when it has lost a quarter of its extractable water, and field crops are fertilized when their soil
lacks nutrients. The card shows means with 95 % intervals over the seasons in which crops ripen. It separates calibrated
measures, for which parameters were chosen to meet the published ranges, from predictions: the water used in a season,
the yield response to a dry season, rain-fed crops compared with WOFOST (`common/rainfed.py`), and published experiments
(`common/experiments.py`). The published ranges do not change (`card.yaml`). The card has no harvest index, because the
model does not compute the mass of leaves and stems.
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
from harvestgym.evaluate.statistics import ConfidenceInterval
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.messages import NUTRIENTS
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.sweep.batches import LOCAL, EngineOptions
from harvestgym.sweep.cases import CallCase
from harvestgym.sweep.engine import collect

from .common import fao56
from .common.experiments import predict_experiment, read_experiments, tabulate_predictions
from .common.findings import bootstrap
from .common.published import read_published
from .common.rainfed import compare_rainfed, tabulate_models
from .common.report import open_figure, write_seasons
from .common.season_record import compute_air, find_standing_days, watch_crop
from .common.trials import (
    CROPS,
    REPORTED,
    Case,
    TreatmentOrder,
    find_water_level,
    locate_site,
    make_trial_farm,
    run_seasons,
    soil_of,
    tend,
)
from .common.yield_response import measure_yield_response

FIELD_CROPS = tuple(crop for crop in read_published() if crop not in CROPS)
CARD_SOILS, FIELD_SOILS = ("clay", "silt", "loam", "sand"), ("loam", "sand")
SEASON_DAYS, SPARE_DAYS = 200, 60
"""Length of a season of bean, corn and tomato, and the days of a field crop's after the latest day of ripeness."""

MOIST, SHOWER = 0.75, 20.0
RANGED = {
    "to_flowers": "sowing to flowers, days", "total": "sowing to ripe, days", "height": "height, m",
    "yield": "yield as harvested, kg.m-2", "water": "evapotranspiration, mm", "nitrogen": "nitrogen uptake, g.m-2",
}  # fmt: skip
"""Measures with published ranges, each for some crops."""

UNRANGED = {
    "warmth_to_flowers": "sowing to flowers, degree-days", "warmth": "sowing to ripe, degree-days",
    "ripened": "seasons in which it ripened, %",
}  # fmt: skip
"""Measures without a range; degree-days are those of mean temperature from the base to the optimum of the clock."""

RICH = {"N": 8.0, "P": 3.0, "K": 10.0}
"""Nutrients in the soil, g per m2, below which a field crop gets a dose once a week."""

DOSE, DAYS_PER_WEEK = 0.005, 7
"""Kilograms of a nutrient, each in a separate fertilizer."""

GROWTH = {"seed": Stage.SEED, "grow": Stage.GROW, "bloom": Stage.BLOOM, "fruit": Stage.FRUIT}
SHARES = {"single": "evapotranspiration to K_c ET_0"}
CALIBRATED = ("to_flowers", "total", "height", "yield")
"""Measures for which parameters were chosen to meet the ranges. The others are predicted, with K_cb of that source."""
CALIBRATED_PERIODS = ("vegetative", "flowering", "yield formation")
FIFTH = (0.8, 1.2)
DRAWN = (-0.5, 1.5)
"""Ends of the picture, as fractions of a published range; what lies outside is drawn at the end."""

TABLE_TITLE = "means with 95 % intervals; ! marks one outside the published range"
RESPONSE_SOIL = "loam"
RESPONSE_TITLE = "yield response to water on loam, compared with full supply; ! marks a K_y more than a fifth off"
FIELD_TITLE = f"field crops: {TABLE_TITLE}"
RESPONSE_COLUMNS = (
    "crop", "dry period", "kind", "less water in it, %", "less yield, %", "died, %", "K_y", "K_y of FAO-33",
)  # fmt: skip


class CardLine(NamedTuple):
    """A line of the card: a measure for a crop at a site on a soil, and its published range, which may be unknown."""

    crop: str
    site: str
    soil: str
    name: str
    found: ConfidenceInterval
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Return whether the mean lies in the published range."""
        return self.low <= self.found.value <= self.high

    @property
    def has_range(self) -> bool:
        """Return whether there is a published range."""
        return bool(np.isfinite(self.high))


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = (*CROPS, *FIELD_CROPS),
    seed: int = REPORTED,
    work: Path | None = None,
    options: EngineOptions = LOCAL,
) -> list[Table]:
    """Tabulate the calibrated and the predicted measures, and the sources of the published ranges.

    Args:
        replicates, out, progress: as in every study; progress counts crops.
        crops: parameter sets of the plant, with published ranges in card.yaml.
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
        found = measure_seasons(crop, record)
        lines += _lines(crop, found)
        if crop in CROPS:
            stages += _stage_rows(crop, found)
            responses += _response_rows(crop, replicates, seed)
        measured.append(found)
    if out is not None:
        columns = {name: np.concatenate([found[name] for found in measured]) for name in measured[0]}
        places = [(crop, *place) for crop in crops for place in list_places(crop)]
        labels = {name: [place[i] for place in places] for i, name in enumerate(("crop", "site", "soil"))}
        write_seasons(out / "card.parquet", labels, columns)
        _draw(lines, out / "card.png")
    gardens, fields = ([line for line in lines if (line.crop in CROPS) == garden] for garden in (True, False))
    parts = {
        f"calibrated: {TABLE_TITLE}": [line for line in gardens if line.name in CALIBRATED],
        f"predicted: {TABLE_TITLE}": [line for line in gardens if line.name not in CALIBRATED],
        FIELD_TITLE: fields,
    }
    lengths = Table("days in each stage: means with 95 % intervals", ("crop", "stage", "FAO-56", *CARD_SOILS), stages)
    return [
        *(_table(title, part) for title, part in parts.items() if part),
        *([Table(RESPONSE_TITLE, RESPONSE_COLUMNS, responses)] if responses else []),
        *predict_elsewhere(crops, replicates, seed),
        *([lengths] if stages else []),
        _sources(crops),
    ]


def predict_elsewhere(crops: Sequence[str], replicates: int, seed: int) -> list[Table]:
    """Compare rain-fed crops with WOFOST, and these crops with published experiments."""
    pairs = compare_rainfed(crops)
    found = [p for crop in crops if crop in read_experiments() for p in predict_experiment(crop, replicates, seed)]
    return [*([tabulate_models(pairs)] if pairs else []), *([tabulate_predictions(found)] if found else [])]


def run_crop(crop: str, replicates: int, seed: int) -> dict[str, np.ndarray]:
    """Run a crop's seasons at each place; return the records of `watch_crop`, each (places, seasons, days)."""
    cases = [_make_case(crop, site, soil) for site, soil in list_places(crop)]
    return run_seasons(cases, water_when_dry if crop in CROPS else supply_all, watch_crop, replicates, seed)


def list_places(crop: str) -> list[tuple[str, str]]:
    """Return the sites and soils on which a crop grows."""
    return list(itertools.product(read_published()[crop]["sites"], CARD_SOILS if crop in CROPS else FIELD_SOILS))


def water_when_dry(level: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Water the soil when it has less than `level`, L."""
    return tend(state, SHOWER, jnp.any(soil_of(state).water < level))


def supply_all(level: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Water the soil when it has less than `level`, L, and scatter the missing amount of each nutrient weekly."""
    stocks, weekly = soil_of(state).nutrients, jnp.mod(state.day, DAYS_PER_WEEK) == 0
    poor = {name: jnp.any(stocks[NUTRIENTS.index(name)] < least) for name, least in RICH.items()}
    doses = zip(_scatters(), poor.values(), strict=True)
    return [*water_when_dry(level, state), *((action, lacking & weekly, (DOSE,)) for action, lacking in doses)]


def _scatters() -> list[tuple[str, str]]:
    return [(f"Fertilizer-{i}", "scatter") for i in range(len(RICH))]


def measure_seasons(crop: str, record: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the measures of each season, each (places, seasons); NaN where nothing ripened."""
    stands, clock = find_standing_days(record), Plant.named(crop).clock
    ripe, stage = record["kg"].sum(-1) > 0, record["stage"]
    lost = ((record["transpired"] + record["evaporated"])[..., 1:] * stands).sum(-1)
    young = (stage > Stage.NONE) & (stage < Stage.BLOOM)
    warm = np.clip(record["t_mean"][..., :-1], clock.base, clock.optimum) - clock.base
    found = {
        "to_flowers": young.sum(-1), "total": stands.sum(-1), "height": record["size"].max(-1) / 100,
        "yield": record["kg"].sum(-1), "water": lost, "single": lost / _sum_demand(crop, record, stands),
        "nitrogen": record["nitrogen"].max(-1), "warmth_to_flowers": (warm * young[..., :-1]).sum(-1),
        "warmth": (warm * stands).sum(-1),
    } | {name: (stage == each).sum(-1) for name, each in GROWTH.items()}  # fmt: skip
    return {name: np.where(ripe, values, np.nan) for name, values in found.items()} | {"ripened": 100.0 * ripe}


def _sum_demand(crop: str, record: Mapping[str, np.ndarray], stands: np.ndarray) -> np.ndarray:
    """Return the FAO-56 water demand over the days on which the crop stood, in mm per season, at least 1."""
    ranges, demand = read_published()[crop], np.ones(stands.shape[:-1])
    for place, (site, _) in enumerate(list_places(crop)):
        et0 = compute_air({n: values[place] for n, values in record.items()}, locate_site(site)["latitude#°"])["et0"]
        for season, days in enumerate(stands[place]):
            curve = fao56.coefficients(int(days.sum()), ranges["stages"], ranges["kc"])
            demand[place, season] = max(float((curve * et0[season][days]).sum()), 1.0)
    return demand


def _make_case(crop: str, site: str, soil: str) -> Case:
    said = read_published()[crop]
    entities = [("Weather", site), ("Soil", soil), ("Plant", crop), ("Pollinators", "bee")]
    if crop in CROPS:
        env = make_trial_farm(entities, day=said["sown"], days=SEASON_DAYS)
    else:
        nothing = dict.fromkeys((f"{name}#%" for name in NUTRIENTS), 0)
        entities += [("Fertilizer", {"extends": "fast_all"} | nothing | {f"{name}#%": 1}) for name in RICH]
        days = said["total"]["high"] + SPARE_DAYS
        env = make_trial_farm(entities, _scatters(), day=said["sown"], days=days, site=site)
    return Case({"crop": crop, "site": site, "soil": soil}, env, find_water_level(env, MOIST))


def _lines(crop: str, found: Mapping[str, np.ndarray]) -> list[CardLine]:
    ranges, unknown = read_published()[crop], {"low": -np.inf, "high": np.inf}
    said = {name: ranges.get(name, unknown) for name in (*RANGED, *UNRANGED)}
    bounds = {name: (ends["low"], ends["high"]) for name, ends in said.items()} | dict.fromkeys(SHARES, FIFTH)
    return [
        CardLine(crop, *place, name, _summarise(found[name][i]), *ends)
        for i, place in enumerate(list_places(crop))
        for name, ends in bounds.items()
    ]


def _summarise(values: np.ndarray) -> ConfidenceInterval:
    """Return the mean over the seasons in which the crop ripened; NaN where it never did."""
    known = values[~np.isnan(values)]
    return bootstrap(partial(np.mean, axis=-1), known) if known.size else ConfidenceInterval(np.nan, np.nan, np.nan)


def _table(title: str, lines: Sequence[CardLine]) -> Table:
    names, soils = RANGED | SHARES | UNRANGED, list(dict.fromkeys(line.soil for line in lines))
    columns = ("crop", "site", "measure", "published", *soils)
    rows = []
    for crop, site, name in dict.fromkeys((line.crop, line.site, line.name) for line in lines):
        mine = [line for line in lines if (line.crop, line.site, line.name) == (crop, site, name)]
        cells = [f"{_format(line)}{' !' if line.has_range and not line.holds else ''}" for line in mine]
        published = f"{mine[0].low:g} to {mine[0].high:g}" if mine[0].has_range else ""
        rows.append((crop, site, names[name], published, *cells))
    return Table(title, columns, rows)


def _format(line: CardLine) -> str:
    value, low, high = line.found
    return f"{value:.0f} ({low:.0f} to {high:.0f})" if line.name in UNRANGED else str(line.found)


def _stage_rows(crop: str, found: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Return the days in each stage on each soil, with the FAO-56 stages that end with it."""
    first, second, third, last = read_published()[crop]["stages"]
    stages = {"grow": f"{first} + {second} from the seed", "fruit": f"{third} + {last} from the bloom"}
    return [(crop, name, stages.get(name, ""), *(str(_summarise(days)) for days in found[name])) for name in GROWTH]


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
        rows += [(crop, label, ranges[name]["source"]) for name, label in RANGED.items() if name in ranges]
        rows.append((crop, "K_c, K_cb", ranges["coefficients_source"]))
        if "k_y" in ranges:
            rows.append((crop, "K_y", ranges["k_y"]["source"]))
    return Table("sources of the published ranges", ("crop", "measure", "source"), rows)


def _draw(lines: Sequence[CardLine], path: Path) -> None:
    """Draw the positions of the means relative to the published ranges, one row for each measure."""
    crops, names = list(dict.fromkeys(line.crop for line in lines)), RANGED | SHARES
    with open_figure(path, 1.1 * len(crops) + 1.5, 1.5 * len(names) + 0.6, dpi=100) as figure:
        rows = figure.subplots(len(names), 1, sharex=True)
        for axes, (name, label) in zip(rows, names.items(), strict=True):
            _draw_measure(axes, [line for line in lines if line.name == name and line.has_range], crops)
            axes.set_ylabel(label.replace(", ", ",\n").replace(" to ", "\nto "))
        rows[-1].set_xticks(range(len(crops)), [crop.replace("_", "\n") for crop in crops])


def _draw_measure(axes: Any, lines: Sequence[CardLine], crops: Sequence[str]) -> None:
    """Draw the means at each crop's places, scaled to the published range (green, 0 to 1); outside it, they are red."""
    axes.axhspan(0, 1, color="C2", alpha=0.25)
    for crop, mine in itertools.groupby(lines, key=lambda line: line.crop):
        for i, line in enumerate(group := list(mine)):
            ends = np.clip((np.asarray(line.found) - line.low) / (line.high - line.low), *DRAWN)
            at = crops.index(crop) + 0.6 * ((i + 0.5) / len(group) - 0.5)
            axes.plot([at, at], ends[1:], color="C0" if line.holds else "C3")
            axes.plot(at, ends[0], "o", ms=4, color="C0" if line.holds else "C3")
    axes.set_xlim(-0.5, len(crops) - 0.5)
    axes.set_ylim(DRAWN[0] - 0.1, DRAWN[1] + 0.1)
