"""Watering: the yield of a crop with a constant daily amount of water, on sand and clay without rain.

Section 5.2 and figure 6 of the Farm-Gym paper. The farmer waters every day from sowing on, and harvests when the crop
is ripe.

One parameter determines the difference between the soils: the fraction of water that bypasses the roots in dry sand
(`watering_bypass#%`, 0.8). Its consequences are tested on farms for which it was not chosen (`WATERING_VARIANTS`): how
much more water each crop needs on other soils, at other densities and in other weather.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.farm.engine.state import FarmState

from .common.findings import Claim, bootstrap, claim_at_least, claim_at_most, claims_table, ratio
from .common.report import draw_crops, quartile_table, write_yields
from .common.trials import CROPS, REPORTED, Case, TreatmentOrder, Yields, make_trial_farm, run_yields, tend
from .common.variants import Variant, variants_table

SOIL_PAIR = ("clay", "sand")
DAILY_LITRES = (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 4, 5, 10, 15, 20)
LEAST_LITRES = DAILY_LITRES[1]
"""Used instead of a smaller amount, if soil water and rain alone give half of the largest yield."""
SHOWN = (0, 0.25, 0.5, 1, 2, 5, 10, 20)
"""Litres per day in the table and the figure: the paper's amounts and more."""

WATERING_VARIANTS = {
    "as in the study": Variant(),
    "without the bypass, which is built in": Variant(soil={"watering_bypass#%": 0}),
    "loam instead of clay": Variant(soils=("loam", "sand")),
    "silt instead of clay": Variant(soils=("silt", "sand")),
    "half as many plants": Variant(density=0.5),
    "half as many plants again": Variant(density=1.5),
    "recorded summers of Seattle": Variant(weather="seattle"),
}
"""Farms on which the long form tests the claim about sand and clay again."""


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = CROPS,
    seed: int = REPORTED,
    variants: bool = False,
) -> list[Table]:
    """Tabulate yield by litres per day, and the paper's claims; `progress` counts pairs of crop and soil.

    With `variants`, the claim about sand and clay is also tested on other farms, `WATERING_VARIANTS`.
    """
    groups = (_make_cases(crop, soil) for crop in crops for soil in SOIL_PAIR)
    found = run_yields(groups, water_daily, replicates, seed, progress)
    if out is not None:
        write_yields(out / "watering.parquet", found)
        _draw(found, out / "watering.png")
    table = quartile_table("yield, kg.m-2, by litres a day: median [quartiles]", found, {a: f"{a:g} L" for a in SHOWN})
    tables = [table, claims_table(_make_claims(found), replicates)]
    return [*tables, variants_table(claim_watering_variants(replicates, crops, seed, progress))] if variants else tables


def claim_watering_variants(
    replicates: int, crops: Sequence[str], seed: int, progress: Progress
) -> list[tuple[str, Claim]]:
    """Return the claim about sand and the other soil for every variant, by crop."""
    found = []
    for name, variant in WATERING_VARIANTS.items():
        pair = variant.soils or SOIL_PAIR
        groups = (_make_cases(crop, soil, variant) for crop in crops for soil in pair)
        kg = run_yields(groups, water_daily, replicates, seed, progress).kg
        found += [(name, _claim_sand(crop, *kg[i])) for i, crop in enumerate(crops)]
    return found


def water_daily(litres: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Give the same amount of water every day."""
    return tend(state, litres)


def _make_cases(crop: str, soil: str, variant: Variant = WATERING_VARIANTS["as in the study"]) -> list[Case]:
    env = make_trial_farm(variant.entities(crop, soil))
    return [Case({"crop": crop, "soil": soil, "litres": a}, env, jnp.float32(a)) for a in DAILY_LITRES]


def _make_claims(found: Yields) -> list[Claim]:
    """State the results of figure 6."""
    claims = []
    at = DAILY_LITRES.index
    for crop, (clay, sand) in zip(found.levels["crop"], found.kg, strict=True):
        claims += [
            _claim_sand(crop, clay, sand),
            claim_at_least(f"{crop}: yield at 2 L, clay to sand", ratio(clay[at(2)], sand[at(2)]), 2),
            claim_at_most(f"{crop} on clay: yield at 20 L to that at 5 L", ratio(clay[at(20)], clay[at(5)]), 0.8),
            claim_at_most(f"{crop} on sand: yield at 20 L to that at 5 L", ratio(sand[at(20)], sand[at(5)]), 0.8),
        ]
    return claims


def _claim_sand(crop: str, clay: np.ndarray, sand: np.ndarray) -> Claim:
    needs = bootstrap(lambda c, s: litres_for_half(s) / np.maximum(litres_for_half(c), LEAST_LITRES), clay, sand)
    return claim_at_least(f"{crop}: water for half of the largest yield, sand to clay", needs, 2)


def litres_for_half(kg: np.ndarray) -> np.ndarray:
    """Return the litres per day that give half of the largest mean yield, interpolated between two amounts.

    `kg` has shape (amounts, seasons).
    """
    share = kg.mean(-1) / max(kg.mean(-1).max(), 1e-9)
    i = int(np.argmax(share >= 0.5))
    return np.asarray(np.interp(0.5, share[i - 1 : i + 1], DAILY_LITRES[i - 1 : i + 1]) if i else 0.0)


def _draw(found: Yields, path: Path) -> None:
    at = [DAILY_LITRES.index(a) for a in SHOWN]
    pairs = zip(found.levels["crop"], found.kg, strict=True)
    panels = {crop: {soil: kg[j, at] for j, soil in enumerate(SOIL_PAIR)} for crop, kg in pairs}
    draw_crops(path, panels, [f"{a:g}" for a in SHOWN], "water, litres a day", 4, (0, "upper left"))
