"""The metadata of the package: types, extras and direct dependencies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

import harvestgym
from tests.long_form import long

from .load_script import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
APART = {"all", "dev", "docs", "gpu", "openenv", "test"}
"""Extras that `all` leaves out: itself, the tools of developers, a platform, and what needs a hundred packages."""


def test_the_package_is_typed() -> None:
    assert files("harvestgym").joinpath("py.typed").is_file()


def test_the_extra_all_has_every_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    (entry,) = extras["all"]
    assert set(re.findall(r"\w+", entry.partition("[")[2])) == set(extras) - APART


def test_the_citation_has_the_version_of_the_package() -> None:
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and sdist, without a network."""
    for tool in ("build", "hatchling"):
        pytest.importorskip(tool)
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)], cwd=folder)
    return folder


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """Run a command and return its output; fail with its errors."""
    done = subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_the_sdist_what_its_tests_read(distributions: Path) -> None:
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "harvestgym").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wheel = zipfile.ZipFile(next(distributions.glob("*.whl"))).namelist()
    assert {name for name in wheel if ".dist-info/" not in name} == package
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    read = {
        path.relative_to(ROOT).as_posix()
        for folder in ("tests", "experiments")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert package | read | {"LICENSE", "CITATION.cff", "docs/leaderboard.json", "examples/ppo.py", ".ci/run"} <= names


def test_every_table_of_the_package_has_its_licence_in_the_file_next_to_it() -> None:
    """The file with the same name: what describes a weather table, or the module that reads it."""
    tables = sorted((ROOT / "harvestgym").rglob("*.csv"))
    texts = {
        table: "".join(p.read_text("utf-8") for p in table.parent.glob(f"{table.stem}.*") if p != table)
        for table in tables
    }
    licence = re.compile(r"^licence: .*(CC0|public domain)|a work of the US government", re.MULTILINE)
    assert tables and [table.name for table, text in texts.items() if not licence.search(text)] == []


def test_every_id_has_its_first_version() -> None:
    assert [id for id in harvestgym.ids() if not id.endswith("-v0")] == []


def test_links_and_pictures_of_the_readme_work_on_a_package_index(distributions: Path) -> None:
    wheel = zipfile.ZipFile(next(distributions.glob("*.whl")))
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    text = wheel.read(metadata).decode()
    assert "](https://github.com/harvestgym/harvestgym/blob/main/docs/start.md)" in text
    assert not re.findall(r"\]\((?!https?:)[^)]+\)|src=\"(?!https?:)", text)


@long
def test_the_wheel_runs_a_season_without_any_extra(distributions: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, with the libraries of the base only: the command line, a season and its film."""
    zipfile.ZipFile(next(distributions.glob("*.whl"))).extractall(tmp_path / "site")
    extras = sorted({"matplotlib", "plotly", "pyarrow", "pandas", "av", "minari", "pygame",
                     "stable_baselines3", "pettingzoo", "numba", "nicegui", "pcse", "optax", "ray"})  # fmt: skip
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
sys.modules.update(dict.fromkeys({extras}))  # cannot be imported
import harvestgym
from harvestgym.cli import app
assert harvestgym.__file__.startswith({str(tmp_path)!r}), harvestgym.__file__
app(sys.argv[1:])
"""
    command = [sys.executable, "-c", program, "run", "fishing/logistic-v0", "--episodes", "1"]
    assert "return" in run([*command, "--gif", "years.gif", "--width", "320"], tmp_path, PYTHONPATH="")
    assert (tmp_path / "years.gif").stat().st_size > 1000


MISSING = {
    "data": ("pyarrow", "from harvestgym.core.saving.files import write_parquet as w; w(None, {})"),
    "multi": ("pettingzoo", "import harvestgym.adapters.pettingzoo"),
    "data, a demonstration": (
        "pyarrow",
        "from harvestgym.play.start_session import start_session as s; s('fishing/logistic-v0').save(None)",
    ),
    "plot": ("matplotlib", "from harvestgym.render.monitor_sinks import PlotSink as S; S('a.png').open('', '')"),
    "ray": ("ray", "from harvestgym.sweep.engine import _connect; _connect(None)"),
    "sb3": ("stable_baselines3", "import harvestgym.adapters.sb3"),
    "video": ("av", "from harvestgym.render.video import write_video; write_video([], 'a.mp4')"),
    "window": ("pygame", "import gymnasium as g; g.make('fishing/logistic-v0', render_mode='human')"),
    "web": ("nicegui", "from harvestgym.play import run; run('farm/bean-1x1-v0')"),
}
"""By extra: a module of it, and code that needs it."""


@long
def test_a_missing_extra_is_an_import_error_with_the_command_to_run(tmp_path: Path) -> None:
    """All in one process, in which no extra can be imported."""
    program = f"""
import re, sys
sys.modules.update(dict.fromkeys({sorted({module for module, _ in MISSING.values()})}))
for extra, code in {[(extra.partition(",")[0], code) for extra, (_, code) in MISSING.items()]}:
    try:
        exec(code)
        print("nothing was raised", extra)
    except ValueError as error:
        named = re.search(r": expected the extras? .+, got none; try pip install 'harvestgym\\[(.+)\\]'$", str(error))
        print("named" if named and extra in named[1].split(",") else error)
"""
    named = run([sys.executable, "-c", program], tmp_path, PYTHONPATH=str(ROOT)).split()
    assert named == ["named"] * len(MISSING)
