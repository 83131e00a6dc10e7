"""Fertilizer: nothing, one slow shot, or several fast ones, for three crops on a living soil and on a sick one.

The study that section 5.2 of the paper announces. The nutrients of both fertilizers are the same in all: the slow one
is given with the seed, the fast one in two parts as growth begins and in two as fruiting begins, a week apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tables import Table
from harvestgym.evaluate.studies.common.findings import (
    Claim,
    boxes,
    claims_table,
    difference,
    least,
    quartiles,
    ratio,
    within,
    write_seasons,
)
from harvestgym.evaluate.studies.common.trials import (
    CROPS,
    REPORTED,
    Case,
    Wish,
    crop_of,
    farm,
    soil_of,
    tended,
    yields,
)
from harvestgym.farm.engine.model import FarmModel, FarmState
from harvestgym.farm.entities.plant.state import Stage

KG, SHOTS = 0.04, 4
"""What is given in all, 10 g of nitrogen, and in how many parts the fast fertilizer is."""

SLOW, FAST = ("Fertilizer-0", "scatter"), ("Fertilizer-1", "scatter")
WEEK = 7
LITRES = 10.0
MOIST = 0.7
"""Of the extractable water, the share below which the crop is watered."""

HEALTH = {"living": 90, "sick": 30}
"""Microlife of the two soils, %."""

WORN = {
    "microlife_recovery#day-1": 0.005, "bedrocks_release_N#mg.day-1": 20, "bedrocks_release_P#mg.day-1": 4,
    "bedrocks_release_K#mg.day-1": 20, "bedrocks_release_C#mg.day-1": 5,
}  # fmt: skip
"""A loam with a quarter of its humus, whose life does not come back within a season."""

STOCKS = {
    "available_N#g": "(1, 4)",
    "available_P#g": "(0.3, 1)",
    "available_K#g": "(1, 4)",
    "available_C#g": "(0.3, 1)",
}
PLANS = {"nothing": (0.0, 0.0), "one slow shot": (KG, 0.0), "four fast shots": (0.0, KG / SHOTS)}
"""Kilograms of the slow fertilizer, and of the fast one at a time."""


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Yield by crop, health of the soil and fertilizer, and what is to be said of it.

    Args:
        replicates: seasons per crop, soil and plan, the same for all.
        out: a folder for `fertilizer.parquet` (a row per season; needs the extra `data`) and `fertilizer.png`.
        progress: told 1 for each crop that is done.
        crops: parameter sets of the plant.
        seed: of the seasons.
    """
    groups = ([case for soil in HEALTH for case in _cases(crop, soil)] for crop in crops)
    cases, harvests = yields(groups, act, replicates, seed, progress)
    kg = harvests.reshape(len(crops), len(HEALTH), len(PLANS), replicates)
    if out is not None:
        write_seasons(out / "fertilizer.parquet", cases, {"yield_kg_m2": harvests})
        _draw(crops, kg, out / "fertilizer.png")
    return [_table(crops, kg), claims_table(claims(crops, kg), replicates)]


def act(treatment: tuple[jax.Array, ...], state: FarmState) -> list[Wish]:
    """Water when dry; the slow fertilizer on the first day, the fast one weekly until its parts are given."""
    slow, fast, level = treatment
    stage, given = crop_of(state).stage, state.fields[0][4].total.sum()
    growth = jnp.any(stage == Stage.GROW) & (given < (SHOTS / 2 - 0.5) * fast)
    fruiting = jnp.any(stage == Stage.FRUIT) & (given < (SHOTS - 0.5) * fast)
    due = (jnp.mod(state.day, WEEK) == 0) & (growth | fruiting)
    dry = jnp.any(soil_of(state).water < level)
    return [*tended(state, LITRES, dry), (SLOW, (state.day == 0) & (slow > 0), (slow,)), (FAST, due, (fast,))]


def claims(crops: Sequence[str], kg: np.ndarray) -> list[Claim]:
    """Of yields (crops, living and sick, plans, seasons)."""
    found = []
    for crop, (living, sick) in zip(crops, kg, strict=True):
        found += [
            least(f"{crop}, living soil: four fast shots to nothing", ratio(living[2], living[0]), 1.1),
            least(f"{crop}, living soil: one slow shot to nothing", ratio(living[1], living[0]), 1.1),
            within(f"{crop}, sick soil: four fast shots to nothing", ratio(sick[2], sick[0]), 0.85, 1.15),
        ]
        if crop == "tomato":
            found.append(least("tomato, living soil: fast less slow, kg", difference(living[2], living[1]), 0.2))
    return found


def _cases(crop: str, soil: str) -> list[Case]:
    env = _farm(crop, soil)
    field = env.params.fields[0]
    bucket = field.entities[1].bucket(field.place)  # pyright: ignore[reportAttributeAccessIssue]
    level = bucket.wilting + MOIST * (bucket.capacity - bucket.wilting)
    amounts = {plan: tuple(map(jnp.float32, (*kg, level))) for plan, kg in PLANS.items()}
    return [Case({"crop": crop, "soil": soil, "plan": plan}, env, amounts[plan]) for plan in PLANS]


def _farm(crop: str, soil: str) -> FarmModel:
    worn: dict[str, Any] = {"extends": "loam", "start": {"microlife_health_index#%": HEALTH[soil]}, **WORN}
    entities = [("Weather", "montpellier"), ("Soil", worn), ("Plant", crop)]
    return farm(
        [*entities, ("Fertilizer", "slow_all"), ("Fertilizer", "fast_all")],
        [SLOW, FAST],
        {"Soil-0": STOCKS},
        day=115,
        days=230,
    )


def _table(crops: Sequence[str], kg: np.ndarray) -> Table:
    rows = [(crop, soil, *map(quartiles, kg[i, j])) for i, crop in enumerate(crops) for j, soil in enumerate(HEALTH)]
    return Table("yield, kg.m-2: median [quartiles]", ("crop", "soil", *PLANS), rows)


def _draw(crops: Sequence[str], kg: np.ndarray, path: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(3.2 * len(crops) + 1, 3.6), layout="constrained")
    for axes, crop, of_crop in zip(page.subplots(1, len(crops), squeeze=False)[0], crops, kg, strict=True):
        boxes(axes, {plan: of_crop[:, k] for k, plan in enumerate(PLANS)}, [f"{soil} soil" for soil in HEALTH])
        axes.set(title=crop, ylabel="yield, kg per m²")
    page.axes[-1].legend(frameon=False, loc="lower right")
    page.savefig(path, dpi=110)
