"""Pollinators: what bees make of the yield of three crops on clay where it never rains.

Section 5.2 and figure 7 of the paper. Without bees the farm is the same one, on which they never come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from harvestgym.core.tables import Table
from harvestgym.evaluate.studies.common.findings import (
    Claim,
    boxes,
    claims_table,
    least,
    quartiles,
    ratio,
    within,
    write_seasons,
)
from harvestgym.evaluate.studies.common.trials import CROPS, REPORTED, Case, farm, yields

from .watering import act

LITRES = (2, 3, 5)
NEVER = {"extends": "bee", "visit_conditions": {"intercept": 1000}}
BEES = {"without": NEVER, "with": "bee"}
ENOUGH = LITRES.index(5)


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Yield with and without bees, by litres a day, and what the paper says of it.

    Args:
        replicates: seasons per crop, amount and with or without bees, the same for all.
        out: a folder for `pollinators.parquet` (a row per season; needs the extra `data`) and `pollinators.png`.
        progress: told 1 for each crop that is done.
        crops: parameter sets of the plant.
        seed: of the seasons.
    """
    groups = ([case for bees in BEES for case in _cases(crop, bees)] for crop in crops)
    cases, harvests = yields(groups, act, replicates, seed, progress)
    kg = harvests.reshape(len(crops), len(BEES), len(LITRES), replicates)
    if out is not None:
        write_seasons(out / "pollinators.parquet", cases, {"yield_kg_m2": harvests})
        _draw(crops, kg, out / "pollinators.png")
    return [_table(crops, kg), claims_table(claims(crops, kg), replicates)]


def claims(crops: Sequence[str], kg: np.ndarray) -> list[Claim]:
    """What figure 7 shows, of yields (crops, without and with, amounts, seasons)."""
    found = []
    for crop, (without, bees) in zip(crops, kg, strict=True):
        gain, says = ratio(bees[ENOUGH], without[ENOUGH]), f"{crop}: yield with bees to that without"
        found.append(least(says, gain, 3) if crop == "bean" else within(says, gain, 0.85, 1.15))
    return found


def _cases(crop: str, bees: str) -> list[Case]:
    env = farm([("Weather", "dry"), ("Soil", "clay"), ("Plant", crop), ("Pollinators", BEES[bees])])
    return [Case({"crop": crop, "bees": bees, "litres": a}, env, jnp.float32(a)) for a in LITRES]


def _table(crops: Sequence[str], kg: np.ndarray) -> Table:
    rows = [
        (crop, bees, *(quartiles(kg[i, j, a]) for a in range(len(LITRES))))
        for i, crop in enumerate(crops)
        for j, bees in enumerate(BEES)
    ]
    return Table("yield, kg.m-2: median [quartiles]", ("crop", "bees", *(f"{a:g} L" for a in LITRES)), rows)


def _draw(crops: Sequence[str], kg: np.ndarray, path: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(3.2 * len(crops) + 1, 3.6), layout="constrained")
    for axes, crop, of_crop in zip(page.subplots(1, len(crops), squeeze=False)[0], crops, kg, strict=True):
        boxes(axes, {f"{bees} bees": of_crop[j] for j, bees in enumerate(BEES)}, [f"{a:g}" for a in LITRES])
        axes.set(title=crop, xlabel="water, litres a day", ylabel="yield, kg per m²")
    page.axes[-1].legend(frameon=False, loc="lower right")
    page.savefig(path, dpi=110)
