"""Output of a study: tidy Parquet files, figures and tables of yields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.saving.files import write_parquet
from harvestgym.core.view.tables import Table

from .trials import Yields


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns as Parquet; arrays of several axes are broadcast against each other and flattened."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = np.broadcast_arrays(*map(np.asarray, columns.values()))
    flat = {name: values.ravel() for name, values in zip(columns, whole, strict=True)}
    write_parquet(path, flat)


def write_yields(path: Path, found: Yields) -> None:
    """Write a row per case and season: the labels of the case, the season and the yield."""
    write_seasons(path, found.labels, {"yield_kg_m2": found.kg.reshape(len(found.cases), -1)})


def write_seasons(path: Path, labels: Mapping[str, Sequence[Any]], measured: Mapping[str, np.ndarray]) -> None:
    """Write a row per case and season: labels with an entry per case, and measures of shape (cases, seasons)."""
    seasons = next(iter(measured.values())).shape[1]
    columns = {name: np.asarray(values)[:, None] for name, values in labels.items()}
    write_columns(path, columns | {"season": np.arange(seasons)} | dict(measured))


@contextmanager
def open_figure(path: Path, width: float, height: float, dpi: int = 110) -> Iterator[Any]:
    """Yield a Matplotlib figure of this size, in inches, and save it at the end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)


def draw_boxes(axes: Any, groups: Mapping[str, np.ndarray], ticks: Sequence[str]) -> None:
    """Draw box plots of some groups next to each other at each tick; a group has shape (ticks, seasons)."""
    width = 0.8 / len(groups)
    at = np.arange(len(ticks))
    for i, (name, values) in enumerate(groups.items()):
        positions = at + (i - (len(groups) - 1) / 2) * width
        drawn = axes.boxplot(
            list(values), positions=positions, widths=0.8 * width, patch_artist=True, manage_ticks=False, label=name,
            flierprops={"marker": ".", "ms": 3}, medianprops={"color": "black"},
        )  # fmt: skip
        for box in drawn["boxes"]:
            box.set_facecolor(f"C{i}")
    axes.set_xticks(at, ticks)
    axes.set_ylim(0, None)


def draw_crops(
    path: Path,
    panels: Mapping[str, Mapping[str, np.ndarray]],
    ticks: Sequence[str],
    xlabel: str = "",
    width: float = 3.2,
    legend: tuple[int, str] = (-1, "lower right"),
) -> None:
    """Draw box plots of yields, one panel per crop; `legend` is the panel of the legend and its position there."""
    with open_figure(path, width * len(panels) + 1, 3.6) as figure:
        for axes, (crop, groups) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
            draw_boxes(axes, groups, ticks)
            axes.set(title=crop, xlabel=xlabel, ylabel="yield, kg per m²")
        panel, place = legend
        figure.axes[panel].legend(frameon=False, loc=place)


def quartile_table(title: str, found: Yields, shown: Mapping[Any, str]) -> Table:
    """Make a table with a row for each combination of the first labels and a column for each shown level of the last.

    Args:
        title: title of the table.
        found: the yields.
        shown: levels of the last label, each with its column heading.
    """
    *names, last = found.levels
    at = [found.levels[last].index(level) for level in shown]
    rows = []
    for place in np.ndindex(found.kg.shape[: len(names)]):
        heads = [found.levels[name][i] for name, i in zip(names, place, strict=True)]
        rows.append((*heads, *(format_quartiles(found.kg[place][i]) for i in at)))
    return Table(title, (*names, *shown.values()), rows)


def format_quartiles(values: np.ndarray) -> str:
    """Format the median and the quartiles."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"
