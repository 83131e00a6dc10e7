"""A figure of a recorded season, day by day: weather, water, every crop, and the reward with the actions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from harvestgym.core.view.scene import COLOURS, Chart, Line
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.plant.stages import STAGES, Stage
from harvestgym.render.figure import draw_figure

from .recorder import mean_of_plots
from .scene import chart_season, parameter_sets
from .words import say_cause

STAGE_COLOURS = ("#e5d8c4", "#cfe5bd", "#f3cfe2", "#fddcb0", "#f5b5a9", "#d5d5d5")
"""Colours of the stages after "none", in order."""

AIR = (("max", "highest", "#e69f00"), ("mean", "mean", "#d55e00"), ("min", "lowest", "#56b4e9"))
"""Lines for the air temperature: part of the variable's key, name of the line and its colour."""

WATERING = "#e69f00"

CROP_LINES = {"size#cm": ("Height of the plants", "cm"), "fruit_weight#g": ("Weight of a fruit", "g")}
"""Crop variables that are drawn as lines, with title and unit."""


def figure(env: FarmModel, record: Record) -> Any:
    """Draw a season as a page of Matplotlib charts: weather, water, crops, and the reward with the actions."""
    days = {name: values[:: env.steps_per_day] for name, values in record.items()}
    *water, net = chart_season(env, record, len(record["reward"]) - 1)
    water = [replace(chart, lines=(*chart.lines, *_watering(env, days))) for chart in water]
    net = replace(net, lines=(*net.lines, *_actions(env, record)))
    charts = [*_weather(env, days), *water, *_crops(env, days), net]
    return draw_figure(charts, "days since the start", columns=1, title=env.spec.doc)


def _find(env: FarmModel, key: str) -> Iterator[tuple[Variable, str, str]]:
    """Yield the variables with a key, each with a colour and a name that ends with its parameter set."""
    found = [v for v in env.variables if v.key == key]
    for variable, colour in zip(found, cycle(COLOURS)):
        distinct = [variable.where[i] for i in (0, 1) if len({v.where[i] for v in found}) > 1]
        sets = parameter_sets(env, {}, 0, env.fields[variable.field], variable.entity)
        yield variable, ", ".join([*distinct, *sets[:1]]), colour


def _weather(env: FarmModel, days: Record) -> Iterator[Chart]:
    for variable, name, _ in _find(env, "air_temperature/mean#°C"):
        lines = [Line(label, days[variable.name.replace("mean", part)], colour) for part, label, colour in AIR]
        yield Chart(f"Air temperature, {name}", "°C", 0, tuple(lines), {})
    rain = [Line(name, days[v.name], colour, "bars") for v, name, colour in _find(env, "rain/amount#mm")]
    if rain:
        yield Chart("Rain", "mm", 0, tuple(rain), {})


def _watering(env: FarmModel, days: Record) -> Iterator[Line]:
    plots = sum(int(np.prod(field.shape)) for field in env.fields)
    if "info/total/water#L" in days:
        poured = np.diff(days["info/total/water#L"], prepend=0.0) / plots
        yield Line("watering", poured, WATERING, "bars")


def _crops(env: FarmModel, days: Record) -> Iterator[Chart]:
    """Draw the height and fruits of all crops, averaged over the plots where each is alive, and the stages of each."""
    crops = [crop for crop in _find(env, "stage") if crop[0].meta.labels == STAGES]
    for key, (title, unit) in CROP_LINES.items():
        kept = [crop for crop in crops if _name_of(crop[0], key) in days]
        lines = [Line(name, _mean_where_it_lives(days, stage, key), colour) for stage, name, colour in kept]
        if lines:
            yield Chart(title, unit, 0, tuple(lines), {})
    for stage, name, _ in crops:
        lines = (*_stage_shares(days[stage.name]), *_limits(env, days, stage))
        yield Chart(f"Stages of {name}", "share of the plots", 0, lines, {}, (0.0, 1.0))


def _name_of(variable: Variable, key: str) -> str:
    """Return the name of another variable of the same entity."""
    return "/".join((*variable.where, key))


def _mean_where_it_lives(days: Record, stage: Variable, key: str) -> np.ndarray:
    values, stages = (days[name].reshape(len(days["reward"]), -1) for name in (_name_of(stage, key), stage.name))
    return np.ma.array(values, mask=(stages == Stage.NONE) | (stages == Stage.DEAD)).mean(1).filled(np.nan)


def _stage_shares(stages: np.ndarray) -> Iterator[Line]:
    """Yield an area for each stage, with seeds at the bottom; upper areas come first and are covered by lower ones."""
    for stage in np.unique(stages[stages > Stage.NONE]).astype(int)[::-1]:
        below = (stages > Stage.NONE) & (stages <= stage)
        yield Line(STAGES[stage], mean_of_plots(below), STAGE_COLOURS[stage - 1], "area")


def _limits(env: FarmModel, days: Record, stage: Variable) -> Iterator[Line]:
    """Yield dots at the bottom of the chart for days with slowed growth on any plot, in one row per reason."""
    name = _name_of(stage, "limiting_factor")
    factor = days.get(name, np.zeros((1, 1)))
    (labels,) = [v.meta.labels for v in env.variables if v.name == name] or [()]
    for row, reason in enumerate(np.unique(factor[factor > 0]).astype(int)):
        slowed = (factor == reason).reshape(len(factor), -1).any(1)
        heights = np.where(slowed, 0.04 + 0.07 * row, np.nan)
        yield Line(f"slowed by {say_cause(labels[reason])}", heights, COLOURS[row % len(COLOURS)], "dots")


def _actions(env: FarmModel, record: Record) -> Iterator[Line]:
    """Yield dots on the reward line for effective actions and paid observations; watering is in another chart."""
    total, day = np.cumsum(record["info/net"]), record["info/day"]
    effective = np.where(record["info/effective"], record["orders/kind"], 0)
    done = {
        " ".join((*row.names[len(env.fields) == 1 :], row.action.name)): (effective == number).any(1)
        for number, row in enumerate(env.actions.rows, start=1)
        if not row.action.name.startswith("watering")
    }
    done["paid observations"] = record["info/observation cost"] > 0
    colours = cycle(COLOURS)
    for name, steps in done.items():
        if steps.any():
            yield Line(name, total[steps], next(colours), "dots", x=day[steps])
