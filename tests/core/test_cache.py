"""The compilation cache: on by default, used by a second process, moved or switched off by one variable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harvestgym.core import cache

PROGRAM = """
import jax
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
import harvestgym
env = harvestgym.make("farm/bean-clay-1x1-v0")
jax.jit(lambda key: env.reset(key, env.params)[1].obs)(jax.random.key(0))
print(len(hits))
"""


def run(folder: str) -> int:
    environment = os.environ | {"HARVESTGYM_CACHE": folder}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_second_process_finds_what_the_first_compiled(tmp_path: Path) -> None:
    assert run(str(tmp_path)) == 0
    assert any(tmp_path.iterdir())
    assert run(str(tmp_path)) > 0


def test_one_variable_moves_it_or_switches_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    default = cache.folder()
    assert default is not None and "harvestgym" in str(default)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert cache.folder() == tmp_path
    monkeypatch.setenv(cache.VARIABLE, "Off")
    assert cache.folder() is None
