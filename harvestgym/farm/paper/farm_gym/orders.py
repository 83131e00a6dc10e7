"""The observations and interventions that Farm-Gym's `*_actions.yaml` allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harvestgym.core.config import Strict, validate
from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.actions import BINS, DURATION
from harvestgym.farm.engine.name_table import FARMER, WHOLE, EntityKey, build_tree, parameter_keys
from harvestgym.farm.entities.base import Action, Parameter
from harvestgym.farm.paper.farm_gym.names import FarmNames, read_mapping, read_terms, require
from harvestgym.farm.paper.farm_gym.report import Report
from harvestgym.farm.paper.files import SIZE, by_entity, list_paths
from harvestgym.farm.paper.observation_items import write_variable
from harvestgym.farm.schema import Interval, ValueSpec

_BINS_KEY = "number_of_bins_to_discretize_continuous_actions"
_FREE = "Free"
_NO_ENTITY = "no such entity is on the farm"


class _Limit(Strict):
    values: ValueSpec


def write_missing_actions(names: FarmNames) -> dict[str, Any]:
    """Return what Farm-Gym writes into a missing file, without the farmers' observations: it lists all of them."""
    missing = read_terms()["missing"]
    mine = {at: missing["interventions"].get(slot.kind.__name__) for at, slot in names.table.slots.items()}
    tree = build_tree((at, actions) for at, actions in mine.items() if actions)
    interventions = dict.fromkeys(names.farmers, tree)
    return {"params": {SIZE: 5}, "observations": {_FREE: missing[_FREE]}, "interventions": interventions}


def convert_actions(data: Mapping[str, Any], names: FarmNames, report: Report, where: str) -> dict[str, Any]:
    """Return the rules' observations, interventions and schedule size."""
    require(data, ("params", "observations", "interventions"), where)
    params = read_mapping(data["params"], f"{where} > params")
    require(params, (SIZE,), f"{where} > params")
    for key in [key for key in params if key != SIZE and (key, params[key]) != (_BINS_KEY, BINS)]:
        report.lose(f"{where} > params > {key}")
    return {
        SIZE: params[SIZE],
        **_read_observations(data["observations"], names, report, f"{where} > observations"),
        "interventions": _read_interventions(data["interventions"], names, report, f"{where} > interventions"),
    }


def _read_observations(blocks: Any, names: FarmNames, report: Report, where: str) -> dict[str, Any]:
    out: dict[str, list[str]] = {}
    for farmer, tree in read_mapping(blocks, where).items():
        path, key = f"{where} > {farmer}", "free_observations" if farmer == _FREE else "observations"
        if farmer not in (_FREE, *names.farmers):
            report.lose(path, "no such farmer is on the farm")
            continue
        texts = [text for at in _each_entity(tree, names, report, path) for text in _read_paths(*at, names, report)]
        report.keep(key.replace("_", " "), len(texts))
        out[key] = list(dict.fromkeys((*out.get(key, ()), *texts)))
    return out


def _each_entity(
    tree: Any, names: FarmNames, report: Report, where: str
) -> Iterator[tuple[EntityKey, Mapping[str, Any], str]]:
    for field, entities in by_entity(tree, where):
        for entity, below, path in entities:
            if names.has(field, entity):
                yield (field, entity), below, path
            else:
                report.lose(path, _NO_ENTITY)


def _read_paths(
    entity: EntityKey, below: Mapping[str, Any], where: str, names: FarmNames, report: Report
) -> Iterator[str]:
    """Yield the observations of an entity, and note each variable that is lost, or the parts of it that are."""
    lost: dict[str, list[Any]] = {}
    for name, *steps in list_paths(below, (), where) if below else ():
        words = "/".join([str(name), *(step for step in steps if isinstance(step, str) and step != WHOLE)])
        plots = [step for step in steps if isinstance(step, tuple)]
        known = names.find(entity, words)
        try:
            names.table.observed(entity, names.rename(entity, words), plots[0] if plots else None, where)
            is_lost = any(not isinstance(step, (str, tuple)) for step in steps)  # a single day of a forecast
        except ConfigError:
            is_lost = True
        if is_lost:
            lost.setdefault(words, []).extend(steps[-1:] if known else [])
            continue
        if note := read_terms()["notes"].get(words):
            report.lose(f"{where} > {words}", note)
        yield write_variable((*entity, names.rename(entity, words), plots), where)
    for words, parts in lost.items():
        if any(words.startswith(f"{above}/") for above in lost):
            continue
        path = f"{where} > {words.replace('/', ' > ')}"
        report.lose(path, f"has no counterpart here{f' for {parts}' if parts else ''}")


def _read_interventions(blocks: Any, names: FarmNames, report: Report, where: str) -> dict[str, Any]:
    """Return the interventions; farmers may have different ones, but with the same limits."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for farmer, tree in read_mapping(blocks, where).items():
        if farmer not in names.farmers:
            report.lose(f"{where} > {farmer}", "no such farmer is on the farm")
            continue
        for entity, below, path in _each_entity(tree, names, report, f"{where} > {farmer}"):
            for name, limits in below.items():
                action, at = names.action(entity, name), f"{path} > {name}"
                if action is None:
                    report.lose(at)
                else:
                    limits = _read_limits(action, {} if limits is None else limits, report, at)
                    found.setdefault((*entity, action.name), {})[farmer] = limits
    for at, by_farmer in found.items():
        if len(set(map(str, by_farmer.values()))) > 1:
            report.lose(" > ".join((where, next(iter(by_farmer)), *at)), "every farmer has these limits here")
    return build_tree((at, _add_farmers(by_farmer, names)) for at, by_farmer in found.items())


def _add_farmers(by_farmer: Mapping[str, Any], names: FarmNames) -> dict[str, Any] | None:
    """Return the limits of an intervention, with the farmers who may carry it out, unless all of them may."""
    limits = next(iter(by_farmer.values()))
    return limits if len(by_farmer) == len(names.farmers) else {FARMER: [*by_farmer], **(limits or {})}


def _read_limits(action: Action, given: Any, report: Report, where: str) -> dict[str, Any] | None:
    """Return the allowed plots and parameters of an intervention; Farm-Gym has no duration, and 30 minutes is ours."""
    out: dict[str, Any] = {}
    for key, allowed in read_mapping(given, where).items():
        parameter = next((p for p in action.parameters if p.key == key), None)
        if parameter is not None:
            out[key] = _clip(parameter, allowed, report, f"{where} > {key}")
        elif key in parameter_keys(action):
            out[key] = allowed
        else:
            report.lose(f"{where} > {key}")
    if DURATION in parameter_keys(action) and DURATION not in out:
        report.change(where, f"takes {DURATION} 30 here")
        out[DURATION] = [30]
    report.keep("interventions")
    return out or None


def _clip(parameter: Parameter, allowed: Any, report: Report, where: str) -> Any:
    """Return the values that a parameter can have here, of a list or an interval."""
    values, (low, high) = validate(_Limit, {"values": allowed}, where).values, parameter.range
    listed = values.ends if isinstance(values, Interval) else values
    inside = [value for value in listed if not isinstance(value, (int, float)) or low <= value <= high]
    if low == high or len(inside) == len(listed):
        return allowed
    report.lose(where, f"only {low:g} to {high:g} exist here")
    return str((max(low, values.low), min(high, values.high))) if isinstance(values, Interval) else inside
