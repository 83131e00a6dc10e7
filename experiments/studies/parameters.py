"""Parameters: how many have a source, and which of the others affect the yield.

The first table counts every number in the parameter files once, where it is stated. For the second, each number of a
crop and its soil that has no source is raised and lowered by a fifth, near Montpellier, in moist and in dry soil.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import harvestgym.farm.entities
from harvestgym.core.config import choose_set
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.core.yaml_io import read_file
from harvestgym.evaluate.calibrate import fitted
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.view.describe import parameter_tables

from .card import SEASON_DAYS, water_when_dry
from .common.report import open_figure, write_columns
from .common.trials import APRIL, CROPS, REPORTED, Case, find_water_level, make_trial_farm, run_seasons, watch_harvest

ORIGINS = ("published", "calibrated", "the paper", "reference implementation", "none")
"""Kinds of source: the literature; a published number to which the value was fitted; the Farm-Gym paper; its reference
implementation; none, if the value was chosen."""

NOT_NUMBERS = ("source", "extends", "site", "table", "generate")
CITED = ("FAO", "Monteith", "WMO")
"""Sources that begin with these words are published, even if they also name the reference implementation."""

SENSITIVITY_SOIL = "loam"
STEP = 0.2
WATER_LEVELS = {"moist": 0.75, "dry": 0.3}
"""Fraction of the extractable water below which the crop is watered."""

MATTERS = 5.0
"""Effect of a parameter change by a fifth on the yield, in %, from which the parameter matters: a quarter of 20 %."""


class Effect(NamedTuple):
    """The effect of a number without a source: relative change of the mean yield, (water levels, lower and higher)."""

    crop: str
    name: str
    value: float
    change: np.ndarray

    @property
    def size(self) -> float:
        """Return the largest change, %."""
        return float(100 * np.abs(self.change).max())


def run(
    replicates: int = 32,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Tabulate sources by kind of entity, and the effect of each number without a source; `progress` counts crops."""
    effects: list[Effect] = []
    for crop in crops:
        effects += measure_effects(crop, replicates, seed)
        progress(1)
    if out is not None:
        _write(effects, out / "parameters.parquet")
        _draw(effects, out / "parameters.png")
    return [_source_table(), _effect_table(effects)]


def count_sources() -> dict[str, Counter[str]]:
    """Count the numbers stated in each kind's parameter file, by origin."""
    folder = Path(harvestgym.farm.entities.__path__[0])
    files = sorted(path for path in folder.glob("*/*.yaml") if path.stem == path.parent.name)
    return {path.stem: Counter(_iterate_file(path)) for path in files}


def _iterate_file(path: Path) -> Iterator[str]:
    for name, stated in read_file(path).items():
        _, inherited = choose_set(path, name, path.stem)
        yield from iterate_origins(stated, inherited)


def iterate_origins(stated: Mapping[str, Any], inherited: Mapping[str, Any], source: str = "") -> Iterator[str]:
    """Yield the origin of each number in a parameter set; the source may be stated in a set that this one extends.

    Args:
        stated: a mapping of a parameter file.
        inherited: the same mapping, merged with the mapping that it extends.
        source: the source of the enclosing mapping.
    """
    source = str(inherited.get("source", source))
    for key, value in stated.items():
        whole = inherited.get(key, {})
        if key in NOT_NUMBERS or isinstance(value, str) or is_open_end(key, value, inherited):
            continue
        if not isinstance(value, Mapping):
            yield find_origin(str(whole.get("source", source)) if isinstance(whole, Mapping) else source)
        elif "value" in value:
            yield find_origin(str(whole.get("source", source)))
        else:
            yield from iterate_origins(value, whole, source)


def is_open_end(key: str, value: Any, window: Mapping[str, Any]) -> bool:
    """Return whether a value is the infinite end of a window, or the zero at which a load or deficit begins."""
    if isinstance(value, float) and math.isinf(value):
        return True
    return key == "high" and value == 0 and window.get("low") == -math.inf


def find_origin(source: str) -> str:
    """Return the origin that a source text names."""
    if source.startswith("calibrated"):
        return "calibrated"
    if not source or "chosen" in source:
        return "none"
    if "reference implementation" in source and not source.startswith(CITED):
        return "reference implementation"
    return "the paper" if source.startswith("the paper") else "published"


