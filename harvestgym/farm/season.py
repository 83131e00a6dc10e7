"""A season as a picture: the air, the water in the soil, the plants, and what was done and earned."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from .layout import Variable
from .model import FarmModel

Kept = dict[str, np.ndarray]
COLOURS = {
    "none": "#ffffff", "seed": "#efe7dc", "grow": "#dcebd0", "bloom": "#f6dcea", "fruit": "#fde6c8", "ripe": "#f9cfc4",
    "dead": "#d5d5d5",
}  # fmt: skip
BLUE, RED, GREEN, ORANGE, GREY = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#666666"
"""Okabe and Ito's palette, told apart with any colour vision."""


def season(env: FarmModel, kept: Kept) -> Any:
    """The recorded season of the first field and its first crop, one panel per subject."""
    from matplotlib.figure import Figure

    page = Figure(figsize=(10, 9), layout="constrained")
    panels = page.subplots(4, 1, sharex=True, height_ratios=[3, 2, 3, 2])
    _air(panels[0], env, kept)
    _water(panels[1], env, kept)
    _plant(panels[2], env, kept)
    _deeds(panels[3], env, kept)
    page.suptitle("\n".join(textwrap.wrap(env.spec.doc, 100)), fontsize=11)
    panels[-1].set_xlabel("days since the start")
    return page


def _find(env: FarmModel, kind: str, key: str) -> Variable | None:
    found = [v for v in env.variables if v.where[1] == f"{kind}-0" and v.field == 0 and v.key == key]
    return found[0] if found else None


def _series(env: FarmModel, kept: Kept, kind: str, key: str) -> np.ndarray | None:
    """A variable over the season, averaged over the plots; None if the farm has none."""
    variable = _find(env, kind, key)
    if variable is None:
        return None
    values = kept[variable.name].astype(float)
    return values.reshape(len(values), -1).mean(1)


def _air(panel: Any, env: FarmModel, kept: Kept) -> None:
    low, mean, high = (_series(env, kept, "Weather", f"air_temperature/{m}#°C") for m in ("min", "mean", "max"))
    rain = _series(env, kept, "Weather", "rain/amount#mm")
    panel.set_ylabel("air, °C")
    if mean is None or low is None or high is None or rain is None:
        return
    days = np.arange(len(mean))
    panel.fill_between(days, low, high, color=RED, alpha=0.2, label="lowest to highest")
    panel.plot(days, mean, color=RED, label="mean temperature")
    wet = panel.twinx()
    wet.bar(days, rain, color=BLUE, alpha=0.7, label="rain")
    wet.set_ylim(max(30.0, 1.1 * rain.max()), 0)
    wet.set_ylabel("rain, mm")
    _legend(panel, wet)


def _water(panel: Any, env: FarmModel, kept: Kept) -> None:
    water = _series(env, kept, "Soil", "available_Water#L")
    panel.set_ylabel("soil water, L")
    if water is None:
        return
    days, poured = np.arange(len(water)), _daily(kept, "info/total/water#L")
    panel.plot(days, water, color=BLUE, label="water in the soil, mean of the plots")
    panel.bar(days, poured, color=ORANGE, label="watering")
    panel.set_ylim(0)
    _legend(panel)


def _plant(panel: Any, env: FarmModel, kept: Kept) -> None:
    size, weight = (_series(env, kept, "Plant", key) for key in ("size#cm", "fruit_weight#g"))
    panel.set_ylabel("height, cm")
    if size is None or weight is None:
        return
    _stages(panel, env, kept)
    days, fruit = np.arange(len(size)), panel.twinx()
    panel.plot(days, size, color=GREEN, label="height")
    fruit.plot(days, weight, color=ORANGE, label="weight of a fruit")
    fruit.set_ylabel("fruit, g")
    panel.set_ylim(0, 1.15 * max(size.max(), 1.0))
    fruit.set_ylim(0, 1.15 * max(weight.max(), 1.0))
    _legend(panel, fruit)


def _stages(panel: Any, env: FarmModel, kept: Kept) -> None:
    """The stage of the first plot as background, named where it begins."""
    variable = _find(env, "Plant", "stage")
    assert variable is not None
    stage = kept[variable.name].reshape(len(kept["reward"]), -1)[:, 0].astype(int)
    starts = [0, *(np.flatnonzero(np.diff(stage)) + 1), len(stage)]
    for a, b in zip(starts, starts[1:], strict=False):
        name = variable.meta.labels[stage[a]]
        panel.axvspan(a - 0.5, b - 0.5, color=COLOURS[name], zorder=0)
        if b - a >= 0.06 * len(stage):
            panel.annotate(name, (a, 0.98), xycoords=("data", "axes fraction"), va="top", fontsize=8, color=GREY)


def _deeds(panel: Any, env: FarmModel, kept: Kept) -> None:
    total = np.cumsum(kept["reward"])
    days = np.arange(len(total))
    panel.plot(days, total, color=GREY, label="net reward so far")
    effective = kept["info/effective"].any(1)
    asked = kept["action/order"] if "action/order" in kept else kept["action"]
    for row in env.actions.rows:
        mine = [n for who in range(len(env.actions.farmers)) for n in env.actions.numbers(row, who)]
        done = np.isin(asked, mine).reshape(len(total), -1).any(1) & effective
        if done.any() and not row.action.name.startswith("watering"):
            panel.scatter(days[done], total[done], marker="v", zorder=3, label=f"{row.names[1]} {row.action.name}")
    limit = _find(env, "Plant", "limiting_factor")
    if limit is not None:
        _lost_days(panel, limit, kept)
    panel.set_ylabel("reward")
    _legend(panel)


def _lost_days(panel: Any, limit: Variable, kept: Kept) -> None:
    """A mark below the axis on each day that something slowed growth, one colour for each reason."""
    factor = kept[limit.name].reshape(len(kept["reward"]), -1)[:, 0].astype(int)
    for value in np.unique(factor[factor > 0]):
        days = np.flatnonzero(factor == value)
        panel.scatter(
            days, np.full(len(days), 0.04), marker="|", s=60, transform=panel.get_xaxis_transform(),
            label=f"slowed by {limit.meta.labels[value]}",
        )  # fmt: skip


def _daily(kept: Kept, name: str) -> np.ndarray:
    """What a running total grew by each day."""
    return np.diff(kept[name], prepend=0.0) if name in kept else np.zeros(len(kept["reward"]))


def _legend(*panels: Any) -> None:
    handles, labels = [], []
    for panel in panels:
        more = panel.get_legend_handles_labels()
        handles += more[0]
        labels += more[1]
    panels[0].legend(handles, labels, fontsize=8, loc="upper left", bbox_to_anchor=(1.06, 1.0), frameon=False)
