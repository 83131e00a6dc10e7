"""The commands of sweeps, as a user calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.sweep.result_folder import read

FILE = """
ids: [fishing/logistic-v0]
overrides: {growth: {r: [0.2, 0.3]}}
policies: [msy, closed]
episodes: 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sweep.yaml"
    path.write_text(FILE)
    return path


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["sweep", *map(str, arguments)])
    return done.exit_code, done.output


def test_a_sweep_runs_once_and_prints_a_summary(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, text = run("run", file, "--out", out)
    assert code == 0 and "4 cases run, 0 found" in text and "return (95 %)" in text and "minus first" in text
    assert " growth " in text and " r " not in text and {"growth", "r"} < set(read(out).column_names)
    assert (out / "summary.png").stat().st_size > 1000
    assert read(out).num_rows == 4 * 5
    code, text = run("run", "--out", out, file)
    assert code == 0 and "0 cases run, 4 found" in text
    assert run("status", out) == (0, "4 of 4 cases done, 0 failed, 0 missing\n")


def test_a_dry_run_counts_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    code, text = run("run", file, "--out", tmp_path / "out", "--dry-run")
    assert code == 0 and "4 cases, 20 episodes, 2 groups, 2 batches, 1 compilations" in text
    assert "0 of 4 cases are done" in text and not (tmp_path / "out").exists()


def test_failures_are_listed(file: Path, tmp_path: Path) -> None:
    file.write_text(FILE.replace("[msy, closed]", "[msy, mzy]"))
    code, text = run("run", file, "--out", tmp_path)
    assert code == 1 and "2 cases run, 0 found" in text and "2 failed" in text
    assert "failed: id fishing/logistic-v0, policy mzy, seed 0, r 0.2" in text and "try 'msy'" in text
    code, text = run("status", tmp_path)
    assert code == 1 and "2 of 4 cases done, 2 failed, 0 missing" in text and "try 'msy'" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "sweep.yaml"], "--out: expected a folder, got none; try --out results, or --dry-run"),
        (["run", "gone.yaml", "--out", "out"], "expected a file, got none"),
        (["status", "nowhere"], "expected the folder of a sweep"),
        (["run", "sweep.yaml", "--out", "out", "--engine", "rai"], "got 'rai'; try 'ray'"),
    ],
)
def test_mistakes_are_one_line(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, text = run(*arguments)
    assert code == 2 and words in text and text.count("\n") == 1
