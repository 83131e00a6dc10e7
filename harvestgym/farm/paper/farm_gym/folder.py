"""Farm-Gym's folders: a farm file and, next to it, its start, actions and score, which may be missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from harvestgym.core import yaml_io
from harvestgym.core.config import validate
from harvestgym.core.errors import ConfigError, check_name, locate_errors
from harvestgym.farm.paper.farm_gym.fields import read_parts
from harvestgym.farm.paper.farm_gym.names import DAY, FarmNames, read_mapping, read_terms, require
from harvestgym.farm.paper.farm_gym.orders import convert_actions, write_missing_actions
from harvestgym.farm.paper.farm_gym.report import Report
from harvestgym.farm.paper.farm_gym.score import convert_score
from harvestgym.farm.paper.farm_gym.start import convert_start, write_missing_start
from harvestgym.farm.schema import FarmSpec, anchor, farm_spec, merge_farms, read_farm

_KEYS = ("Farm", "actions", "score", "initialization", "interaction_mode")
_DAY_PATH = {"field": "Field-0", "entity": "Weather-0", "variable": DAY}
_MODES = {"POMDP": "po", "AOMDP": "ao"}


def is_farm_gym(path: Path) -> bool:
    """Return whether a file is a farm file of Farm-Gym."""
    text = yaml_io.read_text(path) if path.is_file() else ""
    data = yaml_io.parse(text, str(path)) if re.search(r"\bFarm\b", text) else None  # most of ours lack the word
    return isinstance(data, dict) and "Farm" in data and "fields" not in data


def read_any_farm(path: Path, overrides: dict[str, Any] | None = None) -> FarmSpec:
    """Read a farm file, ours or Farm-Gym's; warn of each entry of Farm-Gym's files without a counterpart."""
    if not is_farm_gym(path):
        return read_farm(path, overrides)
    data, report = read_farm_gym(path)
    anchor(data, path.resolve().parent)
    spec = farm_spec(merge_farms(data, overrides or {}), path.name)
    report.warn(path.parent)
    return spec


def read_farm_gym(path: Path) -> tuple[dict[str, Any], Report]:
    """Return the farm in Farm-Gym's files in the form of our single file, and what has changed.

    Raises:
        ConfigError: gives the file and the path of the mistake.
    """
    report, name = Report(), path.name
    data = read_mapping(yaml_io.read_file(path), name)
    require(data, _KEYS, name)
    check_name("mode", data["interaction_mode"], _MODES, f"{name} > interaction_mode")
    for key in data:
        if key == "day_path" and data[key] == _DAY_PATH:
            report.change(f"{name} > {key}", f"is left out, as the day is always Weather-0 {DAY}")
        elif key not in _KEYS:
            report.lose(f"{name} > {key}")
    fields, farmers = read_parts(data["Farm"], path.resolve().parent, report, f"{name} > Farm")
    farm = {
        "doc": f"Converted from {name} of Farm-Gym.",
        "fields": {f"Field-{i}": field for i, field in enumerate(fields)},
        "farmers": farmers,
        "mode": _MODES[data["interaction_mode"]],
    }
    at_home = deepcopy(farm)
    anchor(at_home, path.resolve().parent)
    spec = validate(FarmSpec, at_home, name)
    with locate_errors(f"{name} > Farm: "):
        names = FarmNames(spec.fields, [f"BasicFarmer-{i}" for i in range(len(farmers))])
    start = _read_side_file(path, data, "initialization") or write_missing_start(names)
    actions = _read_side_file(path, data, "actions") or write_missing_actions(names)
    score = _read_side_file(path, data, "score") or read_terms()["missing"]["score"]
    label = {key: _locate(path, data, key).name for key in ("initialization", "actions", "score")}
    rules = convert_start(start, names, report, label["initialization"])
    rules |= convert_actions(actions, names, report, label["actions"])
    scoring = convert_score(score, rules["interventions"], names, report, label["score"])
    return farm | {"rules": rules, "scoring": scoring}, report


def _locate(path: Path, data: Mapping[str, Any], key: str) -> Path:
    """Return the path of a file next to the farm file: its own name, and the ending that the entry `key` gives."""
    if not isinstance(data[key], str) or "/" in data[key] or "\\" in data[key]:
        raise ConfigError(f"{path.name} > {key}: expected the ending of a file's name, got {data[key]!r}; try "
                          f"{key[:4]}.yaml")  # fmt: skip
    return path.with_name(f"{path.stem}_{data[key]}")


def _read_side_file(path: Path, data: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return the content of a file next to the farm file; None if it is missing."""
    file = _locate(path, data, key)
    return read_mapping(yaml_io.read_file(file), file.name) if file.exists() else None


def find_farm_file(given: Path) -> Path:
    """Return the farm file of Farm-Gym at a path: the file itself, or the only one in a folder.

    Raises:
        ConfigError: if there is none, or more than one.
    """
    if given.is_file() and is_farm_gym(given):
        return given
    if not given.is_dir():
        raise ConfigError(f"{given}: expected a folder or a farm file of Farm-Gym, with a key Farm, got neither")
    found = sorted(path for path in given.glob("*.yaml") if is_farm_gym(path))
    if len(found) != 1:
        which = f"; try one of {', '.join(str(path) for path in found)}" if found else ""
        raise ConfigError(f"{given}: expected one farm file of Farm-Gym, with a key Farm, got {len(found)}{which}")
    return found[0]
