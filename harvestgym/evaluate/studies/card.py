"""The validation card: what the three crops are on four soils, beside what is published of them.

Each season is one near Montpellier from the end of April, short of nothing: bees come, and a soil that has lost a
quarter of its extractable water is watered. Means with their 95 % intervals over seasons that ripen; FAO-56's water
use is computed apart from the farm's laws (`common/fao56.py`), and WOFOST (`common/wofost.py`) grows the maize of the
same days where pcse is installed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tables import Table
from harvestgym.core.yaml_io import read
from harvestgym.evaluate.studies.common import fao56, wofost
from harvestgym.evaluate.studies.common.findings import Interval, interval, write_seasons
from harvestgym.evaluate.studies.common.trials import (
    CROPS,
    REPORTED,
    Case,
    Wish,
    crop_of,
    farm,
    harvest,
    seasons,
    soil_of,
    tended,
)
from harvestgym.farm.engine.model import DayReport, FarmState
from harvestgym.farm.entities.plant.state import Stage

SOILS = ("clay", "silt", "loam", "sand")
APRIL = 115
DAYS = 200
LATITUDE = 43.6
MOIST, LITRES = 0.75, 20.0
KMH = 3.6
GROWN = 10
"""Seasons that WOFOST grows, a second each."""

RANGED = {
    "to_flowers": "sowing to flowers, days", "total": "sowing to ripe, days", "height": "height, m",
    "yield": "yield, kg.m-2", "water": "evapotranspiration, mm",
}  # fmt: skip
GROWTH = {"seed": Stage.SEED, "grow": Stage.GROW, "bloom": Stage.BLOOM, "fruit": Stage.FRUIT}
SHARES = {"basal": "transpiration to K_cb ET_0", "single": "evapotranspiration to K_c ET_0"}
FIFTH = (0.8, 1.2)


class Line(NamedTuple):
    """A line of the card: a measure of a crop on a soil, what is published, and whether the mean lies within."""

    crop: str
    soil: str
    name: str
    found: Interval
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the mean is in the published range."""
        return self.low <= self.found.value <= self.high


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """The card, the lengths of all stages, the sources of the ranges, and maize beside WOFOST.

    Args:
        replicates: seasons per crop and soil.
        out: a folder for `card.parquet` (a row per season; needs the extra `data`) and `card.png`.
        progress: told 1 for each crop that is done.
        crops: parameter sets of the plant.
        seed: of the seasons.
    """
    cases: list[Case] = []
    measured: list[dict[str, np.ndarray]] = []
    lines: list[Line] = []
    stages: list[tuple[str, ...]] = []
    beside: list[Table] = []
    for crop in crops:
        mine = [_case(crop, soil) for soil in SOILS]
        record = seasons(mine, act, watch, replicates, seed)
        found = measures(record, published()[crop])
        lines += _lines(crop, found)
        stages += _stage_rows(crop, found)
        beside += [_beside(found, record)] if crop == "corn" and find_spec("pcse") else []
        cases, measured = cases + mine, [*measured, found]
        progress(1)
    if out is not None:
        columns = {name: np.concatenate([found[name] for found in measured]) for name in measured[0]}
        write_seasons(out / "card.parquet", cases, columns)
        _draw(lines, out / "card.png")
    lengths = Table("days in each stage: means with 95 % intervals", ("crop", "stage", "FAO-56", *SOILS), stages)
    return [_table(lines), lengths, _sources(crops), *beside]


def published() -> Mapping[str, Any]:
    """What is published of each crop, with its sources (card.yaml)."""
    return read(Path(__file__).with_name("card.yaml"))


def act(level: jax.Array, state: FarmState) -> list[Wish]:
    """Water a soil that has less than `level`, L."""
    return tended(state, LITRES, jnp.any(soil_of(state).water < level))


