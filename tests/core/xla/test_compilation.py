"""The cache of compiled programs: on by default, used by a second process, moved or switched off by one variable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.xla import compilation
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.core.xla.setup import CACHE_VARIABLE, SWITCH_VARIABLE, cache_folder, list_programs, trim_cache
from tests.long_form import long

PROGRAM = """
import collections, json, sys
import jax
seen = collections.Counter()
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: seen.update([name.rpartition("/")[2]]))
jax.monitoring.register_event_listener(lambda name, *_, **__: seen.update([name.rpartition("/")[2]]))
import gymnasium
env = gymnasium.make("harvestgym:farm/bean-1x1-v0")
env.reset(seed=0)
shown = [env.step(0)]
first = seen.copy()
shown += [env.step(1)]
env.reset()
shown += [env.step(0)]
print(json.dumps({"lowered": first["jaxpr_to_mlir_module_duration"], "found": first["cache_hits"],
                  "later": (seen - first).total(), "shown": repr(shown)}))
"""


def run(folder: Path) -> dict[str, Any]:
    """Programs that a new process compiles for its first day of a farm, and after it."""
    environment = os.environ | {CACHE_VARIABLE: str(folder)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@long
def test_a_second_process_finds_the_programs_of_the_first(tmp_path: Path) -> None:
    """Limits of a start without a clock: `start` and `step` are lowered, and nothing after them."""
    cold, warm = run(tmp_path), run(tmp_path)
    assert (cold["lowered"], cold["found"], cold["later"]) == (2, 0, 0)
    assert (warm["lowered"], warm["found"], warm["later"]) == (2, 2, 0)
    assert warm["shown"] == cold["shown"]


def test_variables_move_the_cache_or_switch_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    default = cache_folder()
    assert default is not None and "harvestgym" in str(default)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv(SWITCH_VARIABLE, "off")
    assert cache_folder() is None
    monkeypatch.delenv(SWITCH_VARIABLE)
    monkeypatch.setenv(CACHE_VARIABLE, "Off")
    assert cache_folder() is None


def test_what_is_compiled_quickly_gives_the_same_results() -> None:
    assert jit_quickly(lambda n, x: x * n, "a product", static_argnums=0)(3, 2.0) == 6.0


def test_a_cache_above_its_limit_loses_what_was_not_used_for_longest(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        program = tmp_path / f"{name}-cache"
        program.write_bytes(b"12345")
        os.utime(program, (1000 - age, 1000 - age))
    (tmp_path / "other").write_text("not a program")
    assert trim_cache(tmp_path, 10) == 1
    assert [path.name for path, _ in list_programs(tmp_path)] == ["middle-cache", "new-cache"]
    assert trim_cache(tmp_path, 10) == 0
    assert trim_cache(tmp_path, -1) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert trim_cache(tmp_path / "missing", 0) == 0


def test_the_command_shows_and_clears_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    (tmp_path / "some-cache").write_bytes(bytes(2**20))
    run = CliRunner().invoke
    assert "1 programs, 1 MiB of at most 2048 MiB" in run(app, ["cache", "show"]).output
    assert "removed 1 programs" in run(app, ["cache", "clear"]).output
    monkeypatch.setenv(CACHE_VARIABLE, "off")
    refused = run(app, ["cache", "show"])
    assert refused.exit_code == 2 and "switched off" in refused.output


def compile_slowly(monkeypatch: pytest.MonkeyPatch, quiet: str) -> None:
    """Spend a moment in a function of a compiler's name, which a watching thread can find."""
    monkeypatch.setenv(compilation.QUIET_VARIABLE, quiet)
    monkeypatch.setattr(compilation, "LONG", 0.01)

    def compile_something() -> None:
        time.sleep(0.3)

    with compilation.announcing("a toy"):
        compile_something()


@pytest.mark.parametrize(("quiet", "lines"), [("", 1), ("0", 1), ("1", 0)])
def test_a_long_compilation_is_announced_once(
    quiet: str, lines: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compilation, "_announced", set())
    for _ in range(2):
        compile_slowly(monkeypatch, quiet)
    said = [record.getMessage() for record in caplog.records if record.name == "harvestgym"]
    assert len(said) == lines and all("compiling a toy" in line for line in said)


@long
def test_programs_of_the_cache_that_jax_rejects_are_said_once(tmp_path: Path) -> None:
    run(tmp_path)
    for program, _ in list_programs(tmp_path):
        program.write_bytes(b"of another machine")
    environment = os.environ | {CACHE_VARIABLE: str(tmp_path), "JAX_RAISE_PERSISTENT_CACHE_ERRORS": "0"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.count("cache of compiled programs") == 1, done.stderr
