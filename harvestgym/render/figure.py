"""Charts of a whole episode on one Matplotlib page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Chart, Line

from .chart import find_range

LEVEL = "#8a8a8a"

MARKERS = np.repeat([*"osD^v"], 8)
"""Markers for the dots of a chart, in order; each is used once per colour, so that series differ."""

FEW_NAMES = 3
"""Maximum number of names for a legend inside its chart; longer legends are placed next to it."""


def draw_figure(charts: Sequence[Chart], step: str, columns: int = 3, title: str = "") -> Any:
    """Draw charts on a page; `step` is the singular name of a step, such as "day". Needs the extra `plot`."""
    from matplotlib.figure import Figure

    page = Figure(layout="constrained")
    columns = 2 if len(charts) in (2, 4) else columns
    for panel, chart in zip(make_panels(page, len(charts), columns), charts, strict=False):
        plot_chart(panel, chart, step)
        if columns == 1:
            panel.label_outer()
    page.suptitle(textwrap.fill(title, 100), fontsize=11)
    return page


def make_panels(page: Any, number: int, columns: int = 0) -> np.ndarray:
    """Make axes for charts on a Matplotlib page with `columns` columns, by default as many as rows; set the size."""
    columns = columns or math.ceil(math.sqrt(number))
    rows = math.ceil(number / columns)
    page.set_size_inches((4.2 * columns, 3.0 * rows) if columns > 1 else (10, 1.9 * rows))
    panels = page.subplots(rows, columns, squeeze=False, sharex=columns == 1).ravel()
    for panel in panels[number:]:
        panel.set_axis_off()
    return panels


def plot_chart(panel: Any, chart: Chart, step: str) -> None:
    """Draw a chart into Matplotlib axes."""
    markers = cycle(MARKERS)
    for line in chart.lines:
        _plot_line(panel, line, markers)
    for name, height in chart.levels.items():
        panel.axhline(height, color=LEVEL, linestyle=":", linewidth=1)
        style = {"color": LEVEL, "fontsize": 8, "bbox": {"facecolor": "white", "alpha": 0.7, "pad": 0.5, "lw": 0}}
        side = "top" if height < max(chart.levels.values()) else "bottom"  # away from the lines between two levels
        panel.text(0.99, height, name, ha="right", va=side, transform=panel.get_yaxis_transform(), **style)
    panel.set(title=chart.title, xlabel=chart.across or step, ylabel=chart.unit, ylim=chart.ends or find_range(chart))
    names = sum(bool(line.label) for line in chart.lines)
    if names:
        aside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if names > FEW_NAMES else {}
        panel.legend(frameon=False, fontsize=8, labelspacing=0.2, borderaxespad=0.2, **aside)


def _plot_line(panel: Any, line: Line, markers: Iterator[str]) -> None:
    x = np.arange(len(line.values)) if line.x is None else line.x
    style = {"color": line.colour, "label": line.label or None}
    if not line.colour:
        panel.scatter(x, line.values, c=np.arange(len(x)), s=6, cmap="viridis")
    elif line.style == "bars":
        panel.bar(x, line.values, **style)
    elif line.style == "area":
        panel.fill_between(x, line.values, step="mid", lw=0, **style)
    elif line.style == "dots":
        panel.plot(x, line.values, marker=next(markers), linestyle="", markersize=3, **style)
    else:
        panel.plot(x, line.values, **style)