def watch(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """The crop of the evening, the water of the day, and the air of tomorrow."""
    air, crop, flows = state.fields[0][0], crop_of(state), report.flows[0]
    return harvest(state, report) | {
        "stage": crop.stage[0, 0], "size": crop.size[0, 0],
        "transpired": -flows["water:transpiration"].sum(), "evaporated": -flows["water:evaporation"].sum(),
        "t_min": air.temperature[0], "t_mean": air.temperature[1], "t_max": air.temperature[2],
        "humidity": air.humidity, "wind": air.wind, "day": air.day,
    }  # fmt: skip


def measures(record: Mapping[str, np.ndarray], said: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What the card says of each season, (soils, seasons) each; NaN where nothing ripened."""
    stands = _stands(record)
    ripe = record["kg"].sum(-1) > 0
    lived, drunk = stands.sum(-1), (record["transpired"][..., 1:] * stands).sum(-1)
    lost = drunk + (record["evaporated"][..., 1:] * stands).sum(-1)
    young = (record["stage"] > Stage.NONE) & (record["stage"] < Stage.BLOOM)
    reference = _air(record)["et0"]
    basal, single = (_asked(reference, stands, said, name) for name in ("kcb", "kc"))
    found = {
        "to_flowers": young.sum(-1), "total": lived, "height": record["size"].max(-1) / 100,
        "yield": record["kg"].sum(-1), "water": lost, "basal": drunk / basal, "single": lost / single,
    } | {name: (record["stage"] == stage).sum(-1) for name, stage in GROWTH.items()}  # fmt: skip
    return {name: np.where(ripe, values, np.nan) for name, values in found.items()}


def _stands(record: Mapping[str, np.ndarray]) -> np.ndarray:
    """Whether the crop stood in the morning, from the second day on."""
    stage = record["stage"][..., :-1]
    return (stage > Stage.NONE) & (stage < Stage.DEAD)


def _air(record: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The air of each day from the second on, with the radiation and ET_0 of FAO-56."""
    names = ("t_min", "t_mean", "t_max", "humidity", "wind", "day")
    air = {name: record[name][..., :-1].astype(float) for name in names}
    low, high, wind = air["t_min"], air["t_max"], air["wind"] / KMH
    sun = fao56.solar(low, high, LATITUDE, air["day"])
    clear = 0.75 * fao56.extraterrestrial(LATITUDE, air["day"])
    return air | {
        "wind": wind, "radiation": sun, "vapour": fao56.actual_vapour(low, high, air["humidity"]),
        "et0": fao56.reference(low, high, air["humidity"], wind, sun, clear),
    }  # fmt: skip


def _asked(et0: np.ndarray, stands: np.ndarray, said: Mapping[str, Any], name: str) -> np.ndarray:
    """What FAO-56 says that a crop takes up on the days on which it stood, mm, of each season; at least 1."""
    asked = np.ones(et0.shape[:-1])
    for at in np.ndindex(asked.shape):
        curve = fao56.coefficients(int(stands[at].sum()), said["stages"], said[name])
        asked[at] = max(float((curve * et0[at][stands[at]]).sum()), 1.0)
    return asked


def _case(crop: str, soil: str) -> Case:
    entities = [("Weather", "montpellier"), ("Soil", soil), ("Plant", crop), ("Pollinators", "bee")]
    env = farm(entities, day=APRIL, days=DAYS)
    place, ground = env.params.fields[0].place, env.params.fields[0].entities[1]
    bucket = ground.bucket(place)  # pyright: ignore[reportAttributeAccessIssue]
    level = bucket.wilting + MOIST * (bucket.capacity - bucket.wilting)
    return Case({"crop": crop, "soil": soil}, env, jnp.float32(level))


def _lines(crop: str, found: Mapping[str, np.ndarray]) -> list[Line]:
    mean = partial(np.nanmean, axis=-1)
    said = published()[crop]
    bounds = {name: (said[name]["low"], said[name]["high"]) for name in RANGED} | dict.fromkeys(SHARES, FIFTH)
    return [
        Line(crop, soil, name, interval(mean, found[name][i]), *ends)
        for i, soil in enumerate(SOILS)
        for name, ends in bounds.items()
    ]


def _table(lines: Sequence[Line]) -> Table:
    names = RANGED | SHARES
    columns = ("crop", "measure", "published", *SOILS)
    rows = []
    for crop, name in dict.fromkeys((line.crop, line.name) for line in lines):
        mine = [line for line in lines if (line.crop, line.name) == (crop, name)]
        cells = [f"{line.found}{'' if line.holds else ' !'}" for line in mine]
        rows.append((crop, names[name], f"{mine[0].low:g} to {mine[0].high:g}", *cells))
    return Table("validation card: means with 95 % intervals; ! is outside of what is published", columns, rows)


def _stage_rows(crop: str, found: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """The days in each stage on each soil, and the stages of FAO-56 that end with it."""
    first, second, third, last = published()[crop]["stages"]
    told = {"grow": f"{first} + {second} from the seed", "fruit": f"{third} + {last} from the bloom"}
    mean = partial(np.nanmean, axis=-1)
    return [(crop, name, told.get(name, ""), *(str(interval(mean, days)) for days in found[name])) for name in GROWTH]


def _sources(crops: Sequence[str]) -> Table:
    rows = []
    for crop in crops:
        said = published()[crop]
        rows += [(crop, RANGED[name], said[name]["source"]) for name in RANGED]
        rows.append((crop, "K_c, K_cb", said["coefficients_source"]))
    return Table("sources of what is published", ("crop", "measure", "source"), rows)


def _beside(found: Mapping[str, np.ndarray], record: Mapping[str, np.ndarray]) -> Table:
    """Maize on clay beside that of WOFOST on the air of the same days."""
    clay = SOILS.index("clay")
    air = {name: values[clay] for name, values in _air(record).items() if name not in ("humidity", "day")}
    some = [{name: values[i] for name, values in air.items()} for i in range(min(GROWN, len(air["et0"])))]
    grown = [wofost.maize(days, APRIL + 1, LATITUDE) for days in some]
    pairs = {"to_flowers": "to_flowers", "total": "to_maturity", "yield": "kg", "transpiration, mm": "transpired"}
    drunk = (record["transpired"][clay, :, 1:] * _stands(record)[clay]).sum(-1)
    ours = {name: found[name][clay] for name in ("to_flowers", "total", "yield")} | {"transpiration, mm": drunk}
    rows = [
        (RANGED.get(name, name), _spread(ours[name][: len(some)]), _spread([getattr(g, attr) for g in grown]))
        for name, attr in pairs.items()
    ]
    title = f"maize on clay and the potential crop of WOFOST 7.2, {len(some)} seasons: mean ± sd"
    return Table(title, ("measure", "here", "WOFOST"), rows)


def _spread(values: Any) -> str:
    return f"{np.nanmean(values):.3g} ± {np.nanstd(values):.2g}"


def _draw(lines: Sequence[Line], path: Path) -> None:
    from matplotlib.figure import Figure

    crops, names = list(dict.fromkeys(line.crop for line in lines)), RANGED | SHARES
    page = Figure(figsize=(3 * len(crops) + 0.6, 1.6 * len(names) + 0.6), layout="constrained")
    grid = page.subplots(len(names), len(crops), squeeze=False, sharex=True)
    for (row, name), (column, crop) in itertools.product(enumerate(names), enumerate(crops)):
        mine = [line for line in lines if (line.crop, line.name) == (crop, name)]
        _draw_measure(grid[row, column], mine)
        if row == 0:
            grid[row, column].set_title(crop)
        if column == 0:
            grid[row, column].set_ylabel(names[name].replace(", ", ",\n").replace(" to K", "\nto K"))
    page.savefig(path, dpi=100)


def _draw_measure(axes: Any, lines: Sequence[Line]) -> None:
    """What is found on each soil, in blue, or in red outside of the published range, which is green."""
    axes.axhspan(lines[0].low, lines[0].high, color="C2", alpha=0.25)
    for line in lines:
        at, found = SOILS.index(line.soil), line.found
        error = [[found.value - found.low], [found.high - found.value]]
        axes.errorbar(at, found.value, error, marker="o", ms=4, capsize=3, color="C0" if line.holds else "C3")
    axes.set_xticks(range(len(SOILS)), SOILS)
    axes.set_ylim(0, 1.15 * max(line.high for line in lines))
