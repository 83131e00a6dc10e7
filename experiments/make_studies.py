"""Run the studies from scratch, and write their tables and pictures into the docs.

python -m experiments.make_studies                       # all of them
python -m experiments.make_studies watering calibration  # only these

It needs the extras plot, data and train, and sb3 for the long form of `fishing`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import studies
from harvestgym.core.loading import import_file
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.calibrate import curves, fitted
from harvestgym.evaluate.run import policy_named
from tools.docs_blocks import PICTURES, body, put

FULL, CARD = (Path(studies.__file__).with_name(name) for name in ("TABLES.md", "CARD.md"))
"""The pages of the farm studies and of the validation card."""

PAGES: dict[str, str | Path] = {
    **dict.fromkeys(("watering", "pollinators", "pests-weeds", "fertilizer", "density", "intercropping"), FULL),
    **dict.fromkeys(("looking", "risk", "memory"), "uncertainty.md"),
    **dict.fromkeys(("card", "parameters"), CARD),
    "fishing": "fishing.md", "forager": "forager.md", "region": "region.md", "responses": "crops.md",
}  # fmt: skip


def count_claims(tables: Sequence[Table]) -> list[str]:
    """Return a line with the number of a study's claims, and of those that hold."""
    held = [row[-1] for table in tables if table.title.startswith("claims") for row in table.rows]
    return [f"{held.count('yes')} of {len(held)} claims hold."]


def summarise_card(tables: Sequence[Table]) -> list[str]:
    """Return a table of the card's crops: the measures inside and outside their published range."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for table in tables:
        if not {"crop", "site", "measure", "published"} <= {*table.columns}:
            continue
        for crop, site, measure, published, *values in table.rows:
            if published:
                outside = any("!" in value for value in values)
                found.setdefault(crop, ([], []))[outside].append(f"{measure.partition(',')[0]} ({site})")
    columns = ("crop", "measures in the published range", "outside it on some soil")
    rows = [
        (crop.replace("_", " "), f"{len(good)} of {len(good + bad)}", ", ".join(bad))
        for crop, (good, bad) in found.items()
    ]
    return body(Table("", columns, rows))[2:]


def summarise_sources(tables: Sequence[Table]) -> list[str]:
    """Return the table of the sources of the parameters."""
    return body(tables[0])[2:]


SUMMARIES: dict[str, tuple[str, Callable[[Sequence[Table]], list[str]]]] = {
    **dict.fromkeys(("watering", "pollinators", "pests-weeds", "fertilizer", "intercropping"),
                    ("studies.md", count_claims)),
    "card": ("validation.md", summarise_card),
    "parameters": ("validation.md", summarise_sources),
}  # fmt: skip
"""The pages of the docs that summarise a study, and the functions that do."""

LONG: dict[str, Any] = {
    "watering": {"variants": True, "replicates": 50},
    "pollinators": {"variants": True},
    "intercropping": {"variants": True},
    "fishing": {"train_steps": 200_000},
    "region": {"side": 1000},
}
"""Arguments that override a study's defaults, by study."""


def study(name: str) -> None:
    """Run a study, put its tables into their page, and save its pictures with the others."""
    with tempfile.TemporaryDirectory() as folder:
        found = studies.load_study(name)(out=Path(folder), **LONG.get(name, {}))
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, PICTURES / f"study-{picture.name}")
    put(PAGES[name], name, body(found))
    if name in SUMMARIES:
        page, shorten = SUMMARIES[name]
        put(page, name, shorten(found))


def calibration() -> None:
    """Fit the corn of the example, and put the table and picture of the result into docs/calibration.md."""
    maize = import_file(Path(__file__).parent.parent / "examples" / "calibrate_maize.py")
    found = maize.calibrated()
    rows: list[tuple[str, ...]] = []
    for path, value in found.values.items():
        rows.append((f"`{path.removeprefix('Field-0/Plant-0/')}`", f"{found.before[path]:.3g}", f"{value:.3g}"))
    for year, seen in (("1877", "fitted"), ("1878", "not seen")):
        farm, series = maize.farm(year), maize.height(year)
        errors = [maize.error(farm, params, series) for params in (farm.params, fitted(farm, found.values))]
        rows.append((f"error of the height in {year}, {seen}, cm", *(f"{error:.1f}" for error in errors)))
    _draw_heights(maize, found.values, PICTURES / "study-calibration.png")
    put("calibration.md", "calibration", body(Table("corn of 1877", ("", "catalogue", "fitted"), rows)))


def _draw_heights(maize: Any, values: dict[str, float], path: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(8, 3.4), layout="constrained")
    for axes, year in zip(page.subplots(1, 2, sharey=True), ("1877", "1878"), strict=True):
        env, series = maize.farm(year), maize.height(year)
        expert = policy_named(maize.ID, env, "expert")
        for name, params in {"catalogue": env.params, "fitted on 1877": fitted(env, values)}.items():
            height = curves(env, params, [maize.HEIGHT], expert, days=maize.DAYS)[maize.HEIGHT]
            axes.plot(np.arange(len(height)), height, label=name)
        axes.plot(series.day, series.value, "ko", ms=4, label="measured")
        axes.set(title=f"corn near Bonn, {year}", xlabel="days from sowing")
    page.axes[0].set_ylabel("height, cm")
    page.legend(*page.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    page.savefig(path, dpi=110)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*PAGES, "calibration"]:
        calibration() if wanted == "calibration" else study(wanted)
