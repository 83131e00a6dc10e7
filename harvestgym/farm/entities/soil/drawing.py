"""Drawing of the soil: a colour for each wetness class, distinguishable with any type of colour vision."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Mark
from harvestgym.core.yaml_io import read_file


@cache
def read_classes() -> list[dict[str, Any]]:
    """Return the wetness classes, each with its limit, colour and name; the last one is for unknown wetness."""
    return read_file(Path(__file__).with_name("wetness.yaml"))


def draw_plots(filled: np.ndarray) -> list[Mark]:
    """Draw each plot in the colour of its wetness class."""
    at = np.searchsorted([each["limit"] for each in read_classes()[:-1]], filled, side="right")  # NaN is the last
    return [_draw_square(read_classes()[at[x, y]], x, y) for x, y in np.ndindex(*filled.shape)]


def legend_marks() -> list[Mark]:
    """Return a mark for each class, for the legend."""
    return [_draw_square(each, 0, 0) for each in read_classes()[:-1]]


def _draw_square(wetness: dict[str, Any], x: int, y: int) -> Mark:
    return Mark("square", (x + 0.5, y + 0.5), 1.0, wetness["colour"], meaning=wetness["name"])


def describe(filled: np.ndarray) -> list[str]:
    """Describe the mean water content over the plots, with its range if the plots differ."""
    if np.isnan(filled).all():
        return ["soil: not seen yet"]
    low, mean, high = (100 * f(filled) for f in (np.nanmin, np.nanmean, np.nanmax))
    ends = f" ({low:.0f} to {high:.0f} %)" if high - low >= 1 else ""
    return [f"soil: {mean:.0f} %{ends} of the water plants can take"]
