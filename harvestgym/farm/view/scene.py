"""The picture of one step in a recorded season: the fields, the day, the actions, the score and the charts so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.config import read_written_sets
from harvestgym.core.view.events import say_event
from harvestgym.core.view.scene import COLOURS, Chart, Line, Map, Mark, Scene, Words
from harvestgym.core.view.timeline import Record
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.engine.variables import FieldSlots
from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.soil.soil import Soil, mark_wetness, read_wetness

from .action_log import COST_NAMES, action_marks, find_looks, find_morning, find_outcomes, is_morning
from .recorder import drawn_numbers, mean_of_plots
from .words import date_of_step

LABEL_LENGTH = 24
"""Largest length, in characters, of a line that is joined with other lines."""


def scene(env: FarmModel, record: Record, step: int) -> Scene:
    """Make the scene of a farm after `step` steps of a record (see `recorder`); later steps are not read."""
    params = _params_of_day(env, record, step)
    maps, texts = zip(*(_field(env, params, record, step, f) for f in range(len(env.fields))), strict=True)
    drawn = (f"drawn: {text}" for text in env.contexts.describe(drawn_numbers(record, step)))
    looked = find_looks(env, record, find_morning(record, step))
    done = tuple(map(say_event, (*find_outcomes(env, record, step), *looked)))
    words = (
        Words("Today", (*(line for lines in texts for line in lines), *drawn)),
        Words("Just done", done or ("nothing",)),
        Words("So far", _score(record, step)),
    )
    return Scene(_title(env, record, step), (*maps, *words, *chart_season(env, record, step)))


def _field(env: FarmModel, params: FarmParams, record: Record, step: int, f: int) -> tuple[Map, list[str]]:
    """Return the map of a field and the lines that describe its entities."""
    field, place, room = env.fields[f], params.fields[f].place, margin(env.fields[f].shape)
    marks: list[Mark] = []
    lines: list[str] = []
    for entity, values in _entities(env, params, record, step, f):
        marks += entity.draw(values, place)
        lines += entity.describe(values, place)
    marks += action_marks(env, record, step, f, room, crowded(field.shape))
    title = f"{field.name}, {_coordinates(place)}"
    heading = [f"{field.name}:"] if len(env.fields) > 1 else []
    legend = tuple(map(mark_wetness, read_wetness()[:-1]))
    return Map(title, field.shape, tuple(marks), room, legend), heading + _join_short(lines)


def _join_short(lines: list[str]) -> list[str]:
    """Return the long lines, followed by one line that joins all short ones."""
    short = [line for line in lines if len(line) <= LABEL_LENGTH]
    return [line for line in lines if len(line) > LABEL_LENGTH] + [", ".join(short)] * bool(short)


def margin(shape: tuple[int, int]) -> float:
    """Return the width, in plots, of the space around a field for marks outside the plots."""
    return 0.14 + 0.09 * max(shape)


def crowded(shape: tuple[int, int]) -> bool:
    """Return whether a field has so many plots that marks move to the corners of their plots and lose their numbers."""
    return max(shape) > 12


def _params_of_day(env: FarmModel, record: Record, step: int) -> FarmParams:
    """Return the parameters of the day of a step; a context may have drawn some of them."""
    params = env.contexts.apply(env.params, drawn_numbers(record, step))
    return params if params is env.params else jax.device_get(params)  # one copy of hundreds of arrays


def _entities(
    env: FarmModel, params: FarmParams, record: Record, step: int, f: int
) -> Iterator[tuple[Any, DrawContext]]:
    """Yield each entity in a field with its known values: the soil first, then in file order."""
    field = env.fields[f]
    values: dict[int, dict[str, np.ndarray]] = {}
    for variable in env.variables:
        if variable.field == f and variable.name in record:
            values.setdefault(variable.entity, {})[variable.key] = np.asarray(record[variable.name][step])
    for e in sorted(range(len(field.slots)), key=lambda e: not field.slots[e].name.startswith("Soil")):
        slot = field.slots[e]
        like = [other.name for other in field.slots if other.kind is slot.kind]
        context = DrawContext(
            values.get(e, {}), slot.name, parameter_sets(env, record, step, field, e), like.index(slot.name), len(like),
            margin(field.shape), crowded(field.shape),
        )  # fmt: skip
        yield params.fields[f].entities[e], context


def parameter_sets(env: FarmModel, record: Record, step: int, field: FieldSlots, e: int) -> tuple[str, ...]:
    """Return the name of an entity's parameter set, from the file or a context, and of the sets that it extends."""
    slot, which = field.slots[e], env.spec.fields[field.name].entities[e][1]
    for draw, part in env.contexts.split(drawn_numbers(record, step)):
        if draw.name == f"{field.name}/{slot.name}" and draw.kind == "choice":
            which = draw.labels[int(part[0])]
    parents = _parents(slot.kind.file())
    name, names = which.get("extends", "") if isinstance(which, Mapping) else which, []
    while name in parents and name not in names:
        names.append(name)
        name = parents[name]
    return tuple(names)


