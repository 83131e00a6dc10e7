"""The published ranges of the validation card (`card.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harvestgym.core.yaml_io import read_file

RANGES_FILE = Path(__file__).parent.parent / "card.yaml"


@cache
def read_published() -> Mapping[str, Any]:
    """Read the published ranges of each crop, with their sources."""
    return read_file(RANGES_FILE)
