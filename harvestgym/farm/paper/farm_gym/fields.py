"""The fields and farmers in Farm-Gym's farm file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harvestgym.farm.paper.farm_gym.file_models import FarmerLimits, FarmerPart, FieldPart
from harvestgym.farm.paper.farm_gym.names import read_terms
from harvestgym.farm.paper.farm_gym.report import Report


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
