"""The observations and interventions that Farm-Gym's `*_actions.yaml` allows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.actions import BINS, DURATION
from harvestgym.farm.engine.name_table import FARMER, WHOLE, EntityKey, build_tree, parameter_keys, walk_tree
from harvestgym.farm.entities.base import Action, Parameter
from harvestgym.farm.paper.farm_gym.conversion import Conversion, Report, read_terms
from harvestgym.farm.paper.farm_gym.file_models import ActionsFile
from harvestgym.farm.paper.files import SIZE, list_paths
from harvestgym.farm.paper.observation_items import write_variable
from harvestgym.farm.spelling import Interval

_FREE = "Free"


def write_missing_actions(farm: Conversion) -> dict[str, Any]:
    """Return the content that Farm-Gym writes into a missing file, without observations, which are all allowed."""
    missing = read_terms()["missing"]
    mine = {at: missing["interventions"].get(slot.kind.__name__) for at, slot in farm.table.slots.items()}
    tree = build_tree((at, actions) for at, actions in mine.items() if actions)
    interventions = dict.fromkeys(farm.farmers, tree)
    return {"params": {SIZE: 5}, "observations": {_FREE: missing[_FREE]}, "interventions": interventions}


def convert_actions(data: Any, farm: Conversion, where: str) -> dict[str, Any]:
    """Return the rules' observations, interventions and schedule size."""
    file = farm.report.read(ActionsFile, data, where)
    if file.params.bins != BINS:
        farm.report.lose(f"{where} > params > number_of_bins_to_discretize_continuous_actions", f"it is {BINS} here")
    observations = _read_observations(file.observations, farm, f"{where} > observations")
    interventions = _read_interventions(file.interventions, farm, f"{where} > interventions")
    return {SIZE: file.params.max_action_schedule_size, **observations, "interventions": interventions}


def _each_entry(
    blocks: Mapping[str, Mapping[str, Any]], farmers: Collection[str], farm: Conversion, where: str
) -> Iterator[tuple[str, EntityKey, str, Any, str]]:
    """Yield the farmer, entity, name, value and path of each entry for a farmer and an entity on the farm."""
    for farmer, tree in blocks.items():
        if farmer not in farmers:
            farm.report.lose(f"{where} > {farmer}", "there is no such farmer on the farm")
            continue
        for field, entity, name, value in walk_tree(tree):
            path = f"{where} > {farmer} > {field} > {entity}"
            if (field, entity) in farm.table.slots:
                yield farmer, (field, entity), name, value, path
            else:
                farm.report.lose(path, "there is no such entity on the farm")


def _read_observations(blocks: Any, farm: Conversion, where: str) -> dict[str, Any]:
    keys = dict.fromkeys(farm.farmers, "observations") | {_FREE: "free_observations"}
    out = {keys[farmer]: dict[str, None]() for farmer in blocks if farmer in keys}
    for farmer, at, name, below, path in _each_entry(blocks, keys, farm, where):
        key = keys[farmer]
        texts = list(_read_paths(at, {name: below}, path, farm))
        farm.report.kept[key.replace("_", " ")] += len(texts)
        out[key] |= dict.fromkeys(texts)
    return {key: list(texts) for key, texts in out.items()}


def _read_paths(entity: EntityKey, below: Mapping[str, Any], where: str, farm: Conversion) -> Iterator[str]:
    """Yield the observations of an entity; report each variable that is lost."""
    for name, *steps in list_paths(below, (), where):
        words = [name, *(step for step in steps if isinstance(step, str) and step != WHOLE)]
        plots = [step for step in steps if isinstance(step, tuple)]
        key, path = farm.rename(entity, "/".join(words)), " > ".join((where, *words))
        try:
            farm.table.observed(entity, key, plots[0] if plots else None, where)
        except ConfigError:
            farm.report.lose(path)
            continue
        if any(not isinstance(step, (str, tuple)) for step in steps):
            farm.report.lose(path, "has no counterpart here for single days")
            continue
        if note := read_terms()["notes"].get("/".join(words)):
            farm.report.lose(path, note)
        yield write_variable((*entity, key, plots), where)


def _read_interventions(blocks: Any, farm: Conversion, where: str) -> dict[str, Any]:
    """Return the interventions; farmers may have different ones, but with the same limits."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for farmer, at, name, limits, path in _each_entry(blocks, farm.farmers, farm, where):
        if action := farm.action(at, name):
            limits = _read_limits(action, limits, farm.report, f"{path} > {name}")
            found.setdefault((*at, action.name), {})[farmer] = limits
        else:
            farm.report.lose(f"{path} > {name}")
    for at, by_farmer in found.items():
        if len(set(map(str, by_farmer.values()))) > 1:
            farm.report.lose(" > ".join((where, next(iter(by_farmer)), *at)), "every farmer has these limits here")
    return build_tree((at, _add_farmers(by_farmer, farm)) for at, by_farmer in found.items())


def _add_farmers(by_farmer: Mapping[str, Any], farm: Conversion) -> dict[str, Any] | None:
    """Return the limits of an intervention, with the farmers who may carry it out, unless all of them may."""
    limits = next(iter(by_farmer.values()))
    return limits if len(by_farmer) == len(farm.farmers) else {FARMER: [*by_farmer], **(limits or {})}


def _read_limits(action: Action, given: Mapping[str, Any], report: Report, where: str) -> dict[str, Any] | None:
    """Return the allowed plots and parameters of an intervention; all durations become 30 minutes."""
    parameters, keys = {p.key: p for p in action.parameters}, parameter_keys(action)
    for key in given.keys() - keys:
        report.lose(f"{where} > {key}")
    out = {key: allowed for key, allowed in given.items() if key in keys}
    for key in out.keys() & parameters:
        out[key] = _clip(parameters[key], out[key], report, f"{where} > {key}")
    if DURATION in keys and DURATION not in out:
        report.change(where, f"takes {DURATION} 30 here")
        out[DURATION] = [30]
    report.kept["interventions"] += 1
    return out or None


def _clip(parameter: Parameter, allowed: Interval | list[Any], report: Report, where: str) -> Any:
    """Return those values in a list or an interval that the parameter can have here."""
    low, high = parameter.range
    if isinstance(allowed, Interval):
        inside: Any = Interval(low=max(low, allowed.low), high=min(high, allowed.high))
    else:
        inside = [value for value in allowed if not isinstance(value, (int, float)) or low <= value <= high]
    if low == high or inside == allowed:
        return allowed
    report.lose(where, f"only {low:g} to {high:g} exist here")
    return inside
