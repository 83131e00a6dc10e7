"""The options of `reset` on farms: the day, the recorded year and the start values of one episode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harvestgym.core.config import validate
from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import replace
from harvestgym.farm.build.canonical_names import resolve_starts
from harvestgym.farm.build.compile import DrawnStart, share_starts
from harvestgym.farm.engine.initial_values import check_starts, compile_initial_values
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import build_tree, put_once
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.entities.weather.weather import load_recorded_years
from harvestgym.farm.schema import RulesSpec
from harvestgym.farm.spelling import DAY_UNIT


def set_options(model: FarmModel, params: FarmParams, options: Mapping[str, Any]) -> tuple[FarmModel, FarmParams]:
    """Return a farm and parameters with which episodes start as the options specify.

    The farm is `model` itself if the options only give numbers for variables that already have a start value.

    Args:
        model: the farm.
        params: its parameters.
        options: `day`, the day of the year, as in a farm file; `start`, start values as in `rules > init`; `year`, a
            recorded calendar year of the weather.

    Raises:
        ConfigError: the same as for a farm file.
    """
    days = [variable for variable in model.variables if variable.meta.unit == DAY_UNIT]
    if "year" in options:
        params = _start_in(options["year"], days, model, params)
    trees = {"start": options.get("start", {})}
    if "day" in options:
        trees["day"] = build_tree(((*day.where, day.key), options["day"]) for day in days)
    given: dict[Variable, DrawnStart] = {}
    for name, tree in trees.items():
        for start in _read_starts(model, params, tree, f"reset > {name}"):
            put_once(given, start[0].variable, start, f"reset > {name} > {start[0].variable.name}")
    before = {start.variable: (start, values) for start, values in zip(model.starts, params.starts, strict=True)}
    starts = before | {variable: _fit(start, before.get(variable)) for variable, start in given.items()}
    check_starts(list(starts.values()), params.fields, "reset > start")
    structure, values = zip(*starts.values(), strict=True) if starts else ((), ())
    changed = replace(params, starts=values)
    if structure == model.starts:
        return model, changed
    return dataclasses.replace(model, starts=structure, defaults=changed), changed


def _start_in(year: Any, days: Sequence[Variable], model: FarmModel, params: FarmParams) -> FarmParams:
    """Return parameters whose weather starts in a recorded year; raise ConfigError if it has no such year."""
    fields = list(params.fields)
    for day in days:
        which = model.spec.fields[day.where[0]].entities[day.entity][1]
        years = load_recorded_years(which)[0] or []
        if year not in years:
            known = f"one of {', '.join(map(str, years))}" if years else "weather recorded with dates"
            raise mismatch(f"reset > year > {' > '.join(day.where)}", known, repr(year))
        entities: list[Any] = list(fields[day.field].entities)
        sky = replace(entities[day.entity].sky, year=np.int32(years.index(year)))
        entities[day.entity] = replace(entities[day.entity], sky=sky)
        fields[day.field] = replace(fields[day.field], entities=tuple(entities))
    return replace(params, fields=tuple(fields))


def _read_starts(model: FarmModel, params: FarmParams, tree: Any, where: str) -> list[DrawnStart]:
    init = resolve_starts(model.names, validate(RulesSpec, {"init": tree}, where).init, where)
    return share_starts(compile_initial_values(init, model.variables, params.fields, where), model.names)


def _fit(given: DrawnStart, before: DrawnStart | None) -> DrawnStart:
    """Return an initial value; a single number takes the form of the previous value, so that nothing is recompiled."""
    single = np.shape(given[1]) == (1,) and before is not None
    return (before[0], np.broadcast_to(given[1], np.shape(before[1]))) if single else given  # type: ignore[index]
