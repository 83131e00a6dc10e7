"""Fertilizer: none, one slow dose, or several fast doses, for three crops on a living and a sick soil.

Section 5.2 of the Farm-Gym paper announces this study. Both fertilizers contain the same nutrients. The slow one is
given with the seed; the fast one is given in two doses when growth begins and two doses when fruiting begins, a week
apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState
from harvestgym.farm.entities.plant.stages import Stage

from .common.findings import Claim, claim_at_least, claim_at_most, claims_table, difference, ratio
from .common.report import draw_crops, quartile_table, write_yields
from .common.trials import (
    CROPS,
    REPORTED,
    Case,
    TreatmentOrder,
    Yields,
    crop_of,
    find_water_level,
    make_trial_farm,
    run_yields,
    soil_of,
    tend,
)

FERTILIZER_KG, SHOTS = 0.04, 4
"""Total fertilizer, which contains 10 g of nitrogen, and the number of doses of the fast one."""

SLOW, FAST = ("Fertilizer-0", "scatter"), ("Fertilizer-1", "scatter")
DAYS_PER_WEEK = 7
SHOWER_LITRES = 10.0
MOIST = 0.7
"""Fraction of the extractable water below which the crop is watered."""

HEALTH = {"living": 90, "sick": 30}
"""Microlife in the two soils, %."""

WORN = {
    "microlife_recovery#day-1": 0.005, "bedrocks_release_N#mg.day-1": 20, "bedrocks_release_P#mg.day-1": 4,
    "bedrocks_release_K#mg.day-1": 20, "bedrocks_release_C#mg.day-1": 5,
}  # fmt: skip
"""A loam with only a quarter of its humus, whose microlife does not recover within a season."""

STOCKS = {
    "available_N#g": "(1, 4)",
    "available_P#g": "(0.3, 1)",
    "available_K#g": "(1, 4)",
    "available_C#g": "(0.3, 1)",
}
PLANS = {"nothing": (0.0, 0.0), "one slow shot": (FERTILIZER_KG, 0.0), "four fast shots": (0.0, FERTILIZER_KG / SHOTS)}
"""Kilograms of slow fertilizer, and kilograms per dose of fast fertilizer."""


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
) -> list[Table]:
    """Tabulate yield by crop, soil health and fertilizer, and the claims; `progress` counts crops."""
    groups = ([case for soil in HEALTH for case in _make_cases(crop, soil)] for crop in crops)
    found = run_yields(groups, fertilize, replicates, seed, progress)
    if out is not None:
        write_yields(out / "fertilizer.parquet", found)
        pairs = zip(crops, found.kg, strict=True)
        panels = {crop: {plan: kg[:, k] for k, plan in enumerate(PLANS)} for crop, kg in pairs}
        draw_crops(out / "fertilizer.png", panels, [f"{soil} soil" for soil in HEALTH])
    table = quartile_table("yield, kg.m-2: median [quartiles]", found, {plan: plan for plan in PLANS})
    return [table, claims_table(_make_claims(found), replicates)]


def fertilize(treatment: tuple[jax.Array, ...], state: FarmState) -> list[TreatmentOrder]:
    """Water when dry; give slow fertilizer on the first day, and fast fertilizer weekly until all doses are given."""
    slow, fast, level = treatment
    stage, given = crop_of(state).stage, state.fields[0][4].total.sum()
    growth = jnp.any(stage == Stage.GROW) & (given < (SHOTS / 2 - 0.5) * fast)
    fruiting = jnp.any(stage == Stage.FRUIT) & (given < (SHOTS - 0.5) * fast)
    due = (jnp.mod(state.day, DAYS_PER_WEEK) == 0) & (growth | fruiting)
    dry = jnp.any(soil_of(state).water < level)
    return [*tend(state, SHOWER_LITRES, dry), (SLOW, (state.day == 0) & (slow > 0), (slow,)), (FAST, due, (fast,))]


def _make_claims(found: Yields) -> list[Claim]:
    claims = []
    for crop, (living, sick) in zip(found.levels["crop"], found.kg, strict=True):
        added = [kg[2] - kg[0] for kg in (living, sick)]
        claims += [
            claim_at_least(f"{crop}, living soil: four fast shots to nothing", ratio(living[2], living[0]), 1.1),
            claim_at_least(f"{crop}, living soil: one slow shot to nothing", ratio(living[1], living[0]), 1.1),
            claim_at_most(f"{crop}: kg added by fast shots, sick soil to living", ratio(*added[::-1]), 0.5),
        ]
        if crop == "tomato":
            faster = difference(living[2], living[1])
            claims.append(claim_at_least("tomato, living soil: fast less slow, kg", faster, 0.2))
    return claims


def _make_cases(crop: str, soil: str) -> list[Case]:
    env = _make_farm(crop, soil)
    level = find_water_level(env, MOIST)
    amounts = {plan: (*map(jnp.float32, kg), level) for plan, kg in PLANS.items()}
    return [Case({"crop": crop, "soil": soil, "plan": plan}, env, amounts[plan]) for plan in PLANS]


def _make_farm(crop: str, soil: str) -> FarmModel:
    worn: dict[str, Any] = {"extends": "loam", "start": {"microlife_health_index#%": HEALTH[soil]}, **WORN}
    entities = [("Weather", "montpellier"), ("Soil", worn), ("Plant", crop)]
    return make_trial_farm(
        [*entities, ("Fertilizer", "slow_all"), ("Fertilizer", "fast_all")],
        [SLOW, FAST],
        {"Soil-0": STOCKS},
        day=115,
        days=230,
    )
