"""What is to be seen of a farm at a step of a recorded season: its fields, the day, what was done, the score so far."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core import yaml_io
from harvestgym.core.scene import Chart, Line, Map, Mark, Scene, Words
from harvestgym.core.timeline import Record
from harvestgym.farm.engine.contexts import ContextFarm, ContextParams
from harvestgym.farm.engine.model import FarmModel, FarmParams
from harvestgym.farm.engine.variables import FieldSlots
from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.soil import Soil, drawing

from . import action_log

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00")
"""Of fields and lines, from Okabe and Ito's palette: told apart with any colour vision."""

SHORT = 24
"""Letters of a line that needs no line of its own."""


def scene(env: FarmModel, record: Record, step: int) -> Scene:
    """The farm after `step` steps of a record (see `farm.view.recorder`), from nothing but the record up to there."""
    params = _in_force(env, record, step)
    drawn, said = zip(*(_field(env, params, record, step, f) for f in range(len(env.fields))), strict=True)
    done = (*action_log.told(env, record, step), *action_log.looked(env, params, record, step))
    words = (
        Words("Today", (*(line for lines in said for line in lines), *_context(env, record, step))),
        Words("Just done", done or ("nothing",)),
        Words("So far", _score(record, step)),
    )
    return Scene(_title(env, record, step), (*drawn, *words, *_charts(env, params, record, step)))


def _field(env: FarmModel, params: FarmParams, record: Record, step: int, f: int) -> tuple[Map, list[str]]:
    """The map of a field, and what its entities have to say."""
    field, place, room = env.fields[f], params.fields[f].place, margin(env.fields[f].shape)
    marks: list[Mark] = []
    lines: list[str] = []
    for entity, seen in _entities(env, params, record, step, f):
        marks += entity.draw(seen, place)
        lines += entity.describe(seen, place)
    marks += action_log.marks(env, record, step, f, room, crowded(field.shape))
    drawn = Map(_about(field.name, place), field.shape, tuple(marks), room, tuple(drawing.legend_marks()))
    return drawn, [f"{field.name}:"] * (len(env.fields) > 1) + joined(lines)


def joined(lines: list[str]) -> list[str]:
    """The lines, those of a few words one after the other."""
    short = [line for line in lines if len(line) <= SHORT]
    return [line for line in lines if len(line) > SHORT] + [", ".join(short)] * bool(short)


def margin(shape: tuple[int, int]) -> float:
    """Plots of room around a field for what stands beside it."""
    return 0.14 + 0.09 * max(shape)


def crowded(shape: tuple[int, int]) -> bool:
    """Whether a field has so many plots that what stands at their sides is drawn in their corners, without numbers."""
    return max(shape) > 12


def _in_force(env: FarmModel, record: Record, step: int) -> FarmParams:
    """The parameters of the day, which a context may have drawn."""
    if isinstance(env, ContextFarm) and isinstance(env.params, ContextParams):
        return jax.device_get(env.drawing.put(env.params, np.asarray(record["info/context"][step])))  # pyright: ignore
    return env.params


def _entities(
    env: FarmModel, params: FarmParams, record: Record, step: int, f: int
) -> Iterator[tuple[Any, DrawContext]]:
    """Each entity of a field with what is known of it; the soil first, then in the order of the file."""
    field = env.fields[f]
    values: dict[int, dict[str, np.ndarray]] = {}
    for variable in env.variables:
        if variable.field == f and variable.name in record:
            values.setdefault(variable.entity, {})[variable.key] = np.asarray(record[variable.name][step])
    for e in sorted(range(len(field.slots)), key=lambda e: not field.slots[e].name.startswith("Soil")):
        slot = field.slots[e]
        like = [other.name for other in field.slots if other.kind is slot.kind]
        seen = DrawContext(
            values.get(e, {}), slot.name, sets(env, record, step, field, e), like.index(slot.name), len(like),
            margin(field.shape), crowded(field.shape),
        )  # fmt: skip
        yield params.fields[f].entities[e], seen


