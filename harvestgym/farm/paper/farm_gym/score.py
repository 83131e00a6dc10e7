"""The score in Farm-Gym's `*_score.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harvestgym.core.config import Strict, validate
from harvestgym.farm.engine.name_table import EntityKey, build_tree, walk_tree
from harvestgym.farm.paper.farm_gym.conversion import Conversion, Report, read_terms
from harvestgym.farm.paper.farm_gym.file_models import ScoreFile
from harvestgym.farm.paper.files import read_init
from harvestgym.farm.schema import Number

_GRAMS = 1000
"""Farm-Gym rewards a harvest per gram, and we reward it per kilogram, so all other numbers are divided by this."""


Rename = Callable[[EntityKey, str], str]
"""A function that returns our name of an entity's action or variable; empty if there is none."""


class _Costs(Strict):
    tree: dict[str, dict[str, dict[str, Number]]]


def convert_score(data: Any, interventions: Mapping[str, Any], farm: Conversion, where: str) -> dict[str, Any]:
    """Return a farm's score with these interventions; a harvest is rewarded per kilogram, with a weight up to 1."""
    file = farm.report.read(ScoreFile, data, where)
    unit = _GRAMS * max(1, file.final.get("weight_harvest", 0))
    farm.report.change(where, f"rewards and costs are divided by {unit:g}, because a harvest is rewarded per kilogram")
    acts = {(field, entity, name) for field, entity, name, _ in walk_tree(interventions)}

    def name_action(entity: EntityKey, key: str) -> str:
        action = farm.action(entity, key)
        return action.name if action and (*entity, action.name) in acts else ""

    def name_variable(entity: EntityKey, key: str) -> str:
        return farm.rename(entity, key) if farm.find(entity, key) else ""

    out: dict[str, Any] = {"intervention_cost": 1 / unit, "observation_cost": 1 / unit, "stage": 0, "yield": 0}
    costs = ("intervention", file.intervention_cost, name_action), ("observation", file.observation_cost, name_variable)
    for block, given, rename in costs:
        path = f"{where} > {block}-cost"
        out[f"{block}_costs"] = _read_costs(read_init(given, path), rename, unit, farm.report, path)
    for block, weights in (("reward-mix", file.daily), ("final-reward-mix", file.final)):
        for name, weight in weights.items():
            out |= _read_weight(f"{block} > {name}", weight / unit, farm.report, where)
    return out


def _read_costs(tree: Any, rename: Rename, unit: float, report: Report, where: str) -> dict[str, Any]:
    """Return the costs of what has a name here; the other costs cannot occur here."""
    costs: dict[tuple[str, str, str], float] = {}
    for field, entity, key, cost in walk_tree(validate(_Costs, {"tree": tree}, where).tree):
        if known := rename((field, entity), key):
            report.kept["costs"] += 1
            costs[field, entity, known] = cost / unit
        else:
            report.change(f"{where} > {field} > {entity} > {key}", "is left out, because this cost cannot occur here")
    return build_tree(costs.items())


def _read_weight(name: str, weight: float, report: Report, where: str) -> dict[str, Any]:
    """Return the entries of the score for a weight."""
    if name == "reward-mix > weight_harvest" and weight > 0:
        report.lose(f"{where} > {name}", "a harvest is rewarded once, not again on every later day")
        return {"terms": {"harvest_today": {"kind": "Tally", "prices": {"harvest#kg": weight * _GRAMS}}}}
    if name in read_terms()["weights"] and weight >= 0:
        report.kept["weights of the score"] += 1
        return {read_terms()["weights"][name]: weight * (_GRAMS if name.endswith("harvest") else 1)}
    if weight:
        report.lose(f"{where} > {name}")
    return {}
