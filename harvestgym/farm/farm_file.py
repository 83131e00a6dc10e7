"""Reading farm files: merging a file into the one that it extends, resolving file paths, expanding presets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harvestgym.core.config import read_extended
from harvestgym.core.errors import check_keywords, check_name

from .public_names import KINDS
from .schema import RulesSpec, ScoreSpec
from .spelling import merge_farms


def read_farm_data(path: Path) -> dict[str, Any]:
    """Read the entries of a farm file, merged into the entries of the file or id that it `extends:`."""
    data = read_extended(path, "farm", merge_farms)
    anchor(data, path.resolve().parent)
    return data


def expand_presets(presets: Mapping[str, Any], given: Mapping[str, Any], valid: Iterable[str]) -> dict[str, Any]:
    """Return arguments for `make`, with each preset keyword replaced by the arguments that it abbreviates.

    For example, a farm may define `soil="sand"` as `entities={"Soil-0": "sand"}`. Explicit arguments take precedence.

    Args:
        presets: the presets of the farm file.
        given: the arguments of `make`, by keyword.
        valid: the keywords that every farm accepts.
    """
    nested = {name: where for name, where in nested_keys().items() if name not in presets}
    check_keywords("make", given, (*valid, *presets), nested, length="horizon#day")
    meant: dict[str, Any] = {}
    for keyword in [name for name in presets if name in given]:
        check_name(keyword, given[keyword], presets[keyword])
        meant = merge_farms(meant, presets[keyword][given[keyword]])
    return merge_farms(meant, {name: value for name, value in given.items() if name not in presets})


def nested_keys() -> dict[str, tuple[str, str]]:
    """Return, for each kind of entity, and each key of the rules and the score, its place in the farm file."""
    kinds = {kind.casefold(): ("entities", f"{kind}-0") for kind in KINDS}
    parts = (("rules", RulesSpec), ("scoring", ScoreSpec))
    found = [(part, n, f.alias or n) for part, spec in parts for n, f in spec.model_fields.items()]
    return kinds | {spelling: (part, key) for part, name, key in found for spelling in (name, key)}


def anchor(data: Any, folder: Path, reader: Path | None = None) -> None:
    """Resolve every file path in `data` relative to `folder`: a table, a site's file, or the file of a class.

    With `reader`, the folder of a new file, the paths are written relative to it, so that the files can move together.
    """
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, (dict, list)):
            anchor(value, folder, reader)
        elif isinstance(value, str) and _is_path(key, value, folder):
            path = folder / value
            data[key] = str(path) if reader is None else Path(os.path.relpath(path, reader)).as_posix()


def _is_path(key: Any, value: str, folder: Path) -> bool:
    """Return whether an entry is a path; the file of a class that is not in `folder` stays relative to the process."""
    if key in (0, "kind"):
        return ".py:" in value and (folder / value.rpartition(":")[0]).is_file()
    return key == "table" or (key == "site" and value.endswith(".yaml"))