def sets(env: FarmModel, record: Record, step: int, field: FieldSlots, e: int) -> tuple[str, ...]:
    """The name of an entity's parameter set, as the file says or a context chose it, and of those that it extends."""
    slot, which = field.slots[e], env.spec.fields[field.name].entities[e][1]
    if isinstance(env, ContextFarm):
        numbers = env.drawing.split(np.asarray(record["info/context"][step]))
        for draw, part in zip(env.drawing.draws, numbers, strict=True):
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
    """The sets of a file, each with the one that it extends."""
    return {name: said.get("extends", "") for name, said in yaml_io.read(path).items()} if path.is_file() else {}


def _about(name: str, place: Place) -> str:
    """The name of a field and where it lies."""
    north, east = float(place.latitude), float(place.longitude)
    return f"{name}, {abs(north):.1f} ° {'NS'[north < 0]} {abs(east):.1f} ° {'EW'[east < 0]}"


def _context(env: FarmModel, record: Record, step: int) -> list[str]:
    """What a context of this day has drawn."""
    if not isinstance(env, ContextFarm):
        return []
    parts = env.drawing.split(np.asarray(record["info/context"][step]))
    return [f"drawn: {draw.name}: {draw.text(part)}" for draw, part in zip(env.drawing.draws, parts, strict=True)]


def _title(env: FarmModel, record: Record, step: int) -> str:
    """The day of the game and the date, and in mode "ao" the part of the day."""
    day, days = int(record["info/day"][step]), int(env.params.horizon)
    year = [v.name for v in env.variables if v.key == "day#int365" and v.name in record]
    number = float(record[year[0]][step]) if year else float("nan")
    date = ""
    if np.isfinite(number):
        when = datetime.date(2001, 1, 1) + datetime.timedelta(days=int(number) - 1)
        date = f", {when.day} {when:%B} (day {int(number)} of the year)"
    part = ", morning" if action_log.looking(record, step) else ""
    return f"Day {day} of {days}{date}{part}"


def _score(record: Record, step: int) -> tuple[str, ...]:
    """Gain, costs and what is left, and the season's harvest and water."""
    total = {name: float(np.sum(record[f"info/{name}"][: step + 1])) for name in ("gain", "net", *action_log.COSTS)}
    costs = ", ".join(f"{name.removesuffix(' cost')} {total[name]:.3g}" for name in action_log.COSTS if total[name])
    lines = [f"net {total['net']:.3g} = gain {total['gain']:.3g} less costs" + (f" ({costs})" if costs else " (none)")]
    named = {"harvest#kg": "harvest {:.2f} kg", "water#L": "water used {:.0f} L"}
    used = [text.format(float(record[f"info/total/{key}"][step])) for key, text in named.items()
            if f"info/total/{key}" in record]  # fmt: skip
    return (*lines, ", ".join(used)) if used else tuple(lines)


def _charts(env: FarmModel, params: FarmParams, record: Record, step: int) -> Iterator[Chart]:
    """Water in the soil of each field and the net reward, day by day."""
    every, days = getattr(env, "steps_per_day", 1), int(env.params.horizon)
    upto = slice(0, step + 1, every)
    lines = []
    for variable in env.variables:
        if variable.key == "available_Water#L" and variable.name in record:
            values = np.asarray(record[variable.name][upto], float).reshape(-1, int(np.prod(variable.shape)))
            with np.errstate(invalid="ignore"):
                mean = np.sum(values, 1) / values.shape[1]
            name = variable.where[0] if len(env.fields) > 1 else ""
            lines.append(Line(name, mean, COLOURS[variable.field % len(COLOURS)]))
    if lines:
        yield Chart("Water in the soil, mean of the plots, by day", "L", days, tuple(lines), _bucket(env, params))
    net = np.cumsum(np.asarray(record["info/net"], float)[: step + 1])[::every]
    yield Chart("Net reward so far, by day", "", days, (Line("", net, COLOURS[2]),), {})


def _bucket(env: FarmModel, params: FarmParams) -> dict[str, float]:
    """What the soil of a lone field holds at most, and what of it no plant can take."""
    soils = [(of.place, e) for of in params.fields for e in of.entities if isinstance(e, Soil)]
    if len(soils) != 1:
        return {}
    bucket = soils[0][1].bucket(soils[0][0])
    return {"full": float(bucket.capacity), "wilting point": float(bucket.wilting)}
