"""Cells of a region: each has its own soil, depth and climate, with parameters mixed from a few corner farms.

Soil, depth and climate vary smoothly over a unit square, by formulas that depend only on the position. Any part of a
grid of any resolution can therefore be computed separately, on any worker.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import evaluation_keys, horizon, policy_named
from harvestgym.registry import make
from harvestgym.sweep.cases import SweepCase

FARM = "farm/bean-1x1-v0"
SITES = ({"Weather-0": "montpellier", "Field-0/latitude#°": 43.62}, {"Weather-0": "lille", "Field-0/latitude#°": 50.62})
"""The climates at the southern and the northern edge."""

SOILS = ("clay", "silt", "sand")
DEPTHS = (0.3, 1.5)
"""Minimum and maximum soil depth, m."""

EXPERT = [
    {"when": "Plant-0.stage == ripe", "do": "Plant-0.harvest"},
    {"when": "Weather-0.consecutive_dry#day >= 2", "do": "Soil-0.watering_discrete", "amount#L": 20,
     "duration#min": 60, "every#day": 3},
]  # fmt: skip
"""The farmer of all cells, who does not know the soil: water every third day of a dry spell, harvest ripe crops."""

CELL_ROWS = 1024
"""Number of cells per compiled call."""

CELL_MEANS = ("return", "yield kg", "water L")
"""Columns that are means over a cell's seasons."""

SEED = 2026
WAVES = 6
"""Number of waves summed to make a map."""


class RegionCase(SweepCase):
    """Seasons of some cells of a region, all sown on the same day.

    Attributes:
        side: cells along a side of the region.
        first: number of the first cell, row by row from the south-west.
        cells: number of cells.
        sowing: day of the year on which the cells are sown.
        seasons: seasons per cell, with the same random numbers in all cells.
        seed: seed of the seasons.
    """

    runner: ClassVar[str] = "experiments.studies.common.region_cells:run_region_cases"

    side: int = Field(ge=1)
    first: int = Field(ge=0)
    cells: int = Field(ge=1)
    sowing: int = Field(ge=1, le=365)
    seasons: int = Field(default=1, ge=1)
    seed: int = SEED

    @property
    def batch_key(self) -> str:
        return f"region {self.side} {self.seasons}"

    @property
    def size(self) -> int:
        return self.cells * self.seasons

    @property
    def labels(self) -> dict[str, Any]:
        return {"sowing": np.int16(self.sowing)}


def list_region_cases(
    side: int, sowings: Sequence[int], seasons: int, cells: int, seed: int = SEED
) -> list[RegionCase]:
    """List the cases of a region, with `cells` cells each."""
    starts = range(0, side * side, cells)
    spans = [(first, min(cells, side * side - first)) for first in starts]
    return [
        RegionCase(side=side, first=first, cells=number, sowing=sowing, seasons=seasons, seed=seed)
        for first, number in spans
        for sowing in sowings
    ]


def map_waves(x: np.ndarray, y: np.ndarray, name: str) -> np.ndarray:
    """Return a smooth map in [0, 1] at points of the unit square: a sum of random waves, seeded by its name."""
    random = np.random.default_rng(list(name.encode()))
    across, along = random.uniform(-14, 14, (2, WAVES, 1))
    total = np.sin(across * x + along * y + random.uniform(0, 2 * np.pi, (WAVES, 1))).sum(0)
    return 0.5 + 0.5 * np.tanh(total / np.sqrt(WAVES))


def describe_cells(numbers: np.ndarray, side: int) -> dict[str, np.ndarray]:
    """Describe cells by number: position, and the fractions of the northern climate, of each soil and of the depth."""
    x, y = (numbers % side + 0.5) / side, (numbers // side + 0.5) / side
    soils = np.stack([map_waves(x, y, name) ** 3 for name in SOILS])
    shares = soils / soils.sum(0)
    north = np.clip(y + 0.2 * (map_waves(x, y, "climate") - 0.5), 0, 1)
    return {"x": x, "y": y, "north": north, **dict(zip(SOILS, shares, strict=True)), "depth": map_waves(x, y, "depth")}


def weigh_corners(cells: dict[str, np.ndarray]) -> np.ndarray:
    """Return the weight of each corner farm in each cell, (cells, corners), in the order of `make_corners`."""
    climate = (1 - cells["north"], cells["north"])
    depth = (1 - cells["depth"], cells["depth"])
    weights = itertools.product(climate, (cells[name] for name in SOILS), depth)
    return np.stack([c * s * d for c, s, d in weights], axis=1).astype(np.float32)


@lru_cache(maxsize=16)
def make_corners(sowing: int) -> tuple[Env[Any, Any], Policy, Any]:
    """Make the corner farms for a sowing day: their structure, their policy and their stacked parameters."""
    rules = {"init": {"Field-0": {"Weather-0": {"day#int365": [sowing]}}}}
    farms = [
        make(FARM, entities={**site, "Soil-0": soil, "Soil-0/depth#m": depth}, rules=rules, expert=EXPERT)
        for site, soil, depth in itertools.product(SITES, SOILS, DEPTHS)
    ]
    stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *(f.params for f in farms))
    return farms[0], policy_named(FARM, farms[0], "expert"), stacked


def mix_corners(corners: Any, weights: jax.Array) -> Any:
    """Return the parameters for each row of weights: weighted means of the parameters that differ between corners."""

    def mix(leaf: np.ndarray) -> jax.Array:
        if (leaf == leaf[:1]).all():
            return jnp.broadcast_to(leaf[0], (len(weights), *leaf.shape[1:]))
        return jnp.tensordot(weights, leaf, 1)

    return jax.tree.map(mix, corners)


def run_region_cases(cases: Sequence[RegionCase]) -> list[dict[str, np.ndarray]]:
    """Return the rows of each case: each cell's position, its soil, and the means over its seasons."""
    return [_run_case(case) for case in cases]


def _run_case(case: RegionCase) -> dict[str, np.ndarray]:
    env, policy, corners = make_corners(case.sowing)
    cells = describe_cells(np.arange(case.first, case.first + case.cells), case.side)
    weights, steps = weigh_corners(cells), horizon(env)
    means: dict[str, np.ndarray] = {
        name: np.zeros(case.cells, np.float32) for name in ("return", "yield kg", "water L")
    }
    for key in evaluation_keys(case.seed, np.arange(case.seasons)):
        for start in range(0, case.cells, CELL_ROWS):
            rows = np.minimum(np.arange(start, start + CELL_ROWS), case.cells - 1)
            keys = jnp.broadcast_to(key, CELL_ROWS)
            params = Batched(mix_corners(corners, jnp.asarray(weights[rows])))
            episodes = evaluate(env, policy, keys, CELL_ROWS, steps, params)
            kept = episodes.returns, episodes.info["total/harvest#kg"], episodes.info["total/water#L"]
            for name, values in zip(CELL_MEANS, kept, strict=True):
                means[name][start : start + CELL_ROWS] += np.asarray(values)[: case.cells - start] / case.seasons
    place = {"cell": np.arange(case.first, case.first + case.cells, dtype=np.int32)}
    soil = {name: cells[name].astype(np.float32) for name in ("north", *SOILS)}
    depth = {"depth m": (DEPTHS[0] + cells["depth"] * (DEPTHS[1] - DEPTHS[0])).astype(np.float32)}
    return place | soil | depth | means
