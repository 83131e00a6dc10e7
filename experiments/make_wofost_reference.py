"""Make the WOFOST seasons with which the validation card compares rain-fed crops.

    pip install '.[dev]'
    git clone --branch wofost72 https://github.com/ajwdewit/WOFOST_crop_parameters PARAMETERS
    python -m experiments.make_wofost_reference PARAMETERS
    python -m experiments.make_wofost_reference PARAMETERS corn potato --seasons 4 --out few.csv

The farm draws the weather of each day at the crop's sites (`card.yaml`). WOFOST 7.2, as implemented in pcse, grows the
crop with the same weather and soil and with the unchanged parameters of its authors. The program writes
`wofost_seasons.csv`.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies.common import rainfed, wofost
from experiments.studies.common.season_record import compute_air
from experiments.studies.common.trials import locate_site

COLUMNS = ("crop", "site", "season", "t_mean", "rain", *rainfed.RAINFED_MEASURES)


def grow_seasons(name: str, parameters: Any, seasons: int = rainfed.SEASONS) -> Iterator[tuple[str, ...]]:
    """Grow the seasons of a crop in WOFOST, with the parameters of `wofost.read_parameters`."""
    crop = rainfed.list_rainfed()[name]
    record = rainfed.grow_rainfed(name, seasons)
    weather = rainfed.describe_weather(record)
    planted, ground = wofost.WofostCrop(parameters, crop.crop, crop.variety), wofost.describe_soil(rainfed.DEEP_SILT)
    for i, (site, season) in enumerate(np.ndindex(record["kg"].shape[:2])):
        latitude = locate_site(crop.sites[site])["latitude#°"]
        air = compute_air({name: values[site, season] for name, values in record.items()}, latitude)
        grown = wofost.grow(planted, air, crop.sown + 1, latitude, ground)
        values = (grown.to_flowers, grown.to_maturity, grown.kg, grown.transpired + grown.evaporated)
        cells = ("" if np.isnan(v) else f"{v:.4g}" for v in values)
        days = (f"{weather[name][i]:.2f}" for name in ("t_mean", "rain"))
        yield name, crop.sites[site], str(season), *days, *cells


def write_reference(folder: Path, crops: Sequence[str], seasons: int, out: Path) -> None:
    """Write the file; `folder` is a clone of the parameters."""
    parameters = wofost.read_parameters(folder)
    head = (
        f"# WOFOST 7.2 water-limited, pcse {version('pcse')}, made on {datetime.date.today()} by "
        "experiments/make_wofost_reference.py; t_mean and rain are those of the season's days"
    )
    rows = (",".join(row) for crop in crops for row in grow_seasons(crop, parameters, seasons))
    out.write_text("\n".join([head, ",".join(COLUMNS), *rows]) + "\n", encoding="utf-8")


def main() -> None:
    """Write the seasons of the crops named on the command line, or of all crops."""
    say = argparse.ArgumentParser(description="Make the WOFOST seasons of the validation card.")
    say.add_argument("folder", type=Path, help="a clone of WOFOST_crop_parameters, branch wofost72")
    say.add_argument("crops", nargs="*", help="crops; default: all")
    say.add_argument("--seasons", type=int, default=rainfed.SEASONS, help="seasons of each crop")
    say.add_argument("--out", type=Path, default=rainfed.WOFOST_FILE, help="the file to write")
    args = say.parse_intermixed_args()
    write_reference(args.folder, args.crops or list(rainfed.list_rainfed()), args.seasons, args.out)


if __name__ == "__main__":
    main()
