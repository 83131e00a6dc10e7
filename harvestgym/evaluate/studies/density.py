"""Yield by density: what a square metre of a crop gives by the seeds sown on it and their spacing.

The law to meet is that of Shinozaki and Kira (1956): the reciprocal of a plant's yield rises linearly with the
density, so that the yield of an area first rises and then stays what it is. Each season is one of the catalogue's
one-plot farm on loam, under its expert, who waters and harvests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.rollout import evaluate
from harvestgym.core.tables import Table
from harvestgym.core.tree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.plant.plant import SEEDS, SPACINGS
from harvestgym.farm.family import make
from harvestgym.farm.policies.expert_rules import rule_policy

CROPS = ("bean", "corn", "tomato", "carrots")
EVEN = 0.0
"""Stands for the spacing at which the plants are spread evenly over the plot."""


class Stand(NamedTuple):
    """The seasons of a crop at one spacing: harvest, kg per m2 of a plot of 1 m2; (seeds, replicates)."""

    crop: str
    spacing: float
    kg: np.ndarray

    @property
    def grams(self) -> np.ndarray:
        """Mean yield of a plant, g; (seeds,)."""
        return 1000 * self.kg.mean(1) / np.asarray(SEEDS)


class Reciprocal(NamedTuple):
    """The line 1 / w = a + b * density through the yields w of a plant, and the share r2 of variance it explains."""

    a: float
    b: float
    r2: float


def run(
    replicates: int = 32,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    crops: Sequence[str] = CROPS,
) -> Table:
    """Yield by seeds and spacing, mean over `replicates` seasons.

    Args:
        replicates: seasons per crop, number of seeds and spacing.
        out: a folder for `density.parquet` (a row per season; needs the extra `data`) and `density.png`.
        progress: told 1 for each crop and spacing that is done.
        crops: parameter sets of the plant.
    """
    stands = []
    for crop in crops:
        env = farm(crop)
        for spacing in (*SPACINGS, EVEN):
            stands.append(Stand(crop, spacing, _harvests(env, spacing, replicates)))
            progress(1)
    if out is not None:
        _write(stands, out)
    columns = ("crop", "seeds", *map(_label, (*SPACINGS, EVEN)), "g per plant, even")
    rows = [row for crop in crops for row in _rows(stands, crop)]
    return Table(f"yield, kg.m-2, mean of {replicates} seasons", columns, rows)


def farm(crop: str) -> FarmModel:
    """The one-plot farm of a crop on loam, whose start says how many seeds lie there and how far apart."""
    start = {"stage": ["seed"], "population#nb": [1], "spacing#cm": [0]}
    base = crop if crop in CROPS[:3] else "bean"
    rules = {"init": {"Field-0": {"Plant-0": start}}}
    return make(f"{base}-loam-1x1-v0", entities={"Plant-0": crop}, rules=rules)


def reciprocal(density: np.ndarray, grams: np.ndarray) -> Reciprocal:
    """The least-squares line of the reciprocal yield law."""
    b, a = np.polyfit(density, 1 / grams, 1)
    rest = np.var(1 / grams - a - b * density) / np.var(1 / grams)
    return Reciprocal(float(a), float(b), float(1 - rest))


def _harvests(env: FarmModel, spacing: float, replicates: int) -> np.ndarray:
    """Harvest of each season, kg; (seeds, replicates). The seasons are the same for all numbers of seeds."""
    policy = rule_policy(env)
    days = int(env.params.horizon)

    def seasons(seeds: jax.Array) -> jax.Array:
        params = _sown(env, seeds, spacing)
        return evaluate(env, policy, jax.random.key(0), replicates, days, params).info["total/harvest#kg"]

    return np.asarray(jax.vmap(seasons)(jnp.asarray(SEEDS)))


def _sown(env: FarmModel, seeds: jax.Array, spacing: float) -> Any:
    values = {"population#nb": seeds[None], "spacing#cm": jnp.float32([spacing])}
    keys = [start.variable.key for start in env.starts]
    starts = [values.get(key, given) for key, given in zip(keys, env.params.starts, strict=True)]
    return replace(env.params, starts=tuple(starts))


def _label(spacing: float) -> str:
    return "even" if spacing == EVEN else f"{spacing:g} cm"


def _rows(stands: Sequence[Stand], crop: str) -> list[tuple[str, ...]]:
    mine = [stand for stand in stands if stand.crop == crop]
    yields = np.stack([stand.kg.mean(1) for stand in mine], axis=1)
    cells = zip(SEEDS, yields, mine[-1].grams, strict=True)
    return [(crop, f"{n:g}", *(f"{kg:.2f}" for kg in row), f"{grams:.0f}") for n, row, grams in cells]


def _write(stands: Sequence[Stand], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_seasons(stands, out / "density.parquet")
    _draw(stands, out / "density.png")


def _write_seasons(stands: Sequence[Stand], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    shape = (len(stands), *stands[0].kg.shape)
    spread = partial(np.broadcast_to, shape=shape)
    columns = {
        "crop": spread(np.asarray([s.crop for s in stands])[:, None, None]),
        "spacing_cm": spread(np.asarray([s.spacing or np.nan for s in stands])[:, None, None]),
        "seeds": spread(np.asarray(SEEDS, int)[None, :, None]),
        "season": spread(np.arange(shape[2])),
        "yield_kg_m2": np.stack([s.kg for s in stands]),
    }
    pyarrow.parquet.write_table(pyarrow.table({name: values.ravel() for name, values in columns.items()}), path)


def _draw(stands: Sequence[Stand], path: Path) -> None:
    from matplotlib.figure import Figure

    crops = list(dict.fromkeys(stand.crop for stand in stands))
    page = Figure(figsize=(3.2 * len(crops) + 1, 6), layout="constrained")
    for column, crop in zip(page.subplots(2, len(crops), sharex=True, squeeze=False).T, crops, strict=True):
        for stand in (s for s in stands if s.crop == crop):
            column[0].plot(SEEDS, stand.kg.mean(1), marker=".", label=_label(stand.spacing))
        even = next(s for s in stands if s.crop == crop and s.spacing == EVEN)
        density = np.asarray(SEEDS)
        line = reciprocal(density, even.grams)
        column[1].plot(density, 1 / even.grams, "o")
        column[1].plot(density, line.a + line.b * density, label=f"r² = {line.r2:.2f}")
        column[0].set(title=crop, ylim=(0, None))
        column[1].set(xlabel="plants per m²", ylim=(0, None))
        column[1].legend(frameon=False)
    page.axes[0].set_ylabel("yield, kg per m²")
    page.axes[len(crops)].set_ylabel("1 / (g per plant), evenly spread")
    page.axes[0].legend(title="spacing", frameon=False)
    page.savefig(path, dpi=110)
