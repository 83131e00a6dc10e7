"""The list of studies: each has a command, a page in the docs, and the same first arguments."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import studies
from experiments.make_studies import PAGES
from experiments.studies.__main__ import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.tables import Table
from harvestgym.sweep.batches import EngineOptions
from tests.load_script import ROOT


def test_the_command_names_every_study() -> None:
    help_text = CliRunner().invoke(app, ["--help"]).output
    assert all(name in help_text for name in studies.list_studies())


def test_every_study_has_its_place_in_the_docs() -> None:
    """A table and a figure, which one tool makes; that the figure is there is asked of all links of the docs."""
    assert set(PAGES) == set(studies.list_studies())
    for name, page in (*PAGES.items(), ("calibration", "calibration.md")):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        [block] = re.findall(f"<!-- {name} -->(.*?)<!-- end {name} -->", text, re.DOTALL)
        assert "| --- |" in block and re.search(f"[(/]pictures/study-{name}(-[a-z]+)?\\.png\\)", text), name


def test_a_mistake_is_printed_in_one_line() -> None:
    for args, words in (
        (("wattering",), "No such command 'wattering'"),
        (("card", "--out", "pyproject.toml"), "--out: expected a folder, got the file pyproject.toml"),
    ):
        done = CliRunner().invoke(app, [*args])
        assert done.exit_code == 2 and words in done.output and "Traceback" not in done.output


def test_jobs_are_the_threads_that_a_study_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA makes as many as this variable says when it starts, which is after the command has set it."""
    given: list[str] = []

    def run(**_: object) -> Table:
        given.append(os.environ["NPROC"])
        return Table("nothing", ("a",), [("1",)])

    monkeypatch.setenv("NPROC", "9")
    monkeypatch.setattr(studies, "load_study", lambda name: run)
    assert CliRunner().invoke(app, ["risk", "--jobs", "3"]).exit_code == 0
    assert given == ["3"]


def test_further_arguments_of_a_study_are_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def run(out: object, progress: object, side: int = 1, days: tuple[int, ...] = ()) -> Table:
        given.update(side=side, days=days)
        return Table("nothing", ("a",), [("1",)])

    monkeypatch.setattr(studies, "load_study", lambda name: run)
    assert CliRunner().invoke(app, ["risk", "--set", "side=3", "--set", "days=[1, 2]"]).exit_code == 0
    assert given == {"side": 3, "days": [1, 2]}
    for argument, words in (("syde=3", "expected a known argument, got 'syde'; try 'side'"), ("side", "NAME=VALUE")):
        done = CliRunner().invoke(app, ["risk", "--set", argument])
        assert done.exit_code == 2 and words in done.output


def test_a_study_of_cases_takes_a_place_and_another_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: dict[str, object] = {}

    def run(out: object, progress: object, work: object = None, options: object = None) -> Table:
        given.update(work=work, options=options)
        return Table("nothing", ("a",), [("1",)])

    monkeypatch.setattr(studies, "load_study", lambda name: run)
    assert CliRunner().invoke(app, ["card", "--work", str(tmp_path)]).exit_code == 0
    assert given == {"work": tmp_path, "options": EngineOptions()}
    monkeypatch.setattr(studies, "load_study", lambda name: lambda out, progress: None)
    done = CliRunner().invoke(app, ["risk", "--engine", "ray"])
    assert done.exit_code == 2 and "risk: expected no --work or --engine" in done.output


@pytest.mark.parametrize("name", studies.list_studies())
def test_every_study_takes_replicates_a_folder_and_progress(name: str) -> None:
    """These are given by the command; all further arguments have defaults."""
    arguments = inspect.signature(studies.load_study(name)).parameters
    assert list(arguments)[:3] == ["replicates", "out", "progress"]
    assert all(argument.default is not inspect.Parameter.empty for argument in arguments.values())
    assert isinstance(arguments["replicates"].default, int) and arguments["out"].default is None
    assert isinstance(arguments["seed"].default, int)


def test_a_study_runs_on_the_seed_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--seed`, a study has its own."""
    given: list[object] = []

    def run(seed: int = 7, **_: object) -> Table:
        given.append(seed)
        return Table("nothing", ("a",), [("1",)])

    monkeypatch.setattr(studies, "load_study", lambda name: run)
    for options in ([], ["--seed", "3"]):
        assert CliRunner().invoke(app, ["risk", *options]).exit_code == 0
    assert given == [7, 3]


def test_another_seed_is_another_sample() -> None:
    run = studies.load_study("risk")
    tables = [run(replicates=20, sigmas=(0.05,), escapements=(0.6, 0.7), seed=seed) for seed in (1, 1, 2)]
    assert tables[0] == tables[1] != tables[2]


def test_an_unknown_study_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="study: expected a known name, got 'wattering'; try 'watering'"):
        studies.load_study("wattering")
