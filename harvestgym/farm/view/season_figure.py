"""A recorded season as a matplotlib figure: weather, soil water, every crop, and the reward with the actions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.weather import Weather

from .recorder import mean_of_plots
from .scene import parameter_sets

PanelRow = tuple[float, Callable[[Any], None]]
"""The height of a panel, and the function that draws it."""

STAGE_COLOURS = {
    "none": "#ffffff", "seed": "#efe7dc", "grow": "#dcebd0", "bloom": "#f6dcea", "fruit": "#fde6c8", "ripe": "#f9cfc4",
    "dead": "#d5d5d5",
}  # fmt: skip
BLUE, RED, GREEN, ORANGE, GREY = "#0072b2", "#d55e00", "#009e73", "#e69f00", "#666666"
"""The palette of Okabe and Ito for any colour vision."""

MARKERS = "vosD^PX"
"""Of actions; each marker is used once with each of the ten colours of matplotlib."""

LEGEND_GAP = 0.7
"""Inches from a panel to its legend, with room for the ticks of a second axis."""

SHORTEST_NAMED = 0.06
"""The shortest stage with room for its name, as a part of the season."""


def season(env: FarmModel, record: Record) -> Any:
    """Draw a season by whole days: a panel for the weather of each field, the water, each crop, and the reward."""
    from matplotlib.figure import Figure

    days = {name: values[:: env.steps_per_day] for name, values in record.items()}
    rows = [*_weather_rows(env, days), (2.0, partial(_draw_water, env, days)), *_crop_rows(env, days),
            (2.0, partial(_draw_reward, env, record))]  # fmt: skip
    heights = [height for height, _ in rows]
    page = Figure(figsize=(10, max(9.0, 0.9 * sum(heights))), layout="constrained")
    panels = page.subplots(len(rows), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for panel, (_, draw) in zip(panels, rows, strict=True):
        draw(panel)
    page.suptitle(_balance(env.spec.doc), fontsize=11)
    panels[-1].set_xlabel("days since the start")
    panels[-1].set_xlim(-0.5, len(days["reward"]) - 0.5)
    return page


def _balance(text: str, most: int = 100) -> str:
    """Return the text in lines of about one length, at most `most`."""
    few = len(textwrap.wrap(text, most))
    width = next(n for n in range(1, most + 1) if len(textwrap.wrap(text, n)) <= few)
    return "\n".join(textwrap.wrap(text, width))


def _weather_rows(env: FarmModel, days: Record) -> Iterator[PanelRow]:
    for f, field in enumerate(env.fields):
        keys = [*(f"air_temperature/{part}#°C" for part in ("min", "mean", "max")), "rain/amount#mm"]
        series = [_daily_mean(env, days, f, key) for key in keys]
        if all(part is not None for part in series):
            weather = next((e for e, slot in enumerate(field.slots) if issubclass(slot.kind, Weather)), None)
            name = "" if weather is None else _set_name(env, days, f, weather)
            yield (
                3.0 if len(env.fields) == 1 else 2.2,
                partial(_draw_weather, _of_field(env, field.name, name), *series),
            )


def _crop_rows(env: FarmModel, days: Record) -> Iterator[PanelRow]:
    crops = [
        (f, e) for f, field in enumerate(env.fields) for e, s in enumerate(field.slots) if issubclass(s.kind, Plant)
    ]
    for f, e in crops:
        variables = {v.key: v for v in env.variables if (v.field, v.entity) == (f, e)}
        if all(variables[key].name in days for key in ("stage", "size#cm", "fruit_weight#g", "limiting_factor")):
            field, name = env.fields[f], _set_name(env, days, f, e)
            title = _of_field(env, field.name, f"{name} ({field.slots[e].name})" if len(crops) > 1 else name)
            yield 3.0 if len(crops) == 1 else 2.2, partial(_draw_crop, title, variables, days)


def _set_name(env: FarmModel, days: Record, field: int, entity: int) -> str:
    """Return the parameter set of an entity on the first day; the name of the entity if it has none."""
    names = parameter_sets(env, days, 0, env.fields[field], entity)
    return names[0] if names else env.fields[field].slots[entity].name


def _of_field(env: FarmModel, field: str, text: str) -> str:
    """Return a text about a field, with its name if there are several."""
    return ", ".join(part for part in (field if len(env.fields) > 1 else "", text) if part)


def _daily_mean(env: FarmModel, days: Record, field: int, key: str) -> np.ndarray | None:
    """Return a variable of a field over the season, the mean of the plots; None if the field has none."""
    found = next((v for v in env.variables if v.field == field and v.key == key and v.name in days), None)
    return None if found is None else mean_of_plots(days[found.name])


def _draw_weather(
    title: str, low: np.ndarray, mean: np.ndarray, high: np.ndarray, rain: np.ndarray, panel: Any
) -> None:
    _label(panel, title, "air, °C")
    days = np.arange(len(mean))
    panel.fill_between(days, low, high, color=RED, alpha=0.2, label="lowest to highest")
    panel.plot(days, mean, color=RED, label="mean temperature")
    wet = panel.twinx()
    wet.bar(days, rain, color=BLUE, alpha=0.7, label="rain")
    wet.set_ylim(max(30.0, 1.1 * rain.max()), 0)
    wet.set_ylabel("rain, mm")
    _add_legend(panel, wet)


def _draw_water(env: FarmModel, days: Record, panel: Any) -> None:
    _label(panel, "", "soil water, L")
    plots = sum(int(np.prod(field.shape)) for field in env.fields)
    mean = ", mean of the plots" if plots > 1 else ""
    for f, field in enumerate(env.fields):
        water = _daily_mean(env, days, f, "available_Water#L")
        if water is not None:
            label = _of_field(env, field.name, "water in the soil") + mean
            panel.plot(water, color=(BLUE, RED, GREEN)[f % 3], label=label)
    if "info/total/water#L" in days:
        poured = np.diff(days["info/total/water#L"], prepend=0.0) / plots
        panel.bar(np.arange(len(poured)), poured, color=ORANGE, label=f"watering{mean}")
    panel.set_ylim(0)
    _add_legend(panel)


def _draw_crop(title: str, variables: dict[str, Variable], days: Record, panel: Any) -> None:
    """Height and weight of a fruit where the crop lives, over the share of the plots in each stage."""

    def by_plot(key: str) -> np.ndarray:
        values = days[variables[key].name].astype(float)
        return values.reshape(len(values), -1)

    def standing_mean(key: str) -> np.ndarray:
        """Return the mean of the plots on which the crop lives, NaN where there is none."""
        return np.where(plots > 0, (stands * by_plot(key)).sum(1) / np.maximum(plots, 1), np.nan)

    stage = by_plot("stage")
    stands = (stage != Stage.NONE) & (stage != Stage.DEAD)
    plots = stands.sum(1)
    many = "; where it lives, and the share of the plots in each stage" if stage.shape[1] > 1 else ""
    _label(panel, f"{title}{many}", "height, cm")
    size, weight = standing_mean("size#cm"), standing_mean("fruit_weight#g")
    _draw_stages(panel, stage, variables["stage"].meta.labels)
    fruit = panel.twinx()
    panel.plot(size, color=GREEN, label="height")
    fruit.plot(weight, color=ORANGE, label="weight of a fruit")
    fruit.set_ylabel("fruit, g")
    panel.set_ylim(0, 1.15 * np.nanmax([1.0, *size]))
    fruit.set_ylim(0, 1.15 * np.nanmax([1.0, *weight]))
    _draw_limits(fruit, by_plot("limiting_factor"), variables["limiting_factor"].meta.labels)
    _add_legend(panel, fruit)


def _draw_stages(panel: Any, stage: np.ndarray, labels: tuple[str, ...]) -> None:
    """Draw the share of the plots in each stage as background, seeds at the foot, named where most plots begin it."""
    shares = np.stack([(stage == code).mean(1) for code in range(1, len(labels))])
    tops = np.cumsum(shares, 0)
    edges = np.arange(-0.5, len(stage))
    for name, low, high in zip(labels[1:], tops - shares, tops, strict=True):
        low, high = (np.append(ends, ends[-1]) for ends in (low, high))
        style = {"step": "post", "color": STAGE_COLOURS[name], "lw": 0, "zorder": 0}
        panel.fill_between(edges, low, high, transform=panel.get_xaxis_transform(), **style)
    most = np.where(shares.sum(0) > 0, shares.argmax(0) + 1, Stage.NONE)
    starts = [0, *(np.flatnonzero(np.diff(most)) + 1), len(most)]
    for a, b in zip(starts, starts[1:], strict=False):
        if most[a] != Stage.NONE and b - a >= SHORTEST_NAMED * len(most):
            at = (a, 0.98)
            panel.annotate(labels[most[a]], at, xycoords=("data", "axes fraction"), va="top", fontsize=8, color=GREY)


def _draw_limits(panel: Any, factor: np.ndarray, labels: tuple[str, ...]) -> None:
    """Draw a mark at the foot for each day with slowed growth on some plot, a row for each reason."""
    reasons = np.unique(factor[factor > 0]).astype(int)
    for row, reason in enumerate(reasons):
        days = np.flatnonzero((factor == reason).any(1))
        panel.scatter(
            days, np.full(len(days), 0.03 + 0.06 * row), marker="|", s=20, color=f"C{reason % 10}", zorder=3,
            transform=panel.get_xaxis_transform(), label=f"slowed by {labels[reason]}",
        )  # fmt: skip


def _draw_reward(env: FarmModel, record: Record, panel: Any) -> None:
    """Draw the reward so far with the effective actions; watering is in the panel of the water."""
    _label(panel, "", "reward")
    total, day = np.cumsum(record["reward"]), record["info/day"]
    panel.plot(day, total, color=GREY, label="net reward so far")
    effective = np.where(record["info/effective"], record["orders/kind"], 0)
    shown = 0
    for number, row in enumerate(env.actions.rows, start=1):
        steps = (effective == number).any(1)
        if steps.any() and not row.action.name.startswith("watering"):
            style = {"color": f"C{shown % 10}", "marker": MARKERS[shown // 10 % len(MARKERS)], "zorder": 3}
            panel.scatter(day[steps], total[steps], label=f"{_of_field(env, *row.names)} {row.action.name}", **style)
            shown += 1
    paid = record["info/observation cost"] > 0
    if paid.any():
        panel.scatter(day[paid], total[paid], color=GREY, marker=".", label="looked, and paid for it")
    _add_legend(panel)


def _label(panel: Any, title: str, unit: str) -> None:
    panel.set_title(title, loc="left", fontsize=9)
    panel.set_ylabel(unit)


def _add_legend(*panels: Any) -> None:
    """Add one legend for the panels of one place, to the right of their second axis."""
    from matplotlib.transforms import ScaledTranslation

    entries = [panel.get_legend_handles_labels() for panel in panels]
    handles, labels = (sum(parts, []) for parts in zip(*entries, strict=True))
    aside = panels[0].transAxes + ScaledTranslation(LEGEND_GAP, 0.0, panels[0].figure.dpi_scale_trans)
    box = {"bbox_to_anchor": (1.0, 1.0), "bbox_transform": aside}
    panels[0].legend(handles, labels, fontsize=8, loc="upper left", frameon=False, borderaxespad=0.0, **box)
