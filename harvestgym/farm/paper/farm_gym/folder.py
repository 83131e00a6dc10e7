"""Farm-Gym's folders: a farm file and, next to it, the files for its start, actions and score, which may be missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harvestgym.core import yaml_io
from harvestgym.core.config import validate
from harvestgym.core.errors import locate_errors, mismatch, require
from harvestgym.farm.farm_file import anchor, read_farm_data
from harvestgym.farm.paper.farm_gym.conversion import DAY, Conversion, Report, read_terms
from harvestgym.farm.paper.farm_gym.file_models import FarmerLimits, FarmerPart, FarmFile, FieldPart
from harvestgym.farm.paper.farm_gym.orders import convert_actions, write_missing_actions
from harvestgym.farm.paper.farm_gym.score import convert_score
from harvestgym.farm.paper.farm_gym.start import convert_start, write_missing_start
from harvestgym.farm.schema import FarmSpec, farm_spec
from harvestgym.farm.spelling import merge_farms

_DAY_PATH = {"field": "Field-0", "entity": "Weather-0", "variable": DAY}


def is_farm_gym(path: Path) -> bool:
    """Return whether a file is a farm file of Farm-Gym."""
    text = yaml_io.read_text(path) if path.is_file() else ""
    # a quick test, because most of our own files do not contain this text
    data = yaml_io.parse(text, str(path)) if re.search(r"\bFarm\b", text) else None
    return isinstance(data, dict) and "Farm" in data and "fields" not in data


def read_any_farm(path: Path, overrides: Mapping[str, Any] = MappingProxyType({})) -> FarmSpec:
    """Read a farm file, ours or Farm-Gym's; warn about each entry of Farm-Gym's files without a counterpart here."""
    return farm_spec(merge_farms(read_any_data(path), overrides), path.name)


def read_any_data(path: Path) -> dict[str, Any]:
    """Read the entries of a farm file, ours or Farm-Gym's, in our form."""
    if not is_farm_gym(path):
        return read_farm_data(path)
    data, report = read_farm_gym(path)
    anchor(data, path.resolve().parent)
    report.warn(path.parent)
    return data


def read_farm_gym(path: Path) -> tuple[dict[str, Any], Report]:
    """Return the farm in Farm-Gym's files in the form of our single file, and the report of the conversion.

    Raises:
        ConfigError: gives the file and the path of the mistake.
    """
    report, name = Report(), path.name
    file = report.read(FarmFile, yaml_io.read_file(path), name)
    if file.day_path == _DAY_PATH:
        report.change(f"{name} > day_path", f"is left out, because the day is always Weather-0 {DAY}")
    elif file.day_path is not None:
        report.lose(f"{name} > day_path")
    fields, farmers = read_parts(file.farm, path.resolve().parent, report, f"{name} > Farm")
    mode = {"POMDP": "po", "AOMDP": "ao"}[file.interaction_mode]
    data = {"doc": f"Converted from {name} of Farm-Gym.", "fields": fields, "farmers": farmers, "mode": mode}
    at_home = deepcopy(data)
    anchor(at_home, path.resolve().parent)
    spec = validate(FarmSpec, at_home, name)
    with locate_errors(f"{name} > Farm: "):
        farm = Conversion(spec.fields, [f"BasicFarmer-{i}" for i in range(len(farmers))], report)
    side = [path.with_name(f"{path.stem}_{end}") for end in (file.initialization, file.actions, file.score)]
    start, actions, score = (yaml_io.read_file(each) if each.exists() else None for each in side)
    rules = convert_start(start or write_missing_start(farm), farm, side[0].name)
    rules |= convert_actions(actions or write_missing_actions(farm), farm, side[1].name)
    score = score or read_terms()["missing"]["score"]
    scoring = convert_score(score, rules["interventions"], farm, side[2].name)
    return data | {"rules": rules, "scoring": scoring}, report


def read_parts(farm: Mapping[str, Any], folder: Path, report: Report, where: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the fields by name, and the farmers; each is recognised by its key, and they are numbered in order."""
    fields, farmers = {}, []
    for name, given in farm.items():
        path = f"{where} > {name}"
        if "Field" in name:
            entities = report.read(FieldPart, given, path).entities
            listed = [_read_entity(each, folder, report, f"{path} > entities > {i}") for i, each in enumerate(entities)]
            place = {key: given[key] for key in ("localization", "shape")}
            fields[f"Field-{len(fields)}"] = place | {"entities": listed}
            report.kept["fields"] += 1
        elif "Farmer" in name:
            limits = report.read(FarmerPart, given, path).parameters
            farmers.append({"kind": "BasicFarmer"} | limits.model_dump(include=set(FarmerLimits.model_fields)))
            report.kept["farmers"] += 1
        else:
            report.lose(path, "is neither a field nor a farmer")
    return fields, farmers


def _read_entity(entity: Mapping[str, str], folder: Path, report: Report, where: str) -> list[Any]:
    ((kind, which),) = entity.items()
    if kind == "Weather" and which in read_terms()["sets"]:
        known, lost = read_terms()["sets"][which]
        report.lose(where, f"{which} becomes {known} here, without its {lost}")
        which = known
    elif kind == "Weather" and (table := _find_table(folder, which)):
        report.change(where, f"the weather is the table {table.name}")
        return [kind, {"table": str(table.relative_to(folder))}]
    report.kept["entities"] += 1
    return [kind, which]


def _find_table(folder: Path, which: str) -> Path | None:
    """Return the weather table that a set names, in the folder of the farm or in its folder `weather_data`."""
    name = f"{which.removesuffix('.csv')}.csv"
    return next((path for path in (folder / name, folder / "weather_data" / name) if path.is_file()), None)


def find_farm_file(given: Path) -> Path:
    """Return the farm file of Farm-Gym at a path: the file itself, or the only one in a folder.

    Raises:
        ConfigError: if there is none, or more than one.
    """
    if given.is_file() and is_farm_gym(given):
        return given
    require(given.is_dir(), given, "a folder or a farm file of Farm-Gym, with a key Farm", "neither")
    found = sorted(path for path in given.glob("*.yaml") if is_farm_gym(path))
    if len(found) != 1:
        which = f"; try one of {', '.join(str(path) for path in found)}" if found else ""
        raise mismatch(given, "one farm file of Farm-Gym, with a key Farm", f"{len(found)}{which}")
    return found[0]
