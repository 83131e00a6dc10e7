"""Pests and weeds: a little herbicide every few days on a tomato, where the last weeds draw the pests from the crop.

Section 5.2 and figure 8 of the paper. Without pests the farm is the same one, before which no wave of them comes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    interval,
    least,
    quartiles,
    ratio,
    write_seasons,
)
from harvestgym.evaluate.studies.common.trials import REPORTED, Case, Wish, farm, growing, harvest, seasons, tended
from harvestgym.farm.engine.model import FarmState

DAYS = (2, 4, 6, 8, 10, 12, 15, 20)
BETWEEN = DAYS.index(12)
"""The inner optimum of the tuning seasons."""

GRAMS, LITRES = 0.3, 6.0
SPRAY = ("Cide-0", "scatter")
PESTS: dict[str, Any] = {"without": {"extends": "agressive", "arrival_frequency#day-1": 0}, "with": "agressive"}


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    seed: int = REPORTED,
) -> list[Table]:
    """Harvests by the days between two sprayings, with and without pests, and what the paper says of it.

    Args:
        replicates: seasons per frequency and with or without pests, the same for all.
        out: a folder for `pests-weeds.parquet` (a row per season; needs the extra `data`) and `pests-weeds.png`.
        progress: told 1 for each of with and without that is done.
        seed: of the seasons.
    """
    cases: list[Case] = []
    harvests = []
    for pests in PESTS:
        env = _farm(pests)
        mine = [Case({"pests": pests, "days": x}, env, jnp.float32(x)) for x in DAYS]
        harvests.append(seasons(mine, act, harvest, replicates, seed)["kg"].sum(-1))
        cases += mine
        progress(1)
    kg = np.stack(harvests)
    if out is not None:
        write_seasons(out / "pests-weeds.parquet", cases, {"yield_kg_m2": np.concatenate(harvests)})
        _draw(kg, out / "pests-weeds.png")
    return [_table(kg), claims_table(claims(kg), replicates)]


def act(days: jax.Array, state: FarmState) -> list[Wish]:
    """Water every day, and a little herbicide on the first of every so many."""
    due = growing(state) & (jnp.mod(state.day.astype(jnp.float32), days) == 0)
    return [*tended(state, LITRES), (SPRAY, due, (GRAMS / 1000,))]


def claims(kg: np.ndarray) -> list[Claim]:
    """What figure 8 shows and the paper says of it, of yields (without and with, frequencies, seasons)."""
    clean, pests = kg
    alive = (kg[1] > 0).astype(float)
    often, rarely = DAYS.index(4), len(DAYS) - 1
    return [
        least("without pests: yield of weeding every 4 days to every 20", ratio(clean[often], clean[rarely]), 1.5),
        least("without pests: fall of the mean yield with rarer weeding, rank correlation", _falls(clean), 0.8),
        least("with pests: share that survives, every 20 days less every 2", difference(alive[rarely], alive[0]), 0.5),
        least("with pests: yield every 12 days less every 2, kg", difference(pests[BETWEEN], pests[0]), 1),
        least("with pests: yield every 12 days to every 20", ratio(pests[BETWEEN], pests[rarely]), 1.1),
    ]  # fmt: skip


def _falls(kg: np.ndarray) -> Any:
    """Spearman's correlation of the mean yields with their order, most frequent weeding first, with a sign."""

    def correlation(sample: np.ndarray) -> np.ndarray:
        ranks = np.argsort(np.argsort(sample.mean(-1)))
        return -np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]

    return interval(correlation, kg)


def _farm(pests: str) -> Any:
    entities = [("Weather", "dry"), ("Soil", "clay"), ("Plant", "tomato"), ("Weeds", "base_weed")]
    further = [("Pests", PESTS[pests]), ("Cide", "herbicide")]
    return farm([*entities, *further], [SPRAY], {"Weeds-0": {"seeds#nb": "(5, 30)"}})


def _table(kg: np.ndarray) -> Table:
    rows = []
    for pests, of_pests in zip(PESTS, kg, strict=True):
        rows.append((f"yield {pests} pests", *map(quartiles, of_pests)))
        rows.append((f"share that ripens {pests} pests", *(f"{share:.2f}" for share in (of_pests > 0).mean(-1))))
    title = f"tomato, kg.m-2, by the days between two sprayings of {GRAMS:g} g: median [quartiles]"
    return Table(title, ("", *map(str, DAYS)), rows)


def _draw(kg: np.ndarray, path: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = page.subplots(1, 2, width_ratios=(2, 1))
    boxes(left, {f"{pests} pests": of for pests, of in zip(PESTS, kg, strict=True)}, [str(x) for x in DAYS])
    left.set(xlabel="days between two sprayings", ylabel="yield, kg per m²")
    left.legend(frameon=False, loc="upper right")
    mean = partial(np.mean, axis=-1)
    for pests, of_pests in zip(PESTS, kg, strict=True):
        bands = [interval(mean, (season > 0).astype(float)) for season in of_pests]
        error = [[b.value - b.low for b in bands], [b.high - b.value for b in bands]]
        right.errorbar(DAYS, [b.value for b in bands], error, marker="o", capsize=3, label=f"{pests} pests")
    right.set(xlabel="days between two sprayings", ylabel="share that ripens", ylim=(-0.03, 1.05))
    page.savefig(path, dpi=110)
