"""Make the WOFOST seasons with which the validation card compares rain-fed maize.

    pip install '.[dev]'
    python -m experiments.make_wofost_reference

The farm draws the weather of each day at `rainfed.RAINFED_SITES`. WOFOST 7.2, as implemented in pcse, grows maize with
the same weather and soil and with the unchanged parameters of the European monitoring service, which pcse includes.
It writes `wofost_maize.csv`.
"""

from __future__ import annotations

import datetime
from importlib.metadata import version

import numpy as np

from experiments.studies.common import rainfed, wofost
from experiments.studies.common.season_record import compute_air
from experiments.studies.common.trials import MAY, locate_site
from harvestgym.farm.entities.soil import Soil

COLUMNS = ("site", "season", "t_mean", "rain", *rainfed.RAINFED_MEASURES)


def rows() -> list[tuple[str, ...]]:
    """Grow every season in WOFOST."""
    record = rainfed.grow_rainfed_maize()
    weather = rainfed.describe_weather(record)
    soil = Soil.named(rainfed.DEEP_SILT)
    shares = (float(soil.max_water_capacity) / 1000, float(soil.wilting_point) / 1000)
    ground = wofost.WofostSoil(*shares, rainfed.SOIL_DEPTH)
    found = []
    for i, (site, season) in enumerate(np.ndindex(len(rainfed.RAINFED_SITES), rainfed.SEASONS_PER_SITE)):
        latitude = locate_site(rainfed.RAINFED_SITES[site])["latitude#°"]
        air = compute_air({name: values[site, season] for name, values in record.items()}, latitude)
        grown = wofost.maize(air, MAY + 1, latitude, ground)
        values = (grown.to_flowers, grown.to_maturity, grown.kg, grown.transpired + grown.evaporated)
        cells = ("" if np.isnan(v) else f"{v:.4g}" for v in values)
        days = (f"{weather[name][i]:.2f}" for name in ("t_mean", "rain"))
        found.append((rainfed.RAINFED_SITES[site], str(season), *days, *cells))
    return found


def main() -> None:
    """Write the file."""
    head = (
        f"# WOFOST 7.2 water-limited, pcse {version('pcse')}, made on {datetime.date.today()} by "
        "experiments/make_wofost_reference.py; t_mean and rain are those of the season's days"
    )
    lines = [head, ",".join(COLUMNS), *(",".join(row) for row in rows())]
    rainfed.WOFOST_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
