"""User-written farm files: read from a path, with the files next to them; their schema for editors."""

from __future__ import annotations

import datetime
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core import yaml_io
from harvestgym.core.config import read_extended
from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.weather.site import FOLDER
from harvestgym.farm.family import CATALOGUE, from_yaml
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from harvestgym.farm.schema import json_schema
from tests.long_form import long

ID = "farm/bean-1x1-v0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a farm file, the file that it extends and a weather table."""
    shutil.copy(CATALOGUE / "one-plot.yaml", tmp_path / "base.yaml")
    text = (CATALOGUE / "bean-1x1-v0.yaml").read_text(encoding="utf-8")
    own = text.replace("extends: one-plot", "extends: base").replace(
        "[Weather, seattle]", "[Weather, {table: mine.csv}]"
    )
    (tmp_path / "my-farm.yaml").write_text(own, encoding="utf-8")
    shutil.copy(FOLDER / "seattle.csv", tmp_path / "mine.csv")
    return tmp_path


def test_a_file_is_the_farm_that_it_says(folder: Path) -> None:
    """The days of the catalogue, from a copy of its table next to the file and not in the working directory."""
    mine, theirs = from_yaml(folder / "my-farm.yaml"), harvestgym.make(ID)
    assert mine == theirs, "the same structure"
    days = [env.params.fields[0].entities[0].sky.days for env in (mine, theirs)]  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(*days)


def test_a_file_may_extend_a_registered_id_in_other_spellings(folder: Path) -> None:
    """Its own entries replace those of the id, also in another spelling."""
    path = folder / "mine.yaml"
    text = "extends: farm/bean-1x1-v0\nrules: {horizon: 50, init: {field-0: {weather-0: {day: 2024-05-01}}}}\n"
    path.write_text(text + "scoring: {intervention_costs: {Field-0: {Plant-0: {harvesting: 0.5}}}}\n")
    mine, theirs = (read_any_farm(each) for each in (path, CATALOGUE / "bean-1x1-v0.yaml"))
    assert mine.fields == theirs.fields and mine.expert == theirs.expert
    assert mine.rules.horizon == 50 and mine.scoring.intervention_costs == {"Field-0": {"Plant-0": {"harvest": 0.5}}}
    (day,) = mine.rules.init["Field-0"]["Weather-0"].values()
    assert day == [datetime.date(2024, 5, 1)] and theirs.rules.init["Field-0"]["Weather-0"].keys() == {"day#int365"}


@pytest.mark.parametrize(("base", "own"), [("yield", "harvest"), ("harvest", "yield"), ("stage", "stage")])
def test_both_names_of_a_weight_are_one_entry(folder: Path, base: str, own: str) -> None:
    (folder / "first.yaml").write_text(f"extends: farm/bean-1x1-v0\nscoring: {{{base}: 0.75}}\n")
    (folder / "second.yaml").write_text(f"extends: first\nscoring: {{{own}: 0.25}}\n")
    (weight,) = {own, base} - {"yield"}
    assert getattr(read_any_farm(folder / "second.yaml").scoring, weight) == 0.25


@pytest.mark.parametrize("id", ["fishing/logistic-v0", "forager/flowers-v0"])
def test_files_of_other_families_may_extend_an_id(folder: Path, id: str) -> None:
    path, family = folder / "mine.yaml", id.partition("/")[0]
    path.write_text(f"extends: {id}\ndoc: mine\n")
    assert harvestgym.spec(str(path)).family == family
    what = {"fishing": "fishery"}.get(family, family)
    assert read_extended(path, what) == yaml_io.read_file(registry.locate_file(id)) | {"doc": "mine"}


def test_a_path_stands_wherever_an_id_does(folder: Path) -> None:
    path = str(folder / "my-farm.yaml")
    env = harvestgym.make(path, entities={"Soil-0": "sand"})
    sand = harvestgym.make("farm/bean-1x1-v0", soil="sand")
    for a, b in zip(*(jax.tree.leaves(e.params.fields[0].entities[1]) for e in (env, sand)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert harvestgym.make_vec(path, 2).num_envs == 2
    again = harvestgym.EnvSpec(**json.loads(json.dumps(asdict(harvestgym.spec(path)))))
    assert again.make() == env


@long  # tests/cli runs files of all families
def test_the_command_line_runs_a_file(folder: Path) -> None:
    path = str(folder / "my-farm.yaml")
    numbers = json.loads(run_command("run", path, "--policy", "expert", "--episodes", "2", "--json"))
    assert numbers["id"] == path and numbers["return"]["mean"] > 0
    assert "watering_discrete" in run_command("show", path, "actions")
    assert not list(folder.glob("*.png")), "nothing is written that was not asked for"


def test_show_explains_the_codes_of_labels() -> None:
    assert "0 none, 1 seed, 2 grow" in run_command("show", ID, "observations")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("absent.yaml", None, "absent.yaml: expected a file, got none"),
        ("my.yaml", "fields: [1]", "my.yaml: 1 mistake\n  fields: expected a mapping {name: value}, got [1]"),
        ("my.yaml", "extends: [base]", "my.yaml > extends: expected a known farm, got ['base']; try 'base'"),
        ("my.yaml", "extends: bse", "my.yaml > extends: expected a known farm, got 'bse'; try 'base'"),
        (
            "my.yaml",
            "extends: farm/bean-1x1-v9",
            "my.yaml > extends: expected a known farm, got 'farm/bean-1x1-v9'",
        ),
        ("my.yaml", "expert: []", "fields: expected a value, got nothing"),
    ],
)
def test_a_file_with_a_mistake_is_refused(folder: Path, name: str, text: str | None, words: str) -> None:
    if text is not None:
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        from_yaml(folder / name)
    assert words in str(error.value)
    result = CliRunner().invoke(app, ["run", str(folder / name)])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output


def test_a_table_that_is_not_there_is_named(folder: Path) -> None:
    (folder / "mine.csv").unlink()
    with pytest.raises(ConfigError, match="mine.csv: expected a file, got none"):
        from_yaml(folder / "my-farm.yaml")


def test_the_schema_knows_every_farm_of_the_catalogue() -> None:
    """An editor with this schema finds nothing wrong with our own files, whole or as they extend one another."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(run_command("schema"))
    assert schema == json_schema()
    for path in CATALOGUE.glob("*.yaml"):
        jsonschema.validate(yaml_io.read_file(path), schema)
    for path in CATALOGUE.glob("*-v*.yaml"):
        jsonschema.validate(json.loads(read_any_farm(path).model_dump_json(by_alias=True)), schema)
    with pytest.raises(jsonschema.ValidationError, match="horizn"):
        jsonschema.validate({"rules": {"horizn#day": 3}}, schema)


def run_command(*args: Any) -> str:
    result = CliRunner().invoke(app, [*args])
    assert result.exit_code == 0, result.output
    return result.output
