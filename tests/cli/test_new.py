"""`harvestgym new`: the files work as they are, and none is overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym.cli import app
from harvestgym.cli.new import write_copy
from harvestgym.evaluate.run import evaluate_id
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from tests.long_form import long

runner = CliRunner()


@long
def test_new_entity_passes_its_own_test(tmp_path: Path) -> None:
    result = runner.invoke(app, ["new", "entity", "green-manure", "--folder", str(tmp_path / "mine")])
    assert result.exit_code == 0, result.output
    made = sorted(path.name for path in (tmp_path / "mine").iterdir())
    assert made == ["green_manure.py", "green_manure.yaml", "test_green_manure.py"]
    assert all(name in result.output for name in made)
    program = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "mine")]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", str(tmp_path / "mine")]
    assert subprocess.run(lint, capture_output=True, check=False).returncode == 0


def test_new_entity_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mulch.yaml").write_text("mine", encoding="utf-8")
    result = runner.invoke(app, ["new", "entity", "Mulch", "--folder", str(tmp_path)])
    assert result.exit_code == 2 and "mulch.yaml: expected new files" in result.output.replace("\n", "")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["mine"]


def test_new_farm_equals_the_catalogue_farm(tmp_path: Path) -> None:
    catalogue = Path(harvestgym.__file__).parent / "farm" / "catalogue"
    for id in harvestgym.ids("farm"):
        path = write_copy(tmp_path / f"{id.partition('/')[2]}.yaml", "farm", id)
        made, there = read_any_farm(path), read_any_farm(catalogue / path.name)
        assert made == there.model_copy(update={"history": made.history, "expert": made.expert}), id
        assert "extends" not in path.read_text(encoding="utf-8").partition("fields:")[0]


@pytest.mark.parametrize(
    ("what", "id"), [("farm", "farm/corn-1x1-v0"), ("fishery", "fishing/ricker-v0"), ("forager", "forager/flowers-v0")]
)
def test_a_copy_has_the_tuned_expert(what: str, id: str, tmp_path: Path) -> None:
    path = write_copy(tmp_path / "mine.yaml", what, id)
    made: list[Any] = [harvestgym.make(str(path)), harvestgym.make(id)]
    mine, theirs = (env.spec.expert if what == "farm" else (env.expert.rule, env.expert.numbers) for env in made)
    assert mine == theirs


def test_the_expert_of_a_copied_farm_has_the_same_returns(tmp_path: Path) -> None:
    path = write_copy(tmp_path / "mine.yaml", "farm", "farm/corn-1x1-v0")
    mine, theirs = (evaluate_id(id, "expert", 3, seed=7).returns for id in (str(path), "farm/corn-1x1-v0"))
    np.testing.assert_array_equal(mine, theirs)


@long
@pytest.mark.parametrize(("what", "family"), [("fishery", "fishing"), ("forager", "forager")])
def test_new_fisheries_and_foragers_equal_those_of_the_catalogue(what: str, family: str, tmp_path: Path) -> None:
    for id in harvestgym.ids(family):
        path = tmp_path / f"{id.partition('/')[2]}.yaml"
        result = runner.invoke(app, ["new", what, str(path), "--like", id])
        assert result.exit_code == 0, result.output
        assert harvestgym.spec(str(path)).family == family
        made, there = harvestgym.make(str(path)), harvestgym.make(id)
        assert made == there
        for mine, theirs in zip(jax.tree.leaves(made.params), jax.tree.leaves(there.params), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert runner.invoke(app, ["new", what, str(path)]).exit_code == 2


def test_a_new_forager_can_be_a_copy_of_a_truncated_twin(tmp_path: Path) -> None:
    path = write_copy(tmp_path / "short.yaml", "forager", "forager/weather-5000-v0")
    assert harvestgym.make(str(path)).horizon == 5000  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore:my-fishery > expert")
def test_a_fishery_of_your_own_runs(tmp_path: Path) -> None:
    path = tmp_path / "my-fishery.yaml"
    runner.invoke(app, ["new", "fishery", str(path)])
    path.write_text(path.read_text(encoding="utf-8").replace("r: 0.3", "r: 0.5"), encoding="utf-8")
    result = runner.invoke(app, ["run", str(path), "--policy", "closed", "--episodes", "2"])
    assert result.exit_code == 0 and "mean catch per year" in result.output, result.output
    assert harvestgym.make(str(path)).params.law.r == np.float32(0.5)
    path.write_text("law: {kind: rickr}\n", encoding="utf-8")
    result = runner.invoke(app, ["run", str(path)])
    assert result.exit_code == 2 and "'ricker'" in result.output


def test_new_farm_can_be_changed_and_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "my-farm.yaml"
    result = runner.invoke(app, ["new", "farm", str(path)])
    assert result.exit_code == 0 and "harvestgym run" in result.output
    text = path.read_text(encoding="utf-8").replace("[Soil, clay]", "[Soil, sand]")
    path.write_text(text, encoding="utf-8")
    sand = read_any_farm(path).fields["Field-0"].entities
    assert [list(entity) for entity in sand] == [["Weather", "seattle"], ["Soil", "sand"], ["Plant", "bean"]]
    assert runner.invoke(app, ["new", "farm", str(path)]).exit_code == 2
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("my-farm",), "expected a file name ending in .yaml or .yml, got no suffix"),
        (("nowhere/my-farm.yaml",), "try creating nowhere first"),
        (("my-farm.yaml", "--like", "farm/been-clay-1x1-v1"), "try 'farm/bean-1x1-v0'"),
        (("my-farm.yaml", "--like", "fishing/logistic-v0"), "farm: expected a known name, got 'fishing/logistic-v0'"),
    ],
)
def test_new_farm_with_wrong_arguments_is_refused_in_one_line(
    args: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["new", "farm", *args])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Soil", "expected a new kind, got the existing kind Soil"),
        ("Random", "got Python's module 'random'"),
        ("numpy", "got Python's module 'numpy'"),
        ("class", "expected letters and digits, got"),
        ("../mulch", "expected letters and digits, got"),
        ("", "expected letters and digits, got"),
        ("Dürre", "expected letters and digits, got"),
    ],
)
def test_new_entity_with_wrong_name_is_refused_in_one_line(name: str, words: str, tmp_path: Path) -> None:
    result = runner.invoke(app, ["new", "entity", "--folder", str(tmp_path), "--", name])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output
    assert not list(tmp_path.iterdir())
