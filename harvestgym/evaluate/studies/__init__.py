"""Studies: one file each, with `run(replicates, out, progress)`, which gives a `Table` or several."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harvestgym.core.errors import unknown


def names() -> list[str]:
    """The studies there are."""
    return sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py"))


def named(name: str) -> Callable[..., Any]:
    """The `run` of a study; ConfigError with the nearest name if there is none."""
    if name not in names():
        raise unknown("study", name, names())
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").run
