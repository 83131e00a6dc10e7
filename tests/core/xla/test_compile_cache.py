"""The cache of compiled programs: on by default, used by a second process, moved or switched off by one variable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harvestgym.core.xla import compile_cache

PROGRAM = """
import collections, json, sys
import jax
seen = collections.Counter()
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: seen.update([name.rpartition("/")[2]]))
import gymnasium
env = gymnasium.make("harvestgym:farm/bean-clay-1x1-v0")
env.reset(seed=0)
shown = [env.step(0)]
first = seen.copy()
shown += [env.step(1)]
env.reset()
shown += [env.step(0)]
print(json.dumps({"lowered": first["jaxpr_to_mlir_module_duration"], "compiled": first["backend_compile_duration"],
                  "later": (seen - first).total(), "shown": repr(shown)}))
"""


def run(folder: Path) -> dict[str, Any]:
    """What a new process compiles for its first day of a farm, and after it."""
    environment = os.environ | {"HARVESTGYM_CACHE": str(folder)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_second_process_neither_lowers_nor_compiles_what_a_first_one_did(tmp_path: Path) -> None:
    """The limits of a start, without a clock: `begin` and `step` are compiled and nothing else, nor anything after."""
    cold = run(tmp_path)
    assert (cold["lowered"], cold["compiled"], cold["later"]) == (2, 2, 0)
    assert sorted(path.name.split("_")[0] for path in (tmp_path / "shelf").iterdir()) == ["begin", "step"]
    warm = run(tmp_path)
    assert warm == {"lowered": 0, "compiled": 0, "later": 0, "shown": cold["shown"]}
    for path in (tmp_path / "shelf").iterdir():
        path.write_bytes(b"damaged")
    assert run(tmp_path)["shown"] == cold["shown"], "what is damaged is made anew"


def test_one_variable_moves_it_or_switches_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(compile_cache.VARIABLE, raising=False)
    default = compile_cache.folder()
    assert default is not None and "harvestgym" in str(default)
    monkeypatch.setenv(compile_cache.VARIABLE, str(tmp_path))
    assert compile_cache.folder() == tmp_path
    monkeypatch.setenv(compile_cache.VARIABLE, "Off")
    assert compile_cache.folder() is None
