"""The fields and farmers in Farm-Gym's farm file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harvestgym.core.config import validate
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.farm.paper.farm_gym.names import read_mapping, read_terms, require
from harvestgym.farm.paper.farm_gym.report import Report
from harvestgym.farm.public_names import KINDS
from harvestgym.farm.schema import FieldSpec

_LIMITS = ("max_daily_interventions", "max_daily_observations")


def read_parts(
    farm: Any, folder: Path, report: Report, where: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the fields and the farmers; each is known by its key, and numbered in order."""
    fields, farmers = [], []
    for name, part in read_mapping(farm, where).items():
        path = f"{where} > {name}"
        if "Field" in name:
            fields.append(_read_field(read_mapping(part, path), folder, report, path))
        elif "Farmer" in name:
            farmers += _read_farmer(read_mapping(part, path), report, path)
        else:
            report.lose(path, "is neither a field nor a farmer")
    return fields, farmers


def _read_field(part: Mapping[str, Any], folder: Path, report: Report, where: str) -> dict[str, Any]:
    require(part, ("localization", "shape", "entities"), where)
    for key in part.keys() - {"localization", "shape", "entities"}:
        report.lose(f"{where} > {key}")
    if not isinstance(part["entities"], list):
        raise ConfigError(f"{where} > entities: expected a list, got {part['entities']!r}")
    listed = [
        _read_entity(entity, folder, report, f"{where} > entities > {i}") for i, entity in enumerate(part["entities"])
    ]
    field = {"localization": part["localization"], "shape": part["shape"], "entities": listed}
    validate(FieldSpec, field, where)
    report.keep("fields")
    return field


def _read_entity(given: Any, folder: Path, report: Report, where: str) -> list[Any]:
    entity = read_mapping(given, where)
    if len(entity) != 1:
        raise ConfigError(f"{where}: expected one entry such as 'Soil: clay', got {given!r}")
    ((kind, which),) = entity.items()
    check_name("kind of entity", kind, KINDS, where)
    if not isinstance(which, str):
        raise ConfigError(f"{where}: expected the name of a set, got {which!r}")
    if kind == "Weather" and which in read_terms()["sets"]:
        which, lost = read_terms()["sets"][which]
        report.lose(where, f"{entity[kind]} is {which} here, without its {lost}")
    elif kind == "Weather" and (table := _find_table(folder, which)):
        report.change(where, f"the weather is the table {table.name}")
        return [kind, {"table": str(table.relative_to(folder))}]
    report.keep("entities")
    return [kind, which]


def _find_table(folder: Path, which: str) -> Path | None:
    """Return the weather table that a set names, in the folder of the farm or in its folder `weather_data`."""
    name = f"{which.removesuffix('.csv')}.csv"
    return next((path for path in (folder / name, folder / "weather_data" / name) if path.is_file()), None)


def _read_farmer(part: Mapping[str, Any], report: Report, where: str) -> Iterator[dict[str, Any]]:
    require(part, ("type",), where)
    if part["type"] != "basic":
        report.lose(where, f"only farmers of type basic exist, not {part['type']!r}")
        return
    require(part, ("parameters",), where)
    limits = read_mapping(part["parameters"], f"{where} > parameters")
    require(limits, _LIMITS, f"{where} > parameters")
    for key in limits.keys() - set(_LIMITS):
        report.lose(f"{where} > parameters > {key}")
    report.keep("farmers")
    yield {"kind": "BasicFarmer"} | {key: limits[key] for key in _LIMITS}
