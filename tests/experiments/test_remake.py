"""The steps that make the published numbers: their commands exist, and every result and picture has a step."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from experiments import remake
from experiments.remake import ROOT, Step, read_steps
from tests.long_form import long

STEPS = read_steps()
LOGIC, PICTURE = "harvestgym.fishing.model", "harvestgym.fishing.view.scene"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty clone, in which a step can write a file."""
    (tmp_path / "experiments").mkdir()
    monkeypatch.setattr(remake, "ROOT", tmp_path)
    monkeypatch.setattr(remake, "MADE", tmp_path / "made.json")
    return tmp_path


def make_step(**entries: object) -> Step:
    given = {
        "name": "sum",
        "shows": "a sum",
        "run": ["-c 'print(1 + 1)' > sum.txt"],
        "writes": ["sum.txt"],
        "minutes": 1,
    }
    return Step(**given | {"families": [], "reads": ["numbers.txt"]} | entries)


def test_every_program_of_a_step_is_a_module_and_every_result_exists() -> None:
    programs = {name for step in STEPS for name in map(remake.find_program, step.run) if name}
    assert programs - set(remake.TREE.modules) == set()
    assert {name for step in STEPS for name in step.uses} - set(remake.TREE.modules) == set()
    patterns = [name for step in STEPS for name in (*step.reads, *step.writes)]
    assert [name for name in patterns if not remake.find_files([name])] == []


def test_the_variables_in_commands_are_those_that_a_step_needs() -> None:
    for step in STEPS:
        used = {word for command in step.run for word in remake.VARIABLE.findall(command)}
        assert used == set(step.needs), step.name


def test_no_number_or_picture_is_without_its_step() -> None:
    kept = [
        *(ROOT / "experiments" / "results").rglob("*.*"),
        *(ROOT / "docs" / "pictures").iterdir(),
        *(ROOT / "docs" / "training").iterdir(),
    ]
    names = {path.relative_to(ROOT).as_posix() for path in kept if path != remake.MADE}
    patterns = [pattern for step in STEPS for pattern in step.writes]
    assert {name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)} == set()


def test_every_block_that_programs_write_on_a_page_has_its_step() -> None:
    written = {name for step in STEPS for name in step.writes}
    pages = [page for page in (ROOT / "docs").glob("*.md") if "<!-- end " in page.read_text(encoding="utf-8")]
    assert pages and {f"docs/{page.name}" for page in pages} - written == set()


def test_a_step_is_made_once_and_again_when_a_file_or_a_command_changes(clone: Path) -> None:
    step = make_step()
    assert step.state(remake.read_made()) == "missing"
    remake.make_all([step], chosen=False)
    assert (clone / "sum.txt").read_text() == "2\n" and step.state(remake.read_made()) == "fresh"
    (clone / "sum.txt").write_text("kept")
    remake.make_all([step], chosen=False)
    assert (clone / "sum.txt").read_text() == "kept"
    (clone / "numbers.txt").write_text("1")
    assert step.state(remake.read_made()) == "stale: files"
    remake.make_all([step], chosen=False)
    assert (clone / "sum.txt").read_text() == "2\n"
    assert make_step(run=["-c 'print(3)' > sum.txt"]).state(remake.read_made()) == "stale: commands"
    assert make_step(name="other").state(remake.read_made()) == "unknown"


def test_the_others_are_made_when_a_step_fails(clone: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = make_step(name="bad", run=["-c 'raise SystemExit(1)'"], writes=["bad.txt"])
    away = make_step(name="away", needs={"NOWHERE": "a clone of something"}, writes=["away.txt"])
    prints = make_step(name="prints", writes=[])
    with pytest.raises(SystemExit, match="^failed: bad$"):
        remake.make_all([bad, away, prints, make_step()], chosen=False)
    assert set(remake.read_made()) == {"sum"}
    assert "away: left out; set NOWHERE: a clone of something" in capfd.readouterr().out
    remake.print_list([bad, away, make_step()], details=False)
    assert "2 of 3 steps to make: 0.0 hours" in capfd.readouterr().out


def test_the_code_of_a_step_is_what_it_imports_without_what_only_draws() -> None:
    steps = {step.name: step for step in STEPS}
    commons = steps["commons"].modules
    assert {LOGIC, "experiments.commons"} <= commons and PICTURE not in commons
    assert not [name for name in commons if name.startswith("harvestgym.farm")]
    assert {LOGIC, PICTURE, "tools.make_pictures"} <= steps["pictures"].modules
    assert "examples.ppo" in steps["held-out-stocks"].modules, "an example that is named in a string"
    assert "harvestgym.farm.engine.field_day" in steps["study-watering"].modules


def test_comments_and_docstrings_are_not_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = []
    for text in ('"""One."""\nx = 1\n', '"""Two."""\n\nx = 1\n# a comment\n', "x = 2\n"):
        (tmp_path / "part.py").write_text(text)
        monkeypatch.setitem(remake.TREE.paths, "part", tmp_path / "part.py")
        remake.hash_code.cache_clear()
        hashes.append(remake.hash_code("part"))
    assert hashes[0] == hashes[1] != hashes[2]


def test_an_unknown_name_is_an_error_with_the_names() -> None:
    with pytest.raises(SystemExit, match="expected the name or a result of a step, got 'wat'.*\n  tuned-rules"):
        remake.main(["--list", "--only", "wat"])


@long
@pytest.mark.parametrize("program", sorted({remake.find_program(c) for step in STEPS for c in step.run} - {""}))
def test_a_program_answers_for_help(program: str) -> None:
    """Those without options are not run: they would begin to work."""
    source = remake.TREE.paths[program].read_text(encoding="utf-8")
    if not any(reader in source for reader in ("argparse", "typer")):
        pytest.skip("it has no options")
    done = subprocess.run([sys.executable, "-m", program, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