@lru_cache
def _parents(path: Path) -> dict[str, str]:
    """Return the sets of a kind, mapped to the sets that they extend."""
    return {name: data.get("extends", "") for name, data in read_written_sets(path).items()} if path.is_file() else {}


def _coordinates(place: Place) -> str:
    north, east = float(place.latitude), float(place.longitude)
    return f"{abs(north):.1f} ° {'NS'[north < 0]} {abs(east):.1f} ° {'EW'[east < 0]}"


def _title(env: FarmModel, record: Record, step: int) -> str:
    """Return the day of the episode, the date and, in mode "ao", the half of the day."""
    day = f"Day {int(record['info/day'][step])} of {int(env.params.horizon)}"
    part = "morning" if is_morning(record, step) else ""
    return ", ".join(filter(None, (day, date_of_step(env, record, step), part)))


def _score(record: Record, step: int) -> tuple[str, ...]:
    """Return the gain, the costs and the net reward of the step, and the harvest and water use of the season."""
    total = {name: float(np.sum(record[f"info/{name}"][: step + 1])) for name in ("gain", "net", *COST_NAMES)}
    costs = ", ".join(f"{name.removesuffix(' cost')} {total[name]:.3g}" for name in COST_NAMES if total[name])
    lines = [f"net {total['net']:.3g} = gain {total['gain']:.3g} minus costs" + (f" ({costs})" if costs else " (none)")]
    named = {"info/total/harvest#kg": "harvest {:.2f} kg", "info/total/water#L": "water used {:.0f} L"}
    used = [text.format(float(record[name][step])) for name, text in named.items() if name in record]
    return (*lines, ", ".join(used)) if used else tuple(lines)


def chart_season(env: FarmModel, record: Record, step: int) -> Iterator[Chart]:
    """Draw, day by day, the soil water in each field where it is known, and the net reward."""
    every, days = env.steps_per_day, int(env.params.horizon)
    upto = slice(0, step + 1, every)
    lines = []
    for variable in env.variables:
        if variable.key == "available_Water#L" and variable.name in record:
            mean = mean_of_plots(record[variable.name][upto])
            name = variable.where[0] if len(env.fields) > 1 else ""
            lines.append(Line(name, mean, COLOURS[variable.field % len(COLOURS)]))
    if lines:
        levels = _soil_levels(_params_of_day(env, record, step))
        yield Chart("Water in the soil, mean of the plots, by day", "L", days, tuple(lines), levels)
    net = np.cumsum(np.asarray(record["info/net"], float)[: step + 1])[::every]
    yield Chart("Net reward so far, by day", "", days, (Line("", net, COLOURS[2]),), {})


def _soil_levels(params: FarmParams) -> dict[str, float]:
    """Return the capacity and the wilting point of the soil, if the farm has only one field."""
    soils = [(of.place, e) for of in params.fields for e in of.entities if isinstance(e, Soil)]
    if len(soils) != 1:
        return {}
    bucket = soils[0][1].bucket(soils[0][0])
    return {"full": float(bucket.capacity), "wilting point": float(bucket.wilting)}
