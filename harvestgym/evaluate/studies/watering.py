"""Watering: what a constant daily amount of water makes of a crop on sand and on clay where it never rains.

Section 5.2 and figure 6 of the paper. The farmer waters as much every day from the seed on and harvests when ripe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tables import Table
from harvestgym.evaluate.studies.common.findings import (
    Claim,
    Interval,
    boxes,
    claims_table,
    difference,
    interval,
    least,
    most,
    quartiles,
    ratio,
    write_seasons,
)
from harvestgym.evaluate.studies.common.trials import CROPS, REPORTED, Case, Wish, farm, tended, yields
from harvestgym.farm.engine.model import FarmState

SOILS = ("clay", "sand")
LITRES = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 4, 5, 10, 15, 20)
SHOWN = (0, 0.25, 0.5, 1, 2, 5, 10, 20)
"""Litres a day of the boxes of the figure, those of the paper and more."""


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Yield by litres a day, and what the paper says of it.

    Args:
        replicates: seasons per crop, soil and amount, the same for all.
        out: a folder for `watering.parquet` (a row per season; needs the extra `data`) and `watering.png`.
        progress: told 1 for each crop and soil that is done.
        crops: parameter sets of the plant.
        seed: of the seasons.
    """
    groups = (_cases(crop, soil) for crop in crops for soil in SOILS)
    cases, harvests = yields(groups, act, replicates, seed, progress)
    kg = harvests.reshape(len(crops), len(SOILS), len(LITRES), replicates)
    if out is not None:
        write_seasons(out / "watering.parquet", cases, {"yield_kg_m2": harvests})
        _draw(crops, kg, out / "watering.png")
    return [_table(crops, kg), claims_table(claims(crops, kg), replicates)]


def act(litres: jax.Array, state: FarmState) -> list[Wish]:
    """The same water every day."""
    return tended(state, litres)


def _cases(crop: str, soil: str) -> list[Case]:
    env = farm([("Weather", "dry"), ("Soil", soil), ("Plant", crop)])
    return [Case({"crop": crop, "soil": soil, "litres": a}, env, jnp.float32(a)) for a in LITRES]


def claims(crops: Sequence[str], kg: np.ndarray) -> list[Claim]:
    """What figure 6 shows, of yields (crops, soils, amounts, seasons)."""
    found = []
    at = LITRES.index
    for crop, (clay, sand) in zip(crops, kg, strict=True):
        found += [
            least(f"{crop}: water that ripens half the seasons, sand to clay", _needs(clay, sand), 2),
            least(f"{crop}: share that ripens at 1.5 L, clay less sand", _gap(clay[at(1.5)], sand[at(1.5)]), 0.5),
            most(f"{crop} on clay: yield at 20 L to that at 5 L", ratio(clay[at(20)], clay[at(5)]), 0.8),
            most(f"{crop} on sand: yield at 20 L to that at 5 L", ratio(sand[at(20)], sand[at(5)]), 0.8),
        ]
    return found


def litres_for_half(kg: np.ndarray) -> np.ndarray:
    """The least litres a day at which half of the seasons give anything; between two amounts by a straight line.

    Yields (amounts, seasons); infinite where no amount does.
    """
    ripe = (kg > 0).mean(-1)
    enough = np.flatnonzero(ripe >= 0.5)
    if not len(enough):
        return np.asarray(np.inf)
    i = enough[0]
    return np.asarray(np.interp(0.5, ripe[i - 1 : i + 1], LITRES[i - 1 : i + 1]) if i else 0.0)


def _needs(clay: np.ndarray, sand: np.ndarray) -> Interval:
    return interval(lambda c, s: litres_for_half(s) / np.maximum(litres_for_half(c), 1e-9), clay, sand)


def _gap(clay: np.ndarray, sand: np.ndarray) -> Interval:
    return difference(*((kg > 0).astype(float) for kg in (clay, sand)))


def _table(crops: Sequence[str], kg: np.ndarray) -> Table:
    columns = ("crop", "soil", *(f"{a:g} L" for a in SHOWN))
    rows = [
        (crop, soil, *(quartiles(kg[i, j, LITRES.index(a)]) for a in SHOWN))
        for i, crop in enumerate(crops)
        for j, soil in enumerate(SOILS)
    ]
    return Table("yield, kg.m-2, by litres a day: median [quartiles]", columns, rows)


def _draw(crops: Sequence[str], kg: np.ndarray, path: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(4 * len(crops) + 1, 3.6), layout="constrained")
    for axes, crop, of_crop in zip(page.subplots(1, len(crops), squeeze=False)[0], crops, kg, strict=True):
        at = [LITRES.index(a) for a in SHOWN]
        boxes(axes, {soil: of_crop[j, at] for j, soil in enumerate(SOILS)}, [f"{a:g}" for a in SHOWN])
        axes.set(title=crop, xlabel="water, litres a day", ylabel="yield, kg per m²")
    page.axes[0].legend(frameon=False, loc="upper left")
    page.savefig(path, dpi=110)
