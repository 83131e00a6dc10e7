"""The compilation cache: on by default, used by a second process, moved or switched off by one variable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harvestgym.core import cache

PROGRAM = """
import collections, json
import jax
seen = collections.Counter()
jax.monitoring.register_event_listener(lambda name, **_: seen.update([name.rpartition("/")[2]]))
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: seen.update([name.rpartition("/")[2]]))
import gymnasium
env = gymnasium.make("harvestgym:farm/bean-clay-1x1-v0")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)  # whatever a program costs on this machine
env.reset(seed=0)
env.step(0)
first = seen.copy()
env.step(1)
env.reset()
env.step(0)
print(json.dumps({"compiled": first["backend_compile_duration"], "from the cache": first["cache_hits"],
                  "compiled later": (seen - first)["backend_compile_duration"]}))
"""


def run(folder: str) -> dict[str, int]:
    """What a new process compiles for its first day of a farm, and after it."""
    environment = os.environ | {"HARVESTGYM_CACHE": folder}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_start_compiles_two_programs_and_a_second_process_finds_them(tmp_path: Path) -> None:
    """The limits of a start, without a clock: `begin` and `step` are compiled, and two keys made; nothing after."""
    cold = run(str(tmp_path))
    assert cold["from the cache"] == 0 and cold["compiled later"] == 0 and 2 <= cold["compiled"] <= 4
    assert any(tmp_path.iterdir())
    assert run(str(tmp_path)) == cold | {"from the cache": 2}


def test_one_variable_moves_it_or_switches_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    default = cache.folder()
    assert default is not None and "harvestgym" in str(default)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert cache.folder() == tmp_path
    monkeypatch.setenv(cache.VARIABLE, "Off")
    assert cache.folder() is None
