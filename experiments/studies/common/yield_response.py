"""Yield response to water: seasons in which a treatment sets how dry the soil is kept, measured as in FAO-33.

Every morning, a farmer fills the soil up to a level that depends on the crop's period of growth. The factor K_y is the
relative loss of yield divided by the relative loss of evapotranspiration in the dry period (Doorenbos and Kassam 1979,
Yield response to water), both compared with the same seasons at full supply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.farm.engine.state import DayReport, FarmState
from harvestgym.farm.entities.plant.stages import Stage

from .trials import (
    APRIL,
    Case,
    TreatmentOrder,
    crop_of,
    find_water_level,
    make_trial_farm,
    run_seasons,
    soil_of,
    tend,
    watch_harvest,
)

DRY_SEASON_DAYS = 230
FULL_SUPPLY = 0.8
"""Fraction of the extractable water in the soil at full supply, above every threshold of eq. (5)."""

MOST_LITRES = 20.0
"""Maximum amount of water that a farmer can give a plot in a day, L."""

PERIODS: dict[str, tuple[Stage, ...]] = {
    "whole season": (Stage.SEED, Stage.GROW, Stage.BLOOM, Stage.FRUIT), "vegetative": (Stage.SEED, Stage.GROW),
    "flowering": (Stage.BLOOM,), "yield formation": (Stage.FRUIT,),
}  # fmt: skip
"""The FAO-33 periods, with the stages of the farm's crops in each."""

OPENINGS = {"whole season": (0.93, 0.84, 0.72), "vegetative": (0.6,), "flowering": (0.4,), "yield formation": (0.7,)}
"""Fraction of its transpiration (K_s) that a crop keeps in a dry period, for deficits of 7 to 26 % of a season."""


class YieldResponse(NamedTuple):
    """Relative losses of evapotranspiration and yield, as means over seasons.

    Attributes:
        period: the dry period, a key of `PERIODS`.
        deficit: relative loss of evapotranspiration in that period, 0 to 1.
        loss: relative loss of yield, 0 to 1.
        died: fraction of seasons in which the crop died.
    """

    period: str
    deficit: float
    loss: float
    died: float

    @property
    def factor(self) -> float:
        """Return the yield response factor K_y."""
        return self.loss / self.deficit


def measure_yield_response(
    crop: str, soil: str, replicates: int, seed: int, site: str = "montpellier", day: int = APRIL,
    openings: Mapping[str, Sequence[float]] = OPENINGS,
) -> list[YieldResponse]:  # fmt: skip
    """Return a crop's response to dry soil, in the whole season and in each period.

    Args:
        crop, soil: parameter sets.
        replicates, seed: number and seed of the seasons.
        site: weather site.
        day: day of the year on which the crop is sown.
        openings: see `OPENINGS`.
    """
    entities = [("Weather", site), ("Soil", soil), ("Plant", crop), ("Pollinators", "bee")]
    env = make_trial_farm(entities, day=day, days=DRY_SEASON_DAYS, site=site)
    full = jnp.full(len(Stage), find_water_level(env, FULL_SUPPLY))
    drought = float(env.params.fields[0].entities[2].grow.drought)  # pyright: ignore[reportAttributeAccessIssue]
    treatments = [("full supply", full)]
    for period, shares in openings.items():
        dry = [full.at[jnp.asarray(PERIODS[period])].set(find_water_level(env, k * drought)) for k in shares]
        treatments += [(period, levels) for levels in dry]
    cases = [Case({"case": i}, env, levels) for i, (_, levels) in enumerate(treatments)]
    record = run_seasons(cases, fill_to_level, watch_water, replicates, seed)
    return [_compare(record, i, period) for i, (period, _) in enumerate(treatments) if i]


def fill_to_level(levels: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Fill the soil up to the level for the crop's stage, L."""
    lacking = levels[crop_of(state).stage[0, 0]] - soil_of(state).water[0, 0]
    return tend(state, jnp.clip(lacking, 0.0, MOST_LITRES))


def watch_water(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """Record the stage in the evening, the harvest, and the water lost by crop and soil."""
    lost = report.flows[0]["water:transpiration"].sum() + report.flows[0]["water:evaporation"].sum()
    return watch_harvest(state, report) | {"stage": crop_of(state).stage[0, 0], "lost": -lost}


def _compare(record: dict[str, np.ndarray], case: int, period: str) -> YieldResponse:
    """Compare a case with the first one, which has full supply."""
    first = np.full_like(record["stage"][..., :1], Stage.SEED)
    morning = np.concatenate([first, record["stage"][..., :-1]], axis=-1)
    lost = (record["lost"] * np.isin(morning, PERIODS[period])).sum(-1).mean(-1)
    kg = record["kg"].sum(-1).mean(-1)
    died = (record["stage"][case] == Stage.DEAD).any(-1).mean()
    return YieldResponse(period, float(1 - lost[case] / lost[0]), float(1 - kg[case] / kg[0]), float(died))
