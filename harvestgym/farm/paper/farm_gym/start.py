"""The start and the end of an episode, from Farm-Gym's `*_init.yaml`."""

from __future__ import annotations

from typing import Any

from harvestgym.core.errors import require
from harvestgym.farm.engine.name_table import walk_tree
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.paper.conditions import SEVERAL, SIGN_TEXTS, read_conditions
from harvestgym.farm.paper.farm_gym.conversion import DAY, Conversion, read_terms
from harvestgym.farm.paper.farm_gym.file_models import EndCondition, StartFile
from harvestgym.farm.paper.files import read_init

_LONGEST = 365
"""Number of days of an episode, enough to reach every stopping condition on the day of the year."""

TRUE_THERE = "cannot be computed; Farm-Gym counts it as true"


def write_missing_start(farm: Conversion) -> dict[str, Any]:
    """Return the content that Farm-Gym writes into a missing file."""
    missing, initial = read_terms()["missing"], {}
    for (field, entity), slot in farm.table.slots.items():
        kind, surface = slot.kind.__name__, farm.fields[field].shape.scale ** 2
        scaled = {key: amount * surface for key, amount in missing["start_per_m2"].get(kind, {}).items()}
        initial.setdefault(field, {})[entity] = missing["start"].get(kind, {}) | scaled
    return {"Initial": initial, "Terminal": missing["Terminal"]}


def convert_start(data: Any, farm: Conversion, where: str) -> dict[str, Any]:
    """Return the rules' initial values, stopping conditions and horizon."""
    file, stops = farm.report.read(StartFile, data, where), []
    for i, group in enumerate(file.terminal):
        path = f"{where} > Terminal > {i}"
        texts = [text for j, event in enumerate(group) if (text := _read_stop(event, farm, f"{path} > {j}"))]
        stops += [" and ".join(texts)] * bool(texts)
        if not group:
            farm.report.lose(path, TRUE_THERE)
    if not any(f".{DAY} >" in stop and " and " not in stop for stop in stops):
        farm.report.lose(f"{where} > Terminal", f"an episode without an end is truncated after {_LONGEST} days here")
    init = _read_values(file.initial, farm, f"{where} > Initial")
    return {"init": init, "terminal_conditions": stops, "horizon#day": _LONGEST}


def _read_values(tree: Any, farm: Conversion, where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field, entity, key, value in walk_tree(read_init(tree, where)):
        at = farm.table.entity(field, entity, where)
        path, found = f"{where} > {field} > {entity} > {key}", farm.find(at, key)
        if value is None or (not found and value == 0) or (found and not any(v.is_initial for v in found)):
            farm.report.change(path, "is left out, because it has no effect")
        elif not found:
            farm.report.lose(path)
        else:
            farm.report.kept["initial values"] += 1
            value = _convert(found[0], value, path)
            each = {"each": value} if isinstance(value, list) and found[0].per_plot else value
            out.setdefault(at[0], {}).setdefault(at[1], {})[farm.rename(at, key)] = each
    return out


def _convert(variable: Variable, value: Any, where: str) -> Any:
    """Return a value, or the values in a list, of a variable."""
    if isinstance(value, list):
        return [_convert(variable, each, where) for each in value]
    if variable.meta.labels and isinstance(value, str):
        return value.removeprefix("entered_")
    if isinstance(value, float) and value.is_integer() and variable.meta.dtype == "int":
        value = int(value)
    if variable.key == DAY:
        require(not isinstance(value, bool) and isinstance(value, int), where, "a day from 0 to 364", repr(value))
        return value + 1
    return value


def _read_stop(event: EndCondition, farm: Conversion, where: str) -> str:
    """Return a condition as text; nothing if Farm-Gym cannot compute it."""
    *at, key, _ = event.state_variable
    entity, sign = (at[0], at[1]), event.operator
    found = farm.find(entity, key)
    if len(found) != 1 or sign not in SIGN_TEXTS or not _is_computable(found[0], event.function, sign):
        farm.report.lose(where, TRUE_THERE)
        return ""
    variable = found[0]
    value = _convert(variable, event.ref_value, f"{where} > ref_value")
    listed = value if isinstance(value, list) else [value]
    if variable.meta.labels and not all(each in variable.meta.labels for each in listed):
        farm.report.lose(where, f"{value!r} is not one of the labels here: {', '.join(variable.meta.labels)}")
        return ""
    farm.report.kept["stopping conditions"] += 1
    how = "sum" if key in read_terms()["whole"] else event.function
    observed = (*entity, farm.rename(entity, key), [])
    return read_conditions([[(observed, how, sign, value)]], where)[0][0]


def _is_computable(variable: Variable, function: str, sign: str) -> bool:
    """Return whether Farm-Gym can compute a condition: `value` for one number or label, `sum` and `mean` for plots."""
    single = not variable.per_plot or variable.key in read_terms()["whole"]
    return (function == "value") is single and (not variable.meta.labels or sign in ("==", "!=", *SEVERAL))
