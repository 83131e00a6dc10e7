"""The examples and servers for language models, each in an environment of its own, because their libraries disagree.

The environments have the versions of the examples' docstrings. They are made in a temporary folder, or are kept in the
folder that the variable HARVESTGYM_VENVS names.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chat_stub import serve_chat
from tests.load_script import ROOT

Install = Callable[..., Path]


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Return a function that installs requirements in the environment of a name, and returns its folder of programs."""
    kept = os.environ.get("HARVESTGYM_VENVS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("environments")

    def make(name: str, *requirements: str) -> Path:
        if not (folder / name).exists():
            venv.create(folder / name, with_pip=True)
        programs = folder / name / "bin"
        command = [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", *requirements]
        subprocess.run(command, check=True, cwd=ROOT)
        return programs

    return make


def requirements(example: str) -> list[str]:
    """Return what the docstring of an example installs."""
    text = ast.get_docstring(ast.parse((ROOT / "examples" / example).read_text(encoding="utf-8"))) or ""
    return shlex.split(re.findall(r"pip install (.*?)\s*#", text)[0])


def run(folder: Path, *command: str | Path, **variables: str) -> str:
    """Run a command in a folder, with the installed package; return what it prints."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")}
    result = subprocess.run(command, cwd=folder, env=env | variables, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def test_inspect_scores_a_good_player(install: Install, tmp_path: Path) -> None:
    programs = install("inspect", *requirements("inspect_farm.py"))
    out = run(tmp_path, programs / "python", ROOT / "examples" / "inspect_farm.py")
    found = dict(line.split(": ") for line in out.splitlines())
    assert 0.8 < float(found["all"]) < 1.1 and found["fishing/logistic-v0"] == found["all"]


def test_verifiers_rewards_a_cautious_player(install: Install, tmp_path: Path) -> None:
    programs = install("verifiers", *requirements("verifiers_farm.py"))
    with serve_chat(lambda messages: "quota 0.05\nwait 200 years") as stub:
        options = f"--model stub --client.base-url {stub.url} --no-push --no-rich --env.taskset.seasons 1"
        task = "--env.taskset.game fishing/logistic-v0"
        command = (programs / "vf-eval", "verifiers_farm", *options.split(), *task.split())
        out = run(tmp_path, *command, PYTHONPATH=str(ROOT / "examples"))
    (score,) = re.findall(r'"score": {\s*"score": ([\d.]+)', out)
    assert 0.3 < float(score) < 0.9 and len(stub.requests) == 1


def test_trl_trains_for_a_step_on_calls_of_tools(install: Install, tmp_path: Path) -> None:
    # PyTorch is pinned to a release that has a small CPU build, as in .ci/run.
    programs = install("trl", *requirements("trl_farm.py"), "torch==2.13.0")
    step = ROOT / "tests" / "text" / "trl_step.py"
    out = run(tmp_path, programs / "python", step, PYTHONPATH=str(ROOT / "examples"), HF_HUB_OFFLINE="1")
    assert "tools: 4 failures: 0.0" in out
    reward, spread = (float(number) for number in re.findall(r"reward: ([\d.]+) std: ([\d.]+)", out)[0])
    assert 0 < reward < 0.9 and spread > 0.1, "a quota of 0.05 is better than 0.2, which ends the stock"


@pytest.mark.parametrize(
    ("name", "required", "tests"),
    [
        ("openenv", (".[openenv]",), "test_openenv_server.py"),
        ("mcp1", (".[mcp]", "mcp<2"), "test_mcp_server.py"),
        ("mcp2", (".[mcp]", "mcp>=2"), "test_mcp_server.py"),
    ],
)
def test_servers_are_played_by_their_clients(
    name: str, required: tuple[str, ...], tests: str, install: Install
) -> None:
    programs = install(name, *required, "pytest>=8")
    options = ("-q", "-o", "addopts=", "-p", "no:cacheprovider")
    command = (programs / "python", "-m", "pytest", *options, ROOT / "tests" / "text" / tests)
    out = run(ROOT, *command, HARVESTGYM_TESTS="all")
    assert " passed" in out and "skipped" not in out
