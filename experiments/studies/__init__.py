"""Studies: one module each, with a function `run(replicates, out, progress, ...)` that returns a `Table` or several.

Arguments of every `run`: `replicates`, the number of seasons or episodes of each case, which are the same for all
cases; `out`, a folder for a tidy Parquet file (extra `data`) and a picture; `progress`, which receives 1 when a part is
done; `seed`, the seed of the reported episodes. A study states its cases, its measures and its claims; `common`
contains the code for trials, claims and output.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harvestgym.core.errors import unknown


def list_studies() -> list[str]:
    """List the names of the studies."""
    return sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[a-z]*.py"))


def load_study(name: str) -> Callable[..., Any]:
    """Return the `run` of a study; raises ConfigError with the nearest name if there is none."""
    if name not in list_studies():
        raise unknown("study", name, list_studies())
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").run
