"""What all tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def forget_programs() -> Iterator[None]:
    """Drop the compiled programs of a module: some thousands of them are more maps than a process may have."""
    yield
    jax.clear_caches()
    gc.collect()
