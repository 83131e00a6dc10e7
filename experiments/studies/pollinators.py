"""Pollinators: the effect of bees on the yield of three crops on clay where it never rains.

Section 5.2 and figure 7 of the Farm-Gym paper. Without bees, the farm is the same, but they never come.

One parameter determines the effect on beans: the daily probability that a flower pollinates itself
(`auto_pollination_success#%`, 0.07; the reference implementation has 0.2). Its consequences are tested on farms for
which it was not chosen (`BEE_VARIANTS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax.numpy as jnp

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress

from .common.findings import Claim, claim_at_least, claim_within, claims_table, ratio
from .common.report import draw_crops, quartile_table, write_yields
from .common.trials import CROPS, REPORTED, Case, Yields, make_trial_farm, run_yields
from .common.variants import Variant, variants_table
from .watering import water_daily

FEW_LITRES = (2, 3, 5)
ABSENT_BEES = {"extends": "bee", "visit_conditions": {"intercept": 1000}}
BEES = {"without": ABSENT_BEES, "with": "bee"}
ENOUGH = FEW_LITRES.index(5)
BEE_VARIANTS = {
    "as in the study": Variant(),
    "pollination by itself as in the reference": Variant(crop={"bloom": {"auto_pollination_success#%": 0.2}}),
    "loam": Variant(soils=("loam",)),
    "silt": Variant(soils=("silt",)),
    "half as many plants": Variant(density=0.5),
    "half as many plants again": Variant(density=1.5),
    "recorded summers of Seattle": Variant(weather="seattle"),
    "generated summers of Isparta": Variant(weather="isparta"),
}
"""Farms on which the long form tests the claim about beans again."""


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
    variants: bool = False,
) -> list[Table]:
    """Tabulate yield with and without bees by litres per day, and the paper's claims; `progress` counts crops.

    With `variants`, the claim about beans is also tested on other farms, `BEE_VARIANTS`.
    """
    groups = ([case for bees in BEES for case in _make_cases(crop, bees)] for crop in crops)
    found = run_yields(groups, water_daily, replicates, seed, progress)
    if out is not None:
        write_yields(out / "pollinators.parquet", found)
        pairs = zip(crops, found.kg, strict=True)
        panels = {crop: {f"{bees} bees": kg[j] for j, bees in enumerate(BEES)} for crop, kg in pairs}
        draw_crops(out / "pollinators.png", panels, [f"{a:g}" for a in FEW_LITRES], "water, litres a day")
    table = quartile_table("yield, kg.m-2: median [quartiles]", found, {a: f"{a:g} L" for a in FEW_LITRES})
    tables = [table, claims_table(_make_claims(found), replicates)]
    return [*tables, variants_table(claim_bee_variants(replicates, seed, progress))] if variants else tables


def claim_bee_variants(replicates: int, seed: int, progress: Progress) -> list[tuple[str, Claim]]:
    """Return the claim about beans for every variant."""
    found = []
    for name, variant in BEE_VARIANTS.items():
        cases = [case for bees in BEES for case in _make_cases("bean", bees, variant)]
        [(without, bees)] = run_yields([cases], water_daily, replicates, seed, progress).kg
        effect = ratio(bees[ENOUGH], without[ENOUGH])
        found.append((name, claim_at_least("bean: yield with bees to that without", effect, 3)))
    return found


def _make_claims(found: Yields) -> list[Claim]:
    """State the results of figure 7."""
    claims = []
    for crop, (without, bees) in zip(found.levels["crop"], found.kg, strict=True):
        gain, text = ratio(bees[ENOUGH], without[ENOUGH]), f"{crop}: yield with bees to that without"
        claims.append(claim_at_least(text, gain, 3) if crop == "bean" else claim_within(text, gain, 0.85, 1.15))
    return claims


def _make_cases(crop: str, bees: str, variant: Variant = BEE_VARIANTS["as in the study"]) -> list[Case]:
    [soil] = variant.soils or ("clay",)
    env = make_trial_farm([*variant.entities(crop, soil), ("Pollinators", BEES[bees])])
    return [Case({"crop": crop, "bees": bees, "litres": a}, env, jnp.float32(a)) for a in FEW_LITRES]
