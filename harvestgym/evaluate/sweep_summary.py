"""Summary of a sweep: a table with the mean return of each setting over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harvestgym.core.view.tables import Table, format_value

from .statistics import summarise

SEED, RETURN = "seed", "return"
ROW_COLUMNS = ("episode", RETURN, "length", "terminated", "truncated")
"""Per-episode columns that the table does not average."""

MOST_MEANS = 4
"""Number of the family's columns in the table; the Parquet files contain all of them."""


def make_summary_table(rows: Any, labels: Sequence[str], title: str) -> Table:
    """Make a table with a row per setting: labels, the mean return with its interval, and means of family columns.

    A setting is a combination of all labels except the seed; only labels that vary are shown.
    """
    frame = rows.to_pandas()
    named = [name for name in labels if name != SEED and name in frame.columns]
    varied = [name for name in named if frame[name].nunique(dropna=False) > 1] or named[:1]
    own = [name for name in frame.columns if name not in (*labels, *ROW_COLUMNS)]
    numbers = [name for name in own if frame[name].dtype.kind in "fiub" and np.isfinite(frame[name]).any()]
    lines = []
    for key, group in frame.groupby(varied, sort=False, dropna=False):
        setting = (*map(format_value, key), str(len(group)), str(summarise(group[RETURN].to_numpy())))
        lines.append((*setting, *(format_value(float(group[name].mean())) for name in numbers[:MOST_MEANS])))
    return Table(title, (*varied, "episodes", "return (95 %)", *numbers[:MOST_MEANS]), lines)
