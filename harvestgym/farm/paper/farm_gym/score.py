"""The score in Farm-Gym's `*_score.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.name_table import EntityKey, walk_tree
from harvestgym.farm.paper.farm_gym.names import FarmNames, read_mapping
from harvestgym.farm.paper.farm_gym.report import Report
from harvestgym.farm.paper.files import read_init

_GRAMS = 1000
"""Farm-Gym pays a harvest by the gram; here it is paid by the kilogram, so all other numbers are divided by this."""

_MIXES = ("reward-mix", "final-reward-mix")
_HARVEST = "weight_harvest"

_WEIGHTS = {
    ("reward-mix", "weight_stagetransition"): "stage",
    ("final-reward-mix", "weight_biodiversitycounts"): "bio",
    ("final-reward-mix", "weight_resourceadded"): "resource",
    ("final-reward-mix", "weight_harvest"): "yield",
}
"""The weights with a counterpart, by block and name."""

_COSTS = {"intervention-cost": "intervention_costs", "observation-cost": "observation_costs"}


def convert_score(
    data: Mapping[str, Any], interventions: Mapping[str, Any], names: FarmNames, report: Report, where: str
) -> dict[str, Any]:
    """Return the score of a farm with some interventions; a harvest is paid by the kilogram, with a weight up to 1."""
    mixes = {block: read_mapping(data.get(block) or {}, f"{where} > {block}") for block in _MIXES}
    weights = {
        (block, name): _read_number(w, f"{where} > {block} > {name}")
        for block in mixes
        for name, w in mixes[block].items()
    }
    unit = _GRAMS * max(1, weights.get((_MIXES[1], _HARVEST), 0))
    report.change(where, f"rewards and costs are divided by {unit:g}, as a harvest is paid by the kilogram")
    out: dict[str, Any] = {"intervention_cost": 1 / unit, "observation_cost": 1 / unit, "stage": 0, "yield": 0}
    for key in sorted(data.keys() - {*_MIXES, *_COSTS}):
        report.lose(f"{where} > {key}")
    for block, key in _COSTS.items():
        tree, path = read_init(data.get(block) or {}, f"{where} > {block}"), f"{where} > {block}"
        out[key] = _read_costs(tree, interventions if "intervention" in block else None, unit, names, report, path)
    for (block, name), weight in weights.items():
        out |= _read_weight((block, name), weight / unit, report, f"{where} > {block} > {name}")
    return out


def _read_costs(
    tree: Any, allowed: Mapping[str, Any] | None, unit: float, names: FarmNames, report: Report, where: str
) -> dict[str, Any]:
    """Return the costs of the `allowed` interventions, or of variables (None); nothing can cause the others here."""
    out: dict[str, Any] = {}
    for field, entity, key, cost in walk_tree(tree):
        path = f"{where} > {field} > {entity} > {key}"
        known = _find(names, (field, entity), str(key), allowed) if names.has(field, entity) else ""
        if known:
            report.keep("costs")
            out.setdefault(field, {}).setdefault(entity, {})[known] = _read_number(cost, path) / unit
        else:
            report.change(path, "is left out, as nothing can cost it here")
    return out


def _find(names: FarmNames, entity: EntityKey, key: str, allowed: Mapping[str, Any] | None) -> str:
    """Return the name here of an intervention or a variable; nothing if there is none."""
    if allowed is None:
        return names.rename(entity, key) if names.find(entity, key) else ""
    action, (field, name) = names.action(entity, key), entity
    return action.name if action and action.name in allowed.get(field, {}).get(name, {}) else ""


def _read_weight(at: tuple[str, str], weight: float, report: Report, where: str) -> dict[str, Any]:
    """Return the entries of the score for a weight."""
    if at == (_MIXES[0], _HARVEST) and weight > 0:
        report.lose(where, "a harvest is paid on its day only, not on every later day, too")
        return {"terms": {"harvest_today": {"kind": "Tally", "prices": {"harvest#kg": weight * _GRAMS}}}}
    if at in _WEIGHTS and weight >= 0:
        report.keep("weights of the score")
        return {_WEIGHTS[at]: weight * (_GRAMS if at[1] == _HARVEST else 1)}
    if weight:
        report.lose(where)
    return {}


def _read_number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{where}: expected a number, got {value!r}")
    return value
