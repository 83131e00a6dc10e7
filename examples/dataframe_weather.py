"""Weather from a pandas DataFrame: recorded summers in Seattle, and the same summers warmer and drier.

    python examples/dataframe_weather.py

It needs pandas (`pip install '.[data]'`). It prints the expert's yield and water use in both.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jax
import numpy as np
import pandas as pd

import harvestgym
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import policy_named

ID, SEASONS = "farm/bean-1x1-v0", 64
SITES = "harvestgym.farm.entities.weather.sites"


def measured() -> pd.DataFrame:
    """Return four years of days; any frame works if it has these columns, and dates in its index or a column `Date`."""
    with (files(SITES) / "seattle.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file, index_col="Date", parse_dates=True)
    return frame.filter(["Tmin", "Tmax", "T", "RH", "U", "Rain"])  # degC, degC, degC, %, m/s, mm


def warmer(frame: pd.DataFrame, degrees: float = 2.0, rain: float = 0.7) -> pd.DataFrame:
    """Return the same days in a warmer and drier climate."""
    changed = frame.copy()
    changed[["Tmin", "Tmax", "T"]] += degrees
    changed["Rain"] *= rain
    return changed


def farm(frame: pd.DataFrame) -> Any:
    """Build the catalogue's bean farm with custom weather, at the station's altitude."""
    weather = {"extends": "seattle", "table": frame, "rain": "mm", "station_altitude#m": 132}
    return harvestgym.make(ID, entities={"Weather-0": weather})


def main() -> None:
    """Compare both weathers on the same seeds; the two farms share one compiled program."""
    days = measured()
    for name, frame in (("as it was", days), ("warmer", warmer(days))):
        env = farm(frame)
        seasons = evaluate(env, policy_named(ID, env, "expert"), jax.random.key(0), SEASONS, 220)
        kg, water = (np.asarray(seasons.info[f"total/{tally}"]) for tally in ("harvest#kg", "water#L"))
        print(f"{name}: {kg.mean():.3f} kg, {water.mean():.0f} L, {seasons.length.mean():.0f} days")


if __name__ == "__main__":
    main()
