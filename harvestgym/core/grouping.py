"""Grouping of items by key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

Value = TypeVar("Value")


def group_pairs(pairs: Iterable[tuple[Hashable, Value]]) -> dict[Any, list[Value]]:
    """Return the values of each key; the keys are in the order in which they first appear."""
    found: dict[Any, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
