"""The short form of checks that take a long time or compile every id again; HARVESTGYM_TESTS=all runs the long one."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

ALL = os.environ.get("HARVESTGYM_TESTS") == "all"

long = pytest.mark.skipif(not ALL, reason="the long form: HARVESTGYM_TESTS=all")
"""Marks a test that takes half a minute of a core, or more, where a quicker one fails for most of the same mistakes."""


def some(ids: Sequence[str], *short: str) -> list[str]:
    """Return all ids in the long form, else those that end in one of `short`."""
    return [id for id in ids if ALL or id.endswith(short)]


THOROUGH = {"xla_backend_optimization_level": 3}
"""Compiler options, independent of those of the other tests, for what runs longer than it compiles, and where
roundings matter: unoptimised code works out one number in several places, with other roundings."""
