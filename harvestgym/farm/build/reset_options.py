"""The options of `reset` on farms: the day, the recorded year and the start values of one episode."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from harvestgym.core.config import validate
from harvestgym.farm.build.canonical_names import resolve_starts
from harvestgym.farm.build.compile import DrawnStart, share_starts
from harvestgym.farm.engine.initial_values import check_starts, compile_initial_values
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.name_table import build_tree, put_once
from harvestgym.farm.engine.state import FarmParams
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.schema import RulesSpec
from harvestgym.farm.spelling import DAY_UNIT


def set_options(model: FarmModel, params: FarmParams, options: Mapping[str, Any]) -> tuple[FarmModel, FarmParams]:
    """Return a farm, and its parameters, whose episodes start as the options say.

    It is `model` itself if the options only give numbers for variables that have a start value already.

    Args:
        model: the farm.
        params: its parameters.
        options: `day`, the day of the year, as in a farm file; `start`, start values as in `rules > init`; `year`, a
            recorded calendar year of the weather.

    Raises:
        ConfigError: the same as for a farm file.
    """
    days = [(*v.where, v.key) for v in model.variables if v.meta.unit == DAY_UNIT]
    trees = {"start": options.get("start", {})}
    if "day" in options:
        trees["day"] = build_tree((names, options["day"]) for names in days)
    given: dict[Variable, DrawnStart] = {}
    for name, tree in trees.items():
        for start in _read_starts(model, params, tree, f"reset > {name}"):
            put_once(given, start[0].variable, start, f"reset > {name} > {start[0].variable.name}")
    before = {start.variable: (start, values) for start, values in zip(model.starts, params.starts, strict=True)}
    starts = before | {variable: _fit(start, before.get(variable)) for variable, start in given.items()}
    check_starts(list(starts.values()), params.fields, "reset > start")
    structure, values = zip(*starts.values(), strict=True) if starts else ((), ())
    changed = dataclasses.replace(params, starts=values)
    if structure == model.starts:
        return model, changed
    return dataclasses.replace(model, starts=structure, defaults=changed), changed


def _read_starts(model: FarmModel, params: FarmParams, tree: Any, where: str) -> list[DrawnStart]:
    init = resolve_starts(model.names, validate(RulesSpec, {"init": tree}, where).init, where)
    return share_starts(compile_initial_values(init, model.variables, params.fields, where), model.names)


def _fit(given: DrawnStart, before: DrawnStart | None) -> DrawnStart:
    """Return a start; a single number takes the form of the start before, so that nothing has to be compiled."""
    single = np.shape(given[1]) == (1,) and before is not None
    return (before[0], np.broadcast_to(given[1], np.shape(before[1]))) if single else given  # type: ignore[index]
