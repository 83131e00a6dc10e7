"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import jax
import pytest

from .short import ALL

if not ALL:  # before any program is compiled: compiling is most of what the tests take, and this halves it
    quick = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    os.environ["XLA_FLAGS"] = f"{quick} {os.environ.get('XLA_FLAGS', '')}".strip()


@pytest.fixture(autouse=True, scope="module")
def forget_programs() -> Iterator[None]:
    """Drop the compiled programs of a module: some thousands of them are more maps than a process may have."""
    yield
    jax.clear_caches()
    gc.collect()
