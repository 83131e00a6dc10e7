"""Settings of all tests: quick programs, kept while there is memory for them, and the order of the files."""

from __future__ import annotations

import gc
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from harvestgym.core.xla.compilation import QUICK
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.core.xla.setup import enable_cache

from .long_form import ALL

QUICK_FLAGS = "HARVESTGYM_TEST_FLAGS"
"""Environment variable by which the first process of a run gives the flags that XLA knows to the others."""

if not ALL:  # before any program is compiled: compiling is most of what the tests take, and this halves it
    if QUICK_FLAGS not in os.environ:
        options = QUICK | {"xla_cpu_parallel_codegen_split_count": 1}  # the other core has its own tests
        emitters = "--xla_cpu_use_fusion_emitters=false"  # JAX 0.11 and later end a process that has this flag
        child = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": emitters}
        command = [sys.executable, "-c", "import jax; jax.devices()"]
        known = subprocess.run(command, env=os.environ | child, stderr=subprocess.DEVNULL)
        flags = [f"--{option}={value}" for option, value in options.items()] + [emitters] * (known.returncode == 0)
        os.environ[QUICK_FLAGS] = " ".join(flags)
    os.environ["XLA_FLAGS"] = f"{os.environ[QUICK_FLAGS]} {os.environ.get('XLA_FLAGS', '')}".strip()

os.environ.setdefault("HARVESTGYM_QUIET", "1")  # compiling is not news here

gc.set_threshold(200_000, 50, 1000)  # tracing makes many objects, few cycles: looking for them took a seventh

enable_cache()  # for the programs of all workers and of the processes that tests start
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small programs are most, and workers share them

SLOW = (
    "farm/test_catalogue.py", "farm/policies/test_experts.py", "test_docs.py", "farm/entities/test_parameters.py",
    "test_contract.py", "hosts/test_matrix.py", "test_training.py", "sweep/test_ray_engine.py", "test_notebooks.py",
    "test_examples.py", "farm/test_all_kinds.py", "experiments/studies/test_memory.py", "forager/test_family.py",
    "experiments/studies/test_farm.py", "farm/paper/test_paper_snippets.py", "test_golden.py", "play/test_page.py",
    "farm/entities/weather/test_weather.py", "cli/test_new.py",
)  # fmt: skip
"""The files that take longest, which begin first, so that no worker is left alone with one at the end."""

collect_ignore = [] if ALL else [
    "experiments", "sweep/test_ray_engine.py", "test_agent_examples.py", "test_dqn.py", "test_examples.py",
    "test_map_agents.py", "test_map_results.py", "test_notebooks.py", "test_offline.py", "test_recurrent_ppo.py",
    "test_sb3_jobs.py", "test_training.py",
]  # fmt: skip
"""Tests of experiments, examples, notebooks and clusters, which are part of the long form or run by name."""


@pytest.fixture
def import_example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function that imports an example, which may import its neighbours, as a module."""
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "examples")
    return importlib.import_module


@pytest.fixture(autouse=True, scope="module")
def forget_programs() -> Iterator[None]:
    """Modules share the programs that they compile until the process is full."""
    yield
    free_programs_if_full()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow files first, in the order of `SLOW`."""
    root = Path(__file__).parent
    rank = {root / name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
