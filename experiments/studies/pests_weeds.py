"""Pests and weeds: tomatoes get a little herbicide every few days; the remaining weeds divert pests from them.

Section 5.2 and figure 8 of the Farm-Gym paper. Without pests, the farm is the same, but no wave of pests arrives.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState

from .common.findings import Claim, bootstrap, claim_at_least, claims_table, difference, ratio
from .common.report import draw_boxes, format_quartiles, open_figure, write_yields
from .common.trials import REPORTED, Case, TreatmentOrder, is_growing, make_trial_farm, run_yields, tend

SPRAY_INTERVALS = (2, 4, 6, 8, 10, 12, 15, 20)
"""Days from one spraying to the next."""

BETWEEN = SPRAY_INTERVALS.index(12)
"""The position of the inner optimum, found in the tuning seasons."""

SPRAY_GRAMS, WATER_LITRES = 0.3, 6.0
SPRAY = ("Cide-0", "scatter")
PESTS: dict[str, Any] = {"without": {"extends": "agressive", "arrival_frequency#day-1": 0}, "with": "agressive"}


def run(
    replicates: int = 300, out: Path | None = None, progress: Progress = ignore_progress, seed: int = REPORTED
) -> list[Table]:
    """Tabulate yield with and without pests by the days between sprayings, and the paper's claims."""
    found = run_yields(map(_make_cases, PESTS), spray_regularly, replicates, seed, progress)
    if out is not None:
        write_yields(out / "pests-weeds.parquet", found)
        _draw(found.kg, out / "pests-weeds.png")
    return [_make_table(found.kg), claims_table(_make_claims(found.kg), replicates)]


def spray_regularly(days: jax.Array, state: FarmState) -> list[TreatmentOrder]:
    """Water every day, and spray a little herbicide on the first of every `days` days."""
    due = is_growing(state) & (jnp.mod(state.day.astype(jnp.float32), days) == 0)
    return [*tend(state, WATER_LITRES), (SPRAY, due, (SPRAY_GRAMS / 1000,))]


def _make_claims(kg: np.ndarray) -> list[Claim]:
    """State the results of figure 8 from yields, (without and with pests, intervals, seasons)."""
    clean, pests = kg
    alive = (pests > 0).astype(float)
    often, rarely = SPRAY_INTERVALS.index(4), len(SPRAY_INTERVALS) - 1
    effects = {
        "without pests: yield of weeding every 4 days to every 20": (ratio(clean[often], clean[rarely]), 1.25),
        "without pests: fall of the mean yield with rarer weeding, rank correlation": (
            bootstrap(_correlate_with_frequency, clean), 0.8,
        ),
        "with pests: share that survives, every 20 days less every 2": (difference(alive[rarely], alive[0]), 0.5),
        "with pests: yield every 12 days less every 2, kg": (difference(pests[BETWEEN], pests[0]), 1),
        "with pests: yield every 12 days to every 20": (ratio(pests[BETWEEN], pests[rarely]), 1),
    }  # fmt: skip
    return [claim_at_least(text, *bounded) for text, bounded in effects.items()]


def _correlate_with_frequency(kg: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation between mean yield and weeding frequency."""
    ranks = np.argsort(np.argsort(kg.mean(-1)))
    return -np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]


def _make_cases(pests: str) -> list[Case]:
    env = _make_farm(pests)
    return [Case({"pests": pests, "days": days}, env, jnp.float32(days)) for days in SPRAY_INTERVALS]


def _make_farm(pests: str) -> FarmModel:
    entities = [("Weather", "dry"), ("Soil", "clay"), ("Plant", "tomato"), ("Weeds", "base_weed")]
    others = [("Pests", PESTS[pests]), ("Cide", "herbicide")]
    return make_trial_farm([*entities, *others], [SPRAY], {"Weeds-0": {"seeds#nb": "(5, 30)"}})


def _make_table(kg: np.ndarray) -> Table:
    rows = []
    for pests, of_pests in zip(PESTS, kg, strict=True):
        rows.append((f"yield {pests} pests", *map(format_quartiles, of_pests)))
        rows.append((f"share that ripens {pests} pests", *(f"{share:.2f}" for share in (of_pests > 0).mean(-1))))
    title = f"tomato, kg.m-2, by the days between two sprayings of {SPRAY_GRAMS:g} g: median [quartiles]"
    return Table(title, ("", *map(str, SPRAY_INTERVALS)), rows)


def _draw(kg: np.ndarray, path: Path) -> None:
    groups = {f"{pests} pests": of_pests for pests, of_pests in zip(PESTS, kg, strict=True)}
    with open_figure(path, 9, 3.6) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
        draw_boxes(left, groups, [str(days) for days in SPRAY_INTERVALS])
        left.set(xlabel="days between two sprayings", ylabel="yield, kg per m²")
        left.legend(frameon=False, loc="upper right")
        for name, of_pests in groups.items():
            bands = [bootstrap(partial(np.mean, axis=-1), (seasons > 0).astype(float)) for seasons in of_pests]
            error = [[b.value - b.low for b in bands], [b.high - b.value for b in bands]]
            right.errorbar(SPRAY_INTERVALS, [b.value for b in bands], error, marker="o", capsize=3, label=name)
        right.set(xlabel="days between two sprayings", ylabel="share that ripens", ylim=(-0.03, 1.05))
