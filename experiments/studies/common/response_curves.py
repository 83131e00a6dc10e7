"""Response curves of a crop: the optimum of each curve, the published responses, and a picture of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.yaml_io import read_file
from harvestgym.farm.entities.plant.uptake import SALINITY

from .report import open_figure
from .yield_response import YieldResponse

RESPONSES_FILE = Path(__file__).parents[1] / "responses.yaml"
NEAR = 0.95
"""Fraction of the largest yield from which a yield counts as near the optimum."""

FORMS = ("points", "line", "band", "marks", "salt")
"""Forms of a published response, as in responses.yaml."""

LABELS = {
    "degrees": "constant mean temperature, °C", "nitrogen": "nitrogen, g per m²",
    "light": "light, fraction of the season's", "plants": "plants per m²", "sown": "date of sowing, Debrecen",
    "water": "evapotranspiration lost in the period",
}  # fmt: skip
TICKS = {"nitrogen": (0, 5, 20, 60, 100, 200), "plants": (1, 5, 10, 20, 30, 60)}
"""Ticks of the curves that have a square-root axis."""

MONTHS = {60: "March", 91: "April", 121: "May", 152: "June", 182: "July", 213: "August"}

PERIOD_COLOURS = {"whole season": "k", "vegetative": "C2", "flowering": "C3", "yield formation": "C0"}


class Curve(NamedTuple):
    """Yields by the values of one condition, in the same seasons.

    Attributes:
        x: the values, rising.
        kg: yields, (values, seasons).
    """

    x: np.ndarray
    kg: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Return the mean yield at each value, as a fraction of the largest mean."""
        mean = self.kg.mean(1)
        return mean / max(mean.max(), 1e-9)

    @property
    def error(self) -> np.ndarray:
        """Return the standard errors of `mean`."""
        return self.kg.std(1, ddof=1) / np.sqrt(self.kg.shape[1]) / max(self.kg.mean(1).max(), 1e-9)


class Optimum(NamedTuple):
    """The optimum of a curve, and how far the curve departs from one that rises to it and falls from it.

    Attributes:
        at: the value with the largest mean yield.
        low, high: the values between which the mean yield is near the largest.
        dip: the largest drop on the way up, or rise on the way down, as a fraction of the largest yield.
        excess: the largest dip beyond three standard errors of the paired difference; 0 for a curve with one peak.
    """

    at: float
    low: float
    high: float
    dip: float
    excess: float


def find_optimum(curve: Curve) -> Optimum:
    """Return the optimum of a curve."""
    top, near = int(np.argmax(curve.mean)), np.flatnonzero(curve.mean >= NEAR)
    scale, seasons = max(curve.kg.mean(1).max(), 1e-9), curve.kg.shape[1]
    dips, excesses = [0.0], [0.0]
    for side in (curve.kg[: top + 1], curve.kg[top:][::-1]):
        for j in range(1, len(side)):
            lost = (side[:j] - side[j]) / scale
            error = lost.std(1, ddof=1) / np.sqrt(seasons)
            dips.append(float(lost.mean(1).max()))
            excesses.append(float((lost.mean(1) - 3 * error).max()))
    return Optimum(float(curve.x[top]), float(curve.x[near[0]]), float(curve.x[near[-1]]), max(dips), max(excesses))


def read_responses() -> Mapping[str, Any]:
    """Read the published responses, by crop and curve."""
    return read_file(RESPONSES_FILE)


def draw_curves(
    path: Path, crop: str, curves: Mapping[str, Curve], water: Sequence[YieldResponse], k_y: Mapping[str, Any],
    litres: float,
) -> None:  # fmt: skip
    """Draw a panel for each curve and one for water, with the published responses.

    Args:
        path: file of the picture.
        crop: parameter set.
        curves: curves by name, keys of `LABELS`.
        water: responses to dry periods.
        k_y: published yield response factors by period.
        litres: water in the soil of a plot, in which the nitrogen is dissolved.
    """
    published = read_responses().get(crop, {})
    with open_figure(path, 9.6, 5.6, dpi=100) as figure:
        panels = figure.subplots(2, 3, sharey=True)
        for axes, name in zip(panels.flat, LABELS, strict=True):
            if name == "water":
                _draw_water(axes, water, k_y)
            else:
                _draw_curve(axes, name, curves[name], published.get(name, []), litres)
            axes.set(xlabel=LABELS[name], ylim=(0, 1.18))
            axes.spines[["top", "right"]].set_visible(False)
            place = {"light": "upper left", "water": "lower left", "plants": "lower right"}.get(name, "lower center")
            axes.legend(fontsize=7, loc=place, handlelength=1.6, edgecolor="none", framealpha=0.75)
        for axes in panels[:, 0]:
            axes.set_ylabel("yield, fraction of the largest")
        figure.suptitle(crop, weight="bold")


def _draw_curve(axes: Any, name: str, curve: Curve, published: Sequence[Mapping[str, Any]], litres: float) -> None:
    if name in TICKS:
        axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
        axes.set_xticks(TICKS[name])
    if name == "sown":
        axes.set_xticks(list(MONTHS), list(MONTHS.values()))
    axes.fill_between(curve.x, curve.mean - curve.error, curve.mean + curve.error, color="C0", alpha=0.25, lw=0)
    axes.plot(curve.x, curve.mean, "C0", marker=".", label="here")
    for i, said in enumerate(published):
        _draw_published(axes, said, "os^"[i], litres)


def _draw_published(axes: Any, said: Mapping[str, Any], marker: str, litres: float) -> None:
    label, style = said["label"], {"color": "k", "lw": 1, "ls": "--"}
    if "band" in said:
        axes.axvspan(*said["band"], color="C2", alpha=0.18, lw=0, label=label)
        label = None
    for x in said.get("marks", ()):
        axes.axvline(x, color="C2", ls=":", lw=1.2, label=label)
        label = None
    if "points" in said:
        x, y = np.array(said["points"]).T
        axes.plot(x, y / y.max(), marker, color="k", mfc="none", ms=5, label=label)
    if "line" in said:
        axes.plot(*np.array(said["line"]).T, **style, label=label)
    if "salt" in said:
        grams = np.linspace(0, 200, 200)
        lost = said["salt"]["slope"] * np.maximum(grams * SALINITY / litres - said["salt"]["threshold"], 0.0)
        axes.plot(grams[lost > 0], np.maximum(1 - lost[lost > 0], 0.0), **style, label=label)


def _draw_water(axes: Any, water: Sequence[YieldResponse], k_y: Mapping[str, Any]) -> None:
    for period, colour in PERIOD_COLOURS.items():
        mine = sorted((r.deficit, 1 - r.loss) for r in water if r.period == period)
        axes.plot(*np.array([(0.0, 1.0), *mine]).T, color=colour, marker=".", label=f"{period}, K_y {k_y[period]:g}")
        deficit = np.array([0.0, min(0.5, 1 / k_y[period])])
        axes.plot(deficit, 1 - k_y[period] * deficit, color=colour, ls="--", lw=1)
    axes.plot([], [], "k--", lw=1, label="FAO-33")
