"""Fit two plant parameters and one seed parameter of corn to heights measured near Bonn in 1877.

    python examples/calibrate_maize.py               # a minute on two cores
    python examples/calibrate_maize.py --generations 3

The heights and temperatures are from Kreusler, Prehn and Hornberger (see maize_heights.txt). The parameters fitted to
1877 are then tested on 1878, which the fit did not use.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

import harvestgym
from harvestgym.evaluate.calibrate import Fit, Series, curves, fit, fitted
from harvestgym.evaluate.least_squares import evolve
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.engine.model import FarmModel

ID, HEIGHT = "farm/corn-1x1-v0", "Field-0/Plant-0/size#cm"
DAYS = 145
"""Days from sowing to the last measured height of 1877."""

HEIGHTS = Path(__file__).with_name("maize_heights.csv")
FREE = {
    "Field-0/Plant-0/size_max#cm": (150.0, 300.0),
    "Field-0/Plant-0/clock/seed_sum#°C.day": (40.0, 300.0),
    "Field-0/Plant-0/clock/grow_sum#°C.day": (400.0, 1500.0),
}


def read_rows(year: str) -> list[dict[str, str]]:
    """Return the measurements of a year: for each row, a dict from column names to texts."""
    with HEIGHTS.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["year"] == year]


def weather(year: str, path: Path) -> int:
    """Write the weather of a year, as far as it is known, to a file; return the sowing day.

    Only mean temperatures were published. The rest are assumptions: minima and maxima 5 degC from the mean, 75 %
    humidity, a wind of 2 m/s and 2 mm of rain per day. The farmer waters, so the last three hardly matter.
    """
    rows = read_rows(year)
    days = [date.fromisoformat(row["date"]).timetuple().tm_yday for row in rows]
    mean = np.interp(np.arange(1, 366), days[1:], [float(row["temperature_degC"]) for row in rows[1:]])
    lines = [f"{t - 5:.2f},{t + 5:.2f},{t:.2f},75,2,2" for t in mean]
    path.write_text("\n".join(["Tmin,Tmax,T,RH,U,Rain", *lines]), encoding="utf-8")
    return days[0]


def farm(year: str) -> FarmModel:
    """Build a farm with one square metre of watered corn on loam, sown on that year's sowing day."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "weather.csv"
        sown = weather(year, table)
        days = {"extends": "dry", "table": str(table), "rain": "mm"}
        rules = {"init": {"Field-0": {"Weather-0": {"day#int365": [sown]}}}}
        env = harvestgym.make(ID, soil="loam", entities={"Weather-0": days}, rules=rules)
    assert isinstance(env, FarmModel)
    return env


def height(year: str) -> Series:
    """Return the measured heights of a year, cm, by day of the season."""
    rows = [row for row in read_rows(year) if row["height_cm"]]
    day, value = ([float(row[name]) for row in rows] for name in ("day", "height_cm"))
    return Series(HEIGHT, np.asarray(day, int), np.asarray(value, np.float32))


def error(env: FarmModel, params: object, series: Series) -> float:
    """Return the root mean square error of the heights, cm, for a series of measurements."""
    expert = policy_named(ID, env, "expert")
    curve = curves(env, params, [HEIGHT], expert, days=DAYS)[HEIGHT]
    return float(np.sqrt(np.mean((curve[series.day] - series.value) ** 2)))


def calibrated(generations: int = 25) -> Fit:
    """Return the parameters fitted to 1877."""
    env = farm("1877")
    return fit(
        env, FREE, [height("1877")], policy_named(ID, env, "expert"), search=partial(evolve, generations=generations)
    )


def main() -> None:
    """Fit the parameters to the heights of 1877, and test them on 1878."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=25)
    found, later = calibrated(parser.parse_args().generations), farm("1878")
    for path, value in found.values.items():
        print(f"{path.removeprefix('Field-0/Plant-0/')}: {found.before[path]:.3f} -> {value:.3f}")
    print(f"1877, fitted: error {found.rmse_before[HEIGHT]:.1f} -> {found.rmse[HEIGHT]:.1f} cm")
    before, after = (error(later, p, height("1878")) for p in (later.params, fitted(later, found.values)))
    print(f"1878, not seen: error {before:.1f} -> {after:.1f} cm")


if __name__ == "__main__":
    main()
