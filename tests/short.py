"""The short form of checks that compile every id again; HARVESTGYM_TESTS=all asks for the long one."""

from __future__ import annotations

import os
from collections.abc import Sequence

ALL = os.environ.get("HARVESTGYM_TESTS") == "all"


def some(ids: Sequence[str], *short: str) -> list[str]:
    """All ids in the long form, else those that end in one of `short`."""
    return [id for id in ids if ALL or id.endswith(short)]
