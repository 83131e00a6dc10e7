"""Charts of a whole episode as one page of Matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Chart

from .chart import find_range

LEVEL = "#8a8a8a"


def draw_figure(charts: Sequence[Chart], step: str) -> Any:
    """Draw charts on a page; `step` names the steps, in the singular. Needs the extra `plot`."""
    from matplotlib.figure import Figure

    columns = 2 if len(charts) in (2, 4) else 3
    rows = math.ceil(len(charts) / columns)
    page = Figure(figsize=(4.2 * columns, 3.3 * rows), layout="constrained")
    panels = page.subplots(rows, columns, squeeze=False).ravel()
    for panel, chart in zip(panels, charts, strict=False):
        _draw_chart(panel, chart, step)
    for panel in panels[len(charts) :]:
        panel.set_axis_off()
    return page


def _draw_chart(panel: Any, chart: Chart, step: str) -> None:
    for line in chart.lines:
        x = np.arange(len(line.values)) if line.x is None else line.x
        if line.colour:
            style = {"marker": "o", "linestyle": "", "markersize": 3} if line.dots else {}
            panel.plot(x, line.values, color=line.colour, label=line.label or None, **style)
        else:
            panel.scatter(x, line.values, c=np.arange(len(x)), s=6, cmap="viridis")
    for name, height in chart.levels.items():
        panel.axhline(height, color=LEVEL, linestyle=":", linewidth=1)
        style = {"color": LEVEL, "fontsize": 8, "bbox": {"facecolor": "white", "alpha": 0.7, "pad": 0.5, "lw": 0}}
        panel.text(0.99, height, name, ha="right", va="bottom", transform=panel.get_yaxis_transform(), **style)
    panel.set(title=chart.title, xlabel=chart.across or step, ylabel=chart.unit, ylim=chart.ends or find_range(chart))
    if any(line.label for line in chart.lines):
        panel.legend(frameon=False, fontsize=8)
