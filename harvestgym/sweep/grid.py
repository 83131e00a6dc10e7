"""The sweep file: lists of ids, overrides, policies and seeds whose combinations are cases, and additional cases.

::

    ids: [farm/bean-1x1-v0]
    overrides:
      soil depth: {entities/Soil-0/depth#m: [0.4, 0.8]}   # a name, and the path of the override
      season: {long: {}, short: {rules/horizon#day: 90}}  # or a name, and the overrides of each named value
      mode: [fo, po]                                      # or the path alone
    policies: [expert, my_policy.py:make]
    seeds: [0, 1]
    episodes: 50
    cases: [{id: fishing/logistic-v0, policy: msy}]
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from harvestgym.core.config import Strict, merge, validate
from harvestgym.core.errors import mismatch, require
from harvestgym.core.yaml_io import read_file
from harvestgym.registry import FAMILIES, ids, spec

from .cases import ROW_COLUMNS, EpisodeCase, flatten_labels, resolve_name

ENTITIES = "entities"
"""The keyword of `make` whose keys are paths."""

Values = Annotated[list[Any], Field(min_length=1)]
"""The values of an override; an empty list would give a grid without cases."""


class SeedRange(Strict):
    """Consecutive seeds."""

    first: int
    count: int = Field(ge=1)


class SweepFile(Strict):
    """The entries of a sweep file."""

    doc: str = ""
    ids: list[str] = Field(default=[], description="ids, families, or paths of your own files")
    overrides: dict[str, Values | dict[str, Values] | dict[str, dict[str, Any]]] = {}
    policies: list[str] = Field(default=["expert"], min_length=1)
    seeds: Annotated[list[int], Field(min_length=1)] | SeedRange = [0]
    episodes: int = Field(default=100, ge=1)
    split: Literal["train", "test"] | None = None
    cases: list[dict[str, Any]] = Field(default=[], description="additional cases, by the fields of an EpisodeCase")


def read_sweep_file(path: str | Path, allow: Sequence[str] = ()) -> list[EpisodeCase]:
    """Read the cases from a YAML file; ConfigError lists every mistake.

    The file may only name policies in the modules `allow`, because its author would otherwise choose the code that
    runs.
    """
    found = expand(read_file(Path(path)), str(path), Path(path).parent)
    known = {str(Path(name).resolve()) for name in allow}
    for case in found:
        module = case.policy.rpartition(":")[0]
        if module and str(Path(module).resolve()) not in known:
            hint = f"allow=[{module!r}], or --allow {module}, if you trust its code"
            raise mismatch(f"{path} > policies", "a module that you allow", repr(case.policy), hint)
        if "allow" in case.overrides:
            raise mismatch(f"{path} > overrides", "no `allow`, which only the caller can give", "one")
    return found


def expand(data: Any, where: str = "sweep", folder: Path = Path()) -> list[EpisodeCase]:
    """Make the cases of a sweep from the data of its file.

    Args:
        data: the entries, as read from YAML.
        where: the name of the file, for errors.
        folder: folder to which paths of ids and policies are relative.

    Raises:
        ConfigError: if an entry is wrong (every mistake is listed), an id is unknown, or a list is empty.
    """
    file = validate(SweepFile, data, where)
    require(file.ids or file.cases, f"{where} > ids or cases", "at least one entry", "none")
    axes = [_make_axis(name, values, f"{where} > overrides > {name}") for name, values in file.overrides.items()]
    changes = [reduce(merge, chosen, {}) for chosen in itertools.product(*axes)]
    named = {name: values for name, values in file.overrides.items() if isinstance(values, dict)}
    groups = {name: _list_paths(name, values, f"{where} > overrides") for name, values in named.items()}

    def make_case(data: dict[str, Any], where: str) -> EpisodeCase:
        return validate(EpisodeCase, {"episodes": file.episodes, "split": file.split} | data, where)

    given = file.seeds
    seeds = given if isinstance(given, list) else range(given.first, given.first + given.count)
    policies = [resolve_name(policy, folder) for policy in file.policies]
    grid = itertools.product(_expand_ids(file.ids, folder), changes, policies, seeds)
    found = [
        make_case({"id": id, "policy": policy, "seed": seed, "groups": groups} | over, where)
        for id, over, policy, seed in grid
    ]
    for i, given in enumerate(file.cases):
        case = make_case(given, f"{where} > cases > {i}")
        policy = resolve_name(case.policy, folder)
        found += [case.model_copy(update={"id": id, "policy": policy}) for id in _expand_ids([case.id], folder)]
    return list(dict.fromkeys(found))


def _expand_ids(names: Sequence[str], folder: Path) -> list[str]:
    """Replace families with their ids, and resolve paths relative to a folder; raise ConfigError for an unknown id."""
    found = [id for name in names for id in (ids(name) if name in FAMILIES else [resolve_name(name, folder)])]
    return [id for id in found if spec(id)]


def _make_axis(name: str, values: Any, where: str) -> list[dict[str, Any]]:
    """Make the fields of a case for each of the values given under a path or a name."""
    if isinstance(values, list):
        return [{"overrides": nest_path(name, value)} for value in values]
    rows = [(label, itertools.starmap(nest_path, row.items())) for label, row in _list_rows(values, where)]
    return [{"overrides": reduce(merge, row, {}), "chosen": {name: label} if label else {}} for label, row in rows]


def _list_rows(values: Mapping[str, Any], where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the name of each value given under a name, empty for values in lists, and its overrides by path."""
    if all(isinstance(value, dict) for value in values.values()):
        return list(values.items())
    lengths = {path: len(of_path) for path, of_path in values.items()}
    require(len(set(lengths.values())) <= 1, where, "lists of the same length, combined entry by entry", lengths)
    return [("", dict(zip(values, row, strict=True))) for row in zip(*values.values(), strict=True)]


def _list_paths(name: str, values: Mapping[str, Any], where: str) -> list[str]:
    """Return the labels of the overrides that are given under a name; ConfigError if the name is already a column."""
    taken = {*EpisodeCase.model_fields, *ROW_COLUMNS}
    require(name not in taken, where, "a name that is not a column of the results", repr(name))
    changes = [nest_path(path, value) for _, row in _list_rows(values, where) for path, value in row.items()]
    return list(dict.fromkeys(label for change in changes for label, _ in flatten_labels(change)))


def nest_path(path: str, value: Any) -> dict[str, Any]:
    """Return the keyword arguments of `make` that set `value` at a path (`rules/horizon#day`, `entities/Soil-0`)."""
    first, *rest = path.split("/", 1)
    keys = [first, *(rest if first == ENTITIES else rest[0].split("/") if rest else [])]
    return reduce(lambda inside, key: {key: inside}, reversed(keys), value)
