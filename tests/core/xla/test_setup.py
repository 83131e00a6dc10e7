"""Importing changes nothing in the process; making an environment changes two settings that the user has not set."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from harvestgym.core.xla.setup import CACHE_VARIABLE
from tests.long_form import long

STATE = """
import gc, json, os, signal, sys, warnings
import jax
def look():
    settings = {name: repr(jax.config._read(name)) for name in jax.config.values}
    return [dict(os.environ), settings, gc.isenabled(), gc.get_threshold(), [str(signal.getsignal(s)) for s in (2, 15)]]
before = look()
import harvestgym, harvestgym.farm, harvestgym.fishing, harvestgym.forager, harvestgym.core.rollout
after = look()
env = harvestgym.make("fishing/logistic-v0")
made = look()
print(json.dumps([before == after, sorted(n for n in made[1] if made[1][n] != before[1][n]),
                  [made[i] == before[i] for i in (0, 2, 3, 4)], jax.config.jax_compilation_cache_dir,
                  jax.config._read("jax_cpu_enable_async_dispatch")]))
"""

OURS = [
    "jax_compilation_cache_dir", "jax_cpu_enable_async_dispatch", "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
]  # fmt: skip

UNPICKLE = """
import pickle, sys, jax
env = pickle.load(open(sys.argv[1], "rb"))
print(jax.config.jax_compilation_cache_dir)
"""


def look(**variables: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "HARVESTGYM_"))}
    environment |= {"JAX_PLATFORMS": "cpu"} | variables
    done = subprocess.run([sys.executable, "-c", STATE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_import_changes_nothing_and_a_first_environment_two_settings(tmp_path: Path) -> None:
    unchanged, changed, rest, folder, threads = look(**{CACHE_VARIABLE: str(tmp_path / "programs")})
    assert unchanged and changed == OURS and all(rest)
    assert folder == str(tmp_path / "programs") and threads is False


def test_a_process_that_starts_with_a_pickle_keeps_its_programs(tmp_path: Path) -> None:
    path, folder = tmp_path / "env.pickle", str(tmp_path / "programs")
    path.write_bytes(pickle.dumps(gymnasium.make("harvestgym:fishing/logistic-v0")))
    command = [sys.executable, "-c", UNPICKLE, str(path)]
    done = subprocess.run(
        command, env=os.environ | {CACHE_VARIABLE: folder}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == folder


def test_settings_of_the_user_are_left_alone(tmp_path: Path) -> None:
    mine = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path), "JAX_CPU_ENABLE_ASYNC_DISPATCH": "1"}
    unchanged, changed, _, folder, threads = look(**mine)
    assert unchanged and changed == [] and folder == str(tmp_path) and threads is True


@long
def test_the_switch_leaves_all_settings_alone() -> None:
    assert look(HARVESTGYM_XLA="off")[:2] == [True, []]


@long
@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere"])
def test_a_home_that_cannot_be_written_leaves_the_cache_off(home: str) -> None:
    unchanged, changed, _, folder, _ = look(HOME=home, XDG_CACHE_HOME=f"{home}/cache")
    assert unchanged and changed == ["jax_cpu_enable_async_dispatch"] and folder is None
