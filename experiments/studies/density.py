"""Yield by density: the yield of a square metre by the number and spacing of the seeds sown on it.

The farm should follow the law of Shinozaki and Kira (1956): the reciprocal of a plant's yield rises linearly with
density, so the yield per area rises at low densities and levels off at high ones. The law is about light and space, so
the soil is fertile enough for all plants. The farm is the catalogue's one-plot farm with its expert, who waters and
harvests.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.episode import seed_key
from harvestgym.core.pytree import replace
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.plant.plant import SEEDS, SPACINGS
from harvestgym.farm.family import make
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.registry import ids
from harvestgym.sweep.batches import LOCAL, EngineOptions
from harvestgym.sweep.cases import CallCase
from harvestgym.sweep.engine import collect

from .common.report import open_figure, write_columns
from .common.trials import CROPS

SOWN_CROPS = (*CROPS, "carrots")
FERTILE = {
    "extends": "loam",
    "start": {
        f"{nutrient}_{end}#g.m-2": g for nutrient, g in (("N", 45), ("P", 30), ("K", 100)) for end in ("min", "max")
    },
}
"""A loam with more nutrients than thirty tomatoes take."""

EVEN = 0.0
"""Code for the spacing at which plants are spread evenly over the plot."""

SOWN_SPACINGS = (*SPACINGS, EVEN)
PLANTS = np.asarray(SEEDS)
"""The densities: numbers of plants on the plot of 1 m2."""


class Reciprocal(NamedTuple):
    """The line 1 / w = a + b * density fitted to the yields w per plant, and its fraction of explained variance, r2."""

    a: float
    b: float
    r2: float


def run(
    replicates: int = 32,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    crops: Sequence[str] = SOWN_CROPS,
    seed: int = 0,
    work: Path | None = None,
    options: EngineOptions = LOCAL,
) -> Table:
    """Tabulate the mean yield over `replicates` seasons, by seeds and spacing.

    Args:
        replicates, out, progress: as in every study; progress counts pairs of crop and spacing.
        crops: parameter sets of the plant.
        seed: seed of the seasons.
        work, options: where the cases are stored and run; see `harvestgym.sweep.engine.collect`.
    """
    common = {"replicates": replicates, "seed": seed}
    cases = [CallCase(function=f"{__name__}:run_spacing", arguments={"crop": crop, "spacing": spacing} | common)
             for crop in crops for spacing in SOWN_SPACINGS]  # fmt: skip
    found = [columns["kg"] for columns in collect(cases, work, options, progress)]
    kg = np.stack(found).reshape(len(crops), len(SOWN_SPACINGS), len(SEEDS), replicates)
    if out is not None:
        _write_seasons(crops, kg, out / "density.parquet")
        _draw(crops, kg.mean(-1), out / "density.png")
    columns = ("crop", "seeds", *map(_format_spacing, SOWN_SPACINGS), "g per plant, even")
    rows = [row for crop, of_crop in zip(crops, kg.mean(-1), strict=True) for row in _make_rows(crop, of_crop)]
    return Table(f"yield, kg.m-2, mean of {replicates} seasons", columns, rows)


def make_sown_farm(crop: str) -> FarmModel:
    """Make a crop's one-plot farm on fertile loam, with the number and spacing of seeds among its initial values."""
    start = {"stage": ["seed"], "population#nb": [1], "spacing#cm": [0]}
    base = f"farm/{crop if crop in CROPS else 'bean'}-1x1-"
    rules = {"init": {"Field-0": {"Plant-0": start}}}
    name = max(id for id in ids("farm") if id.startswith(base)).removeprefix("farm/")
    return make(
        name, soil="loam", entities={"Weather-0": "montpellier", "Soil-0": FERTILE, "Plant-0": crop}, rules=rules
    )


def fit_reciprocal(density: np.ndarray, grams: np.ndarray) -> Reciprocal:
    """Fit the line of the reciprocal yield law by least squares."""
    b, a = np.polyfit(density, 1 / grams, 1)
    rest = np.var(1 / grams - a - b * density) / np.var(1 / grams)
    return Reciprocal(float(a), float(b), float(1 - rest))


def compute_grams(kg: np.ndarray) -> np.ndarray:
    """Compute the yield per plant, g, from the yields of the plot by number of seeds."""
    return 1000 * kg / PLANTS


def run_spacing(crop: str, spacing: float, replicates: int, seed: int) -> dict[str, np.ndarray]:
    """Return the harvest of each season, kg, by number of seeds; the seasons are the same for all numbers."""
    env = make_sown_farm(crop)
    policy = rule_policy(env)
    days = int(env.params.horizon)

    def seasons(seeds: jax.Array) -> jax.Array:
        params = _set_sowing(env, seeds, spacing)
        return evaluate(env, policy, seed_key(seed), replicates, days, params).info["total/harvest#kg"]

    return {"kg": np.asarray(jax.vmap(seasons)(jnp.asarray(SEEDS)))}


def _set_sowing(env: FarmModel, seeds: jax.Array, spacing: float) -> Any:
    values = {"population#nb": seeds[None], "spacing#cm": jnp.float32([spacing])}
    keys = [start.variable.key for start in env.starts]
    starts = [values.get(key, given) for key, given in zip(keys, env.params.starts, strict=True)]
    return replace(env.params, starts=tuple(starts))


def _format_spacing(spacing: float) -> str:
    return "even" if spacing == EVEN else f"{spacing:g} cm"


def _make_rows(crop: str, kg: np.ndarray) -> list[tuple[str, ...]]:
    """Make the rows of a crop from its mean yields (spacings, seeds)."""
    cells = zip(SEEDS, kg.T, compute_grams(kg[-1]), strict=True)
    return [(crop, f"{n:g}", *(f"{value:.2f}" for value in row), f"{grams:.0f}") for n, row, grams in cells]


def _write_seasons(crops: Sequence[str], kg: np.ndarray, path: Path) -> None:
    columns = {
        "crop": np.asarray(crops)[:, None, None, None],
        "spacing_cm": np.asarray([spacing or np.nan for spacing in SOWN_SPACINGS])[:, None, None],
        "seeds": np.asarray(SEEDS, int)[:, None],
        "season": np.arange(kg.shape[-1]),
        "yield_kg_m2": kg,
    }
    write_columns(path, columns)


def _draw(crops: Sequence[str], kg: np.ndarray, path: Path) -> None:
    """Draw the mean yields of the plot (crops, spacings, seeds), and the reciprocals of the yields per plant."""
    with open_figure(path, 3.2 * len(crops) + 1, 6) as figure:
        columns = figure.subplots(2, len(crops), sharex=True, squeeze=False).T
        for column, crop, of_crop in zip(columns, crops, kg, strict=True):
            for spacing, yields in zip(SOWN_SPACINGS, of_crop, strict=True):
                column[0].plot(PLANTS, yields, marker=".", label=_format_spacing(spacing))
            grams = compute_grams(of_crop[-1])
            line = fit_reciprocal(PLANTS, grams)
            column[1].plot(PLANTS, 1 / grams, "o")
            column[1].plot(PLANTS, line.a + line.b * PLANTS, label=f"r² = {line.r2:.2f}")
            column[0].set(title=crop, ylim=(0, None))
            column[1].set(xlabel="plants per m²", ylim=(0, None))
            column[1].legend(frameon=False)
        figure.axes[0].set_ylabel("yield, kg per m²")
        figure.axes[len(crops)].set_ylabel("1 / (g per plant), evenly spread")
        figure.axes[0].legend(title="spacing", frameon=False)
