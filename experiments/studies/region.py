"""A region: yield, water and best sowing day of beans on a map of cells, each with its own soil.

All cells are rows of parameters for one compiled program. They run as a sweep, chunk by chunk, so memory does not grow
with the region, an interrupted map can be resumed, and Ray can distribute it over machines.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.sweep.batches import LOCAL, EngineOptions
from harvestgym.sweep.engine import sweep
from harvestgym.sweep.result_folder import read

from .common.region_cells import SEED, list_region_cases
from .common.report import open_figure

SOWINGS = (100, 125, 150)
"""Sowing days, as days of the year: 10 April, 5 May, 30 May."""

CHUNK = 16_384
"""Cells per case, which take seconds to run and half a megabyte to store."""

HTML_SIDE = 200
"""Cells along a side of the interactive map, whose cells are means over cells of finer maps."""


class RegionMap(NamedTuple):
    """The results of a region, each (side, side), from the south.

    Attributes:
        sowing: best sowing day, by mean return.
        kg, litres: yield and water in the season sown on that day.
        by_day: for each sowing day, mean yield and water over all cells, and the fraction of cells in which it is best.
    """

    sowing: np.ndarray
    kg: np.ndarray
    litres: np.ndarray
    by_day: dict[int, tuple[float, float, float]]


def run(
    replicates: int = 1,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    side: int = 100,
    sowings: Sequence[int] = SOWINGS,
    seed: int = SEED,
    work: Path | None = None,
    options: EngineOptions = LOCAL,
) -> Table:
    """Tabulate yield and water by sowing day over a region of `side` x `side` cells; 1000 makes a million cells.

    Args:
        replicates: seasons per cell and sowing day.
        out: folder for `region.png` and `region.html`.
        progress: receives 1 for each chunk.
        side: cells along a side.
        sowings: days of the year.
        seed: seed of the seasons.
        work: folder for a Parquet file per chunk, from which it resumes; by default `region` in `out`.
        options: where the chunks run; see `harvestgym.sweep.batches.EngineOptions`.
    """
    if side < 1 or not sowings:
        raise ConfigError(f"region: expected a side of at least 1 and a sowing day, got {side} and {list(sowings)}")
    cases = list_region_cases(side, sowings, replicates, min(CHUNK, side * side), seed)
    with tempfile.TemporaryDirectory() as unkept:
        folder = work or (Path(unkept) if out is None else out / "region")
        start = time.perf_counter(), time.process_time()
        report = sweep(cases, folder, options, progress)
        wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
        if report.failures:
            first = next(iter(report.failures.values()))
            raise ConfigError(f"region: expected all chunks to run, got {first}; try it again")
        found = make_map(read(folder), side, sowings)
    if out is not None:
        draw_map(found, out / "region.png")
        write_html(found, out / "region.html")
    ran = side * side * len(sowings) * replicates * report.ran / report.total
    clocks = {"s": wall} | ({"CPU s": cpu} if options.engine == LOCAL.engine else {})  # workers have their own clocks
    costs = ", ".join(f"{clock * 1e6 / ran:.0f} {unit}" for unit, clock in clocks.items()) if ran else ""
    cost = f"; {costs} per million seasons" if ran else ""
    seasons = "one season" if replicates == 1 else f"{replicates} seasons"
    rows = [(str(day), *(f"{value:.3g}" for value in found.by_day[day])) for day in sowings]
    title = f"{side} x {side} cells, {seasons} on each day of sowing{cost}"
    return Table(title, ("sown on day", "yield, kg.m-2", "water, L.m-2", "best in share of cells"), rows)


def make_map(rows: Any, side: int, sowings: Sequence[int]) -> RegionMap:
    """Make the maps from an Arrow table with a row per cell and sowing day."""
    order = np.lexsort((rows["cell"].to_numpy(), rows["sowing"].to_numpy()))
    names = ("return", "yield kg", "water L")
    earned, kg, litres = (rows[name].to_numpy()[order].reshape(len(sowings), side, side) for name in names)
    days, best = np.sort(np.asarray(sowings)), earned.argmax(0)
    picked = [np.take_along_axis(values, best[None], 0)[0] for values in (kg, litres)]
    means = [(float(kg[i].mean()), float(litres[i].mean()), float((best == i).mean())) for i in range(len(days))]
    return RegionMap(days[best], picked[0], picked[1], dict(zip(days.tolist(), means, strict=True)))


def draw_map(found: RegionMap, path: Path) -> None:
    """Draw the three maps, north up."""
    panels = {"yield, kg per m²": found.kg, "water, L per m²": found.litres, "best day of sowing": found.sowing}
    with open_figure(path, 13, 4.2) as figure:
        for axes, (title, values) in zip(figure.subplots(1, 3), panels.items(), strict=True):
            image = axes.imshow(values, origin="lower", cmap="viridis", interpolation="nearest")
            axes.set(title=title, xticks=[], yticks=[])
            figure.colorbar(image, ax=axes, shrink=0.8)


def write_html(found: RegionMap, path: Path) -> None:
    """Write the three maps as a web page that shows each cell's numbers and needs no network."""
    from plotly.subplots import make_subplots  # an optional extra

    panels = {"yield, kg per m²": found.kg, "water, L per m²": found.litres, "best day of sowing": found.sowing}
    figure = make_subplots(1, 3, subplot_titles=list(panels))
    for column, values in enumerate(panels.values(), start=1):
        bar = {"x": column / 3 - 0.03, "len": 0.9, "thickness": 10}
        heat = {"type": "heatmap", "z": np.round(coarsen(values, HTML_SIDE), 3).tolist(), "colorbar": bar,
                "colorscale": "Viridis"}  # fmt: skip
        figure.add_trace(heat, 1, column)
    figure.write_html(path, include_plotlyjs=True)


def coarsen(values: np.ndarray, side: int) -> np.ndarray:
    """Return a square map as means over blocks, so that it has at most `side` cells along a side."""
    block = -(-len(values) // side)
    edges = np.arange(0, len(values), block)
    sums = np.add.reduceat(np.add.reduceat(values.astype(float), edges, 0), edges, 1)
    counts = np.diff(np.append(edges, len(values)))
    return sums / np.outer(counts, counts)