def measure_effects(crop: str, replicates: int, seed: int, only: Sequence[str] | None = None) -> list[Effect]:
    """Vary each number without a source, of a crop and its soil; `only` restricts this to some paths."""
    entities = [("Weather", "montpellier"), ("Soil", SENSITIVITY_SOIL), ("Plant", crop), ("Pollinators", "bee")]
    env = make_trial_farm(entities, day=APRIL, days=SEASON_DAYS)
    numbers = {path: value for path, value in find_unsourced(env).items() if only is None or path in only}
    levels = [find_water_level(env, share) for share in WATER_LEVELS.values()]
    variants = [{}, *({path: value * (1 + step)} for path, value in numbers.items() for step in (-STEP, STEP))]
    farms = [change_numbers(env, changed) for changed in variants]
    cases = [Case({"case": (i, j)}, farm, jnp.asarray(level)) for i, farm in enumerate(farms)
             for j, level in enumerate(levels)]  # fmt: skip
    kg = run_seasons(cases, water_when_dry, watch_harvest, replicates, seed)["kg"].sum(-1).mean(-1)
    usual, *changed = kg.reshape(-1, len(levels))
    change = (np.reshape(changed, (-1, 2, len(levels))) / usual - 1).swapaxes(1, 2)
    return [Effect(crop, path, value, change[i]) for i, (path, value) in enumerate(numbers.items())]


def change_numbers(env: FarmModel, changed: Mapping[str, float]) -> FarmModel:
    """Return the farm with different numbers at some paths; unchanged if a number is out of range."""
    try:
        return replace(env, defaults=fitted(env, changed))
    except ConfigError:
        return env


def find_unsourced(env: FarmModel) -> dict[str, float]:
    """Return a trial farm's crop and soil numbers without a source, by path, except 0, which cannot be varied."""
    found = {}
    for table in parameter_tables(env):
        owner = table.title.removeprefix("Parameters of ")
        for name, value, source in table.rows if owner.split("/")[1] in ("Plant-0", "Soil-0") else ():
            if find_origin(str(source)) == "none" and 0 < abs(float(value)) < math.inf:
                found[f"{owner}/{name.replace(' > ', '/')}"] = float(value)
    return found


def _source_table() -> Table:
    counts = count_sources()
    total: Counter[str] = sum(counts.values(), Counter())
    rows = [_source_row(kind, count) for kind, count in (*counts.items(), ("all", total))]
    return Table("numbers of the parameter files by source", ("kind", *ORIGINS, "with a source, %"), rows)


def _source_row(kind: str, count: Counter[str]) -> tuple[str, ...]:
    share = 100 * (1 - count["none"] / count.total())
    return (kind, *(str(count[origin]) for origin in ORIGINS), f"{share:.0f}")


def _effect_table(effects: Sequence[Effect]) -> Table:
    large = sorted((e for e in effects if e.size >= MATTERS), key=lambda e: -e.size)
    rows = [(e.crop, e.name.removeprefix("Field-0/"), f"{e.value:g}", *(f"{100 * c:+z.0f}" for c in e.change.ravel()))
            for e in large]  # fmt: skip
    signs = [f"{level}, {sign}" for level in WATER_LEVELS for sign in ("-20 %", "+20 %")]
    title = (f"change of the mean yield, %, by a fifth of each number without a source: {len(large)} of {len(effects)} "
             f"change it by {MATTERS:g} % or more")  # fmt: skip
    return Table(title, ("crop", "parameter", "value", *signs), rows)


def _write(effects: Sequence[Effect], path: Path) -> None:
    columns = {
        "crop": np.array([e.crop for e in effects])[:, None, None],
        "parameter": np.array([e.name for e in effects])[:, None, None],
        "soil": np.array(list(WATER_LEVELS))[:, None],
        "step": np.array([-STEP, STEP]),
        "change": np.stack([e.change for e in effects]),
    }
    write_columns(path, columns)


def _draw(effects: Sequence[Effect], path: Path) -> None:
    """Draw the size of every effect, largest first, and the limit above which it matters."""
    with open_figure(path, 7, 3.2) as figure:
        axes = figure.subplots()
        for crop in dict.fromkeys(e.crop for e in effects):
            sizes = sorted((e.size for e in effects if e.crop == crop), reverse=True)
            axes.plot(range(1, len(sizes) + 1), np.maximum(sizes, 0.05), marker=".", label=crop)
        axes.axhline(MATTERS, color="black", linewidth=0.8, linestyle="--")
        axes.set(yscale="log", xlabel="numbers without a source, by effect", ylabel="change of the yield, %")
        axes.legend(frameon=False)
