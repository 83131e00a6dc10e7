"""Settings of all tests: quick programs, kept while there is memory for them, and the order of the files."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from harvestgym.core.xla.compilation import QUICK, enable_cache

from .short import ALL

if not ALL:  # before any program is compiled: compiling is most of what the tests take, and this halves it
    options = QUICK | {"xla_cpu_parallel_codegen_split_count": 1}  # the other core has its own tests
    quick = " ".join(f"--{option}={str(value).lower()}" for option, value in options.items())
    os.environ["XLA_FLAGS"] = f"{quick} {os.environ.get('XLA_FLAGS', '')}".strip()

gc.set_threshold(200_000, 50, 1000)  # tracing makes many objects, few cycles: looking for them took a seventh

enable_cache()  # for the programs of all workers and of the processes that tests start

MAPS = 20_000
"""A third of the pieces of memory that Linux allows a process; some thousands of compiled programs are more."""

SLOW = (
    "farm/test_catalogue.py", "farm/policies/test_experts.py", "test_docs.py", "farm/entities/test_parameters.py",
    "test_training.py", "sweep/test_ray_engine.py", "test_notebooks.py",
    "test_examples.py", "farm/test_company.py", "evaluate/studies/test_memory.py", "forager/test_family.py",
    "evaluate/studies/test_farm.py", "farm/interface/test_paper_snippets.py", "test_golden.py", "play/test_page.py",
    "farm/entities/weather/test_weather.py", "cli/test_new.py",
)  # fmt: skip
"""The files that take longest, which begin first, so that no worker is left alone with one at the end."""


def full() -> bool:
    """Return whether the workers together would fill half of the memory if all were as large as this one."""
    if sys.platform != "linux":
        return True
    pieces, pages = Path("/proc/self/maps").read_bytes(), Path("/proc/self/statm").read_text().split()
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    return pieces.count(b"\n") > MAPS or int(pages[1]) > os.sysconf("SC_PHYS_PAGES") // (2 * workers)


def forget() -> None:
    """Drop all compiled programs, and give back their memory where the C library keeps what was freed."""
    jax.clear_caches()
    gc.collect()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


@pytest.fixture(autouse=True, scope="module")
def forget_programs() -> Iterator[None]:
    """Modules share the programs that they compile until the process is full."""
    yield
    if full():
        forget()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow files first, in the order of `SLOW`; then all others as they were found."""
    root = Path(__file__).parent
    rank = {root / name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))
