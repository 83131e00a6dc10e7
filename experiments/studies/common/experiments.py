"""Blind predictions of field experiments: published values, the farm's predictions, and the errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.core.yaml_io import read_file

from .yield_response import PERIODS, YieldResponse, measure_yield_response

EXPERIMENTS_FILE = Path(__file__).parents[1] / "experiments.yaml"
EXPERIMENT_SOIL = "loam"
GRADIENT = {"whole season": (0.95, 0.85, 0.75, 0.65, 0.55, 0.45, 0.35)}
"""Dryness of the soil in the maize experiment, from mild to severe; see `yield_response.OPENINGS`."""


class Prediction(NamedTuple):
    """A number from an experiment, and the farm's prediction."""

    crop: str
    name: str
    published: float
    predicted: float

    @property
    def error(self) -> float:
        """Return the relative error of the prediction."""
        return self.predicted / self.published - 1


def read_experiments() -> Mapping[str, Any]:
    """Read the experiments by crop."""
    return {crop: said for crop, said in read_file(EXPERIMENTS_FILE).items() if crop != "frozen"}


def predict_experiment(crop: str, replicates: int, seed: int) -> list[Prediction]:
    """Predict the results of the experiment for a crop, bean or corn."""
    said = read_experiments()[crop]
    where = {"site": said["site"], "day": said["day"]}
    if "k_y" in said:
        found = measure_yield_response(crop, EXPERIMENT_SOIL, replicates, seed, **where)
        return [Prediction(crop, f"K_y, {p}", said["k_y"][p], average_factor(found, p)) for p in PERIODS]
    found = measure_yield_response(crop, EXPERIMENT_SOIL, replicates, seed, **where, openings=GRADIENT)
    at = np.array([0.0, *(response.deficit for response in found)])
    loss = np.array([0.0, *(response.loss for response in found)])
    numbers = {
        "yield at 75 % of the water": (said["yield_at_three_quarters"], interpolate_yield(at, loss, 0.25)),
        "share of the water at which grain begins": (said["water_of_first_grain"], find_last_water(at, loss)),
    }
    return [Prediction(crop, name, *pair) for name, pair in numbers.items()]


def average_factor(found: Sequence[YieldResponse], period: str) -> float:
    """Return the K_y of a period: the slope of loss over deficit through the origin."""
    mine = [(response.deficit, response.loss) for response in found if response.period == period]
    deficit, loss = np.array(mine).T
    return float((deficit * loss).sum() / (deficit**2).sum())


def interpolate_yield(deficit: np.ndarray, loss: np.ndarray, at: float) -> float:
    """Return the relative yield at a water deficit."""
    order = np.argsort(deficit)
    return float(1 - np.interp(at, deficit[order], loss[order]))


def find_last_water(deficit: np.ndarray, loss: np.ndarray) -> float:
    """Return the fraction of water at which the yield vanishes, by extrapolating the lowest yields linearly to zero."""
    order = np.argsort(deficit)
    water, kept = 1 - deficit[order], 1 - loss[order]
    some = kept > 0.1
    slope, level = np.polyfit(water[some][-3:], kept[some][-3:], 1)
    return float(-level / slope)


def tabulate_predictions(predictions: Sequence[Prediction]) -> Table:
    """Tabulate published and predicted numbers."""
    columns = ("experiment", "number", "published", "predicted", "error, %")
    said = read_experiments()
    rows = [(said[p.crop]["title"], p.name, f"{p.published:g}", f"{p.predicted:.2f}", f"{100 * p.error:+.0f}")
            for p in predictions]  # fmt: skip
    return Table("experiments predicted blind: not used for any parameter", columns, rows)
