"""`harvestgym new` writes files that pass as they are, and never over others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harvestgym.cli import app

runner = CliRunner()


def test_a_new_entity_passes_its_own_test_as_it_stands(tmp_path: Path) -> None:
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


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "mulch.yaml").write_text("mine", encoding="utf-8")
    result = runner.invoke(app, ["new", "entity", "Mulch", "--folder", str(tmp_path)])
    assert result.exit_code == 2 and "mulch.yaml: there already" in result.output.replace("\n", "")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Soil", "Soil is a kind of the package already"),
        ("Random", "Python has a module 'random' already"),
        ("numpy", "Python has a module 'numpy' already"),
        ("class", "wanted a name of letters and digits"),
        ("../mulch", "wanted a name of letters and digits"),
        ("", "wanted a name of letters and digits"),
        ("Dürre", "wanted a name of letters and digits"),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_a_line(name: str, words: str, tmp_path: Path) -> None:
    result = runner.invoke(app, ["new", "entity", "--folder", str(tmp_path), "--", name])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output
    assert not list(tmp_path.iterdir())
