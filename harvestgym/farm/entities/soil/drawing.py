"""Drawing of the soil: a colour for each wetness class, distinguishable with any type of colour vision."""

from __future__ import annotations

import numpy as np

from harvestgym.core.view.scene import Mark

CLASSES = (
    (0.1, "#f6e8c3", "dry soil, to 10 %"),
    (0.35, "#dcdccb", "10 to 35 %"),
    (0.65, "#b5cfdc", "35 to 65 %"),
    (0.9, "#86b5d8", "65 to 90 %"),
    (1.0, "#5596c6", "wet soil, to 100 %"),
)
"""The upper limit of each class, as a fraction of the plant-available water in a full soil, its colour and its name."""

UNKNOWN_COLOUR = ("#e6e6e6", "soil not seen yet")


def draw_plots(filled: np.ndarray) -> list[Mark]:
    """Draw each plot in the colour of its wetness class."""
    ends = np.asarray([end for end, _, _ in CLASSES[:-1]])
    at = np.searchsorted(ends, filled, side="right")
    marks = []
    for x, y in np.ndindex(*filled.shape):
        colour, name = UNKNOWN_COLOUR if np.isnan(filled[x, y]) else CLASSES[at[x, y]][1:]
        marks.append(Mark("square", (x + 0.5, y + 0.5), 1.0, colour, meaning=name))
    return marks


def legend_marks() -> list[Mark]:
    """Return a mark for each class, for the legend."""
    return [Mark("square", (0.0, 0.0), 1.0, colour, meaning=name) for _, colour, name in CLASSES]


def describe(filled: np.ndarray) -> list[str]:
    """Describe the mean water content over the plots, with its range if the plots differ."""
    if np.isnan(filled).all():
        return ["soil: not seen yet"]
    low, mean, high = (100 * f(filled) for f in (np.nanmin, np.nanmean, np.nanmax))
    ends = f" ({low:.0f} to {high:.0f} %)" if high - low >= 1 else ""
    return [f"soil: {mean:.0f} %{ends} of the water plants can take"]
