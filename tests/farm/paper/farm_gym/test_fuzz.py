"""Damaged files in Farm-Gym's formats: a farm or a ConfigError, never another error."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from harvestgym.core.errors import ConfigError
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.components import compile_field
from harvestgym.farm.paper.farm_gym import conversion
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from harvestgym.farm.schema import FieldSpec
from tests.farm.paper.farm_gym.folders import FARM, SIDE_FILES, write_folder
from tests.long_form import ALL

WRONG: list[Any] = [
    None, True, 0, -1, 7, 1.5, 1e300, float("nan"), float("inf"), 10**30, "", "*", "x", "bean", "(0, 1)", "(5, 1)",
    "(9, 9)", "(a, b)", "('", "Field-0", "Plant-0", "stage", "entered_dead", "Weather-0", [], {}, [[]], [None], ["*"],
    ["(0, 0)"], [1, "two"], {"*": None}, {"each": [1]}, {1: 2}, {"value": 3}, "../x", "a.b > 3", "not in", [1, 2, 3, 4],
]  # fmt: skip


def list_places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in a tree with each of its keys."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], (dict, list)):
            yield from list_places(tree[key])


def damage(tree: Any, chance: random.Random) -> None:
    """Replace, remove, rename, add or swap one entry."""
    inside, key = chance.choice([*list_places(tree)])
    others = [*list_places(tree)]
    kind = chance.randrange(5)
    if kind == 0:
        inside[key] = chance.choice(WRONG)
    elif kind == 1:
        del inside[key]
    elif kind == 2 and isinstance(inside, dict):
        inside[chance.choice([f"{key}x", str(key)[:-1], 5, str(chance.choice(others)[1])])] = inside.pop(key)
    elif kind == 3 and isinstance(inside, list):
        inside.append(chance.choice([*WRONG, inside[key]]))
    else:
        there, at = chance.choice(others)
        inside[key] = yaml.safe_load(yaml.safe_dump(there[at]))


def read_damaged(folder: Path, seed: int) -> Any:
    """Return the farm in files with one to three mistakes, or the error."""
    chance = random.Random(seed)
    files = {"farm": FARM, **SIDE_FILES}
    for _ in range(chance.randint(1, 3)):
        name = chance.choice([*files])
        tree = yaml.safe_load(files[name])
        if isinstance(tree, dict) and tree:
            damage(tree, chance)
            files[name] = yaml.safe_dump(tree, allow_unicode=True)
    try:
        return read_any_farm(write_folder(folder, **files))
    except ConfigError as error:
        return error


def test_damaged_files_are_farms_or_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    def compile_once(field: FieldSpec) -> Any:
        key = field.model_dump_json()
        if key not in made:
            made[key] = compile_field(field)
        return made[key]

    monkeypatch.setattr(conversion, "compile_field", compile_once)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [read_damaged(tmp_path, seed) for seed in range(10_000 if ALL else 100)]
        errors = [error for error in found if isinstance(error, ConfigError)]
        assert 0.05 < len(errors) / len(found) < 0.95
        assert all(" > " in str(error) or ".yaml" in str(error) for error in errors)
        built = [spec for spec in found if not isinstance(spec, ConfigError)][: 200 if ALL else 2]
        for spec in built:
            try:
                build(spec)
            except ConfigError:
                continue
