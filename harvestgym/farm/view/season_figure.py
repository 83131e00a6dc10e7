"""A season as a picture: the air, the water in the soil, every crop, and what was done and earned."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.weather import Weather

from .scene import sets

Kept = dict[str, np.ndarray]
Draw = Callable[[Any], None]
COLOURS = {
    "none": "#ffffff", "seed": "#efe7dc", "grow": "#dcebd0", "bloom": "#f6dcea", "fruit": "#fde6c8", "ripe": "#f9cfc4",
    "dead": "#d5d5d5",
}  # fmt: skip
BLUE, RED, GREEN, ORANGE, GREY = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#666666"
"""Okabe and Ito's palette, told apart with any colour vision."""

MARKERS = "vosD^PX"
"""Of what was done; each once with every colour of matplotlib's ten."""

BESIDE = 0.7
"""Inches from a panel to what stands beside it, which leave room for the ticks of a second axis."""

NAMED = 0.06
"""Part of a season that a stage must last for there to be room for its name."""


def season(env: FarmModel, kept: Kept) -> Any:
    """The recorded season by whole days, a panel for the air of each field, the water, each crop, and the reward."""
    from matplotlib.figure import Figure

    days = {name: values[:: getattr(env, "steps_per_day", 1)] for name, values in kept.items()}
    rows = [*_airs(env, days), (2.0, partial(_water, env, days)), *_crops(env, days), (2.0, partial(_deeds, env, kept))]
    heights = [height for height, _ in rows]
    page = Figure(figsize=(10, max(9.0, 0.9 * sum(heights))), layout="constrained")
    panels = page.subplots(len(rows), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for panel, (_, draw) in zip(panels, rows, strict=True):
        draw(panel)
    page.suptitle(_balanced(env.spec.doc), fontsize=11)
    panels[-1].set_xlabel("days since the start")
    return page


def _balanced(text: str, most: int = 100) -> str:
    """The text in lines of about one length, none above `most`."""
    few = len(textwrap.wrap(text, most))
    width = next(n for n in range(1, most + 1) if len(textwrap.wrap(text, n)) <= few)
    return "\n".join(textwrap.wrap(text, width))


def _airs(env: FarmModel, days: Kept) -> Iterator[tuple[float, Draw]]:
    for f, field in enumerate(env.fields):
        parts = [_series(env, days, f, f"air_temperature/{part}#°C") for part in ("min", "mean", "max")]
        rain = _series(env, days, f, "rain/amount#mm")
        if rain is not None and all(part is not None for part in parts):
            weather = next((e for e, slot in enumerate(field.slots) if issubclass(slot.kind, Weather)), None)
            named = "" if weather is None else _named(env, days, f, weather)
            yield 3.0 if len(env.fields) == 1 else 2.2, partial(_air, _of(env, field.name, named), *parts, rain)


def _crops(env: FarmModel, days: Kept) -> Iterator[tuple[float, Draw]]:
    crops = [
        (f, e) for f, field in enumerate(env.fields) for e, s in enumerate(field.slots) if issubclass(s.kind, Plant)
    ]
    for f, e in crops:
        mine = {v.key: v for v in env.variables if (v.field, v.entity) == (f, e)}
        if all(mine[key].name in days for key in ("stage", "size#cm", "fruit_weight#g", "limiting_factor")):
            field, named = env.fields[f], _named(env, days, f, e)
            title = f"{named} ({field.slots[e].name})" if len(crops) > 1 else named
            yield 3.0 if len(crops) == 1 else 2.2, partial(_crop, _of(env, field.name, title), mine, days)


def _named(env: FarmModel, days: Kept, field: int, entity: int) -> str:
    """The parameter set of an entity, as its first day has it; of one without a set, its own name."""
    known = sets(env, days, 0, env.fields[field], entity)
    return known[0] if known else env.fields[field].slots[entity].name


def _of(env: FarmModel, field: str, what: str = "") -> str:
    """What is said of a field, which is named if there are others."""
    return ", ".join(part for part in (field if len(env.fields) > 1 else "", what) if part)


def _series(env: FarmModel, days: Kept, field: int, key: str) -> np.ndarray | None:
    """A variable of a field over the season, averaged over the plots; None if the field has none."""
    found = next((v for v in env.variables if v.field == field and v.key == key and v.name in days), None)
    return None if found is None else _flat(days, found).mean(1)


def _flat(days: Kept, variable: Variable) -> np.ndarray:
    """Its numbers, (days, plots)."""
    values = days[variable.name].astype(float)
    return values.reshape(len(values), -1)


def _air(title: str, low: np.ndarray, mean: np.ndarray, high: np.ndarray, rain: np.ndarray, panel: Any) -> None:
    _head(panel, title, "air, °C")
    days = np.arange(len(mean))
    panel.fill_between(days, low, high, color=RED, alpha=0.2, label="lowest to highest")
    panel.plot(days, mean, color=RED, label="mean temperature")
    wet = panel.twinx()
    wet.bar(days, rain, color=BLUE, alpha=0.7, label="rain")
    wet.set_ylim(max(30.0, 1.1 * rain.max()), 0)
    wet.set_ylabel("rain, mm")
    _legend(panel, wet)


def _water(env: FarmModel, days: Kept, panel: Any) -> None:
    _head(panel, "", "soil water, L")
    plots = sum(int(np.prod(field.shape)) for field in env.fields)
    mean = ", mean of the plots" if plots > 1 else ""
    for f, field in enumerate(env.fields):
        water = _series(env, days, f, "available_Water#L")
        if water is not None:
            panel.plot(
                water, color=(BLUE, RED, GREEN)[f % 3], label=f"{_of(env, field.name, 'water in the soil')}{mean}"
            )
    if "info/total/water#L" in days:
        poured = np.diff(days["info/total/water#L"], prepend=0.0) / plots
        panel.bar(np.arange(len(poured)), poured, color=ORANGE, label=f"watering{mean}")
    panel.set_ylim(0)
    _legend(panel)


def _crop(title: str, mine: dict[str, Variable], days: Kept, panel: Any) -> None:
    """Height and weight of a fruit where the crop stands, over the share of the plots in each stage."""
    stage = _flat(days, mine["stage"])
    many = "; where it stands, and the share of the plots in each stage" if stage.shape[1] > 1 else ""
    _head(panel, f"{title}{many}", "height, cm")
    stands = stage != Stage.NONE
    size, weight = (_where(stands, _flat(days, mine[key])) for key in ("size#cm", "fruit_weight#g"))
    _stages(panel, stage, mine["stage"].meta.labels)
    fruit = panel.twinx()
    panel.plot(size, color=GREEN, label="height")
    fruit.plot(weight, color=ORANGE, label="weight of a fruit")
    fruit.set_ylabel("fruit, g")
    panel.set_ylim(0, 1.15 * np.nanmax([1.0, *size]))
    fruit.set_ylim(0, 1.15 * np.nanmax([1.0, *weight]))
    _slowed(fruit, _flat(days, mine["limiting_factor"]), mine["limiting_factor"].meta.labels)
    _legend(panel, fruit)


def _where(stands: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of the plots on which it stands, NaN where there is none."""
    plots = stands.sum(1)
    return np.where(plots > 0, (stands * values).sum(1) / np.maximum(plots, 1), np.nan)


def _stages(panel: Any, stage: np.ndarray, labels: tuple[str, ...]) -> None:
    """The share of the plots in each stage as background, upwards from seeds, named where most plots begin it."""
    shares = np.stack([(stage == code).mean(1) for code in range(1, len(labels))])
    tops = np.cumsum(shares, 0)
    edges = np.arange(-0.5, len(stage))
    for name, low, high in zip(labels[1:], tops - shares, tops, strict=True):
        low, high = (np.append(ends, ends[-1]) for ends in (low, high))
        panel.fill_between(
            edges, low, high, step="post", color=COLOURS[name], lw=0, zorder=0, transform=panel.get_xaxis_transform()
        )
    most = np.where(shares.sum(0) > 0, shares.argmax(0) + 1, Stage.NONE)
    starts = [0, *(np.flatnonzero(np.diff(most)) + 1), len(most)]
    for a, b in zip(starts, starts[1:], strict=False):
        if most[a] != Stage.NONE and b - a >= NAMED * len(most):
            at = (a, 0.98)
            panel.annotate(labels[most[a]], at, xycoords=("data", "axes fraction"), va="top", fontsize=8, color=GREY)


def _slowed(panel: Any, factor: np.ndarray, labels: tuple[str, ...]) -> None:
    """A mark at the foot for each day on which something slowed growth on some plot, a row for each reason."""
    reasons = np.unique(factor[factor > 0]).astype(int)
    for row, reason in enumerate(reasons):
        days = np.flatnonzero((factor == reason).any(1))
        panel.scatter(
            days, np.full(len(days), 0.03 + 0.06 * row), marker="|", s=20, color=f"C{reason % 10}", zorder=3,
            transform=panel.get_xaxis_transform(), label=f"slowed by {labels[reason]}",
        )  # fmt: skip


def _deeds(env: FarmModel, kept: Kept, panel: Any) -> None:
    """The reward so far, and on it what was done and came to something; watering stands above."""
    _head(panel, "", "reward")
    total, day = np.cumsum(kept["reward"]), kept["info/day"]
    panel.plot(day, total, color=GREY, label="net reward so far")
    done = np.where(kept["info/effective"], kept["orders/kind"], 0)
    shown = 0
    for number, row in enumerate(env.actions.rows, start=1):
        steps = (done == number).any(1)
        if steps.any() and not row.action.name.startswith("watering"):
            style = {"color": f"C{shown % 10}", "marker": MARKERS[shown // 10 % len(MARKERS)], "zorder": 3}
            panel.scatter(day[steps], total[steps], label=f"{_of(env, *row.names)} {row.action.name}", **style)
            shown += 1
    looked = kept["info/observation cost"] > 0
    if looked.any():
        panel.scatter(day[looked], total[looked], color=GREY, marker=".", label="looked, and paid for it")
    _legend(panel)


def _head(panel: Any, title: str, unit: str) -> None:
    panel.set_title(title, loc="left", fontsize=9)
    panel.set_ylabel(unit)


def _legend(*panels: Any) -> None:
    """What the panels of one place show, beside their second axis."""
    from matplotlib.transforms import ScaledTranslation

    handles, labels = [], []
    for panel in panels:
        more = panel.get_legend_handles_labels()
        handles += more[0]
        labels += more[1]
    aside = panels[0].transAxes + ScaledTranslation(BESIDE, 0.0, panels[0].figure.dpi_scale_trans)
    box = {"bbox_to_anchor": (1.0, 1.0), "bbox_transform": aside}
    panels[0].legend(handles, labels, fontsize=8, loc="upper left", frameon=False, borderaxespad=0.0, **box)
