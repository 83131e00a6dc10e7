"""Summary of a sweep: the mean return of each setting over its seeds, as a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.view.tables import Table, format_value
from harvestgym.sweep.cases import ROW_COLUMNS

from .statistics import ConfidenceInterval, Summary, estimate_mean, summarise

SEED, RETURN, EPISODE = "seed", "return", "episode"
DIFFERENCE = "minus first, paired (95 %)"

LONGEST_LABEL = 60
"""Maximum number of characters of a label in the picture, which leaves half of its width for the returns."""

MOST_MEANS = 4
"""Number of the family's columns in the table; the Parquet files contain all of them."""


class SettingRows(NamedTuple):
    """Summary of the rows of a setting.

    Attributes:
        labels: the labels that vary.
        episodes: number of episodes.
        returns: a summary of the returns.
        means: means of numeric columns.
        difference: the mean difference from the returns of the first setting with the same labels except the policy
            (with a single policy, except the first label after the id), on the seeds and episodes that both have; None
            without any, and for the first setting.
    """

    labels: dict[str, str]
    episodes: int
    returns: Summary
    means: dict[str, float]
    difference: ConfidenceInterval | None


def summarise_settings(rows: Any, labels: Sequence[str]) -> Iterator[SettingRows]:
    """Yield a summary of each setting in a table of episodes; a setting is a combination of all labels except seed."""
    frame = rows.to_pandas()
    named = [name for name in labels if name != SEED and name in frame.columns]
    others = [name for name in frame.columns if name not in (*labels, *ROW_COLUMNS)]
    numbers = frame[others].select_dtypes(["number", "bool"]).columns
    varied = [name for name in named if frame[name].nunique(dropna=False) > 1] or named[:1]
    compared = next((name for name in ("policy", *varied) if name in varied and name != "id"), None)
    alike = [name for name in varied if name != compared]
    first: dict[tuple[str, ...], Any] = {}
    for key, group in frame.groupby(varied, sort=False, dropna=False):
        means = {name: float(group[name].mean()) for name in numbers}
        shown = {name: format_value(value) for name, value in zip(varied, key, strict=True)}
        returns = group.set_index([SEED, EPISODE])[RETURN]
        base = first.setdefault(tuple(shown[name] for name in alike), returns)
        pairs = (returns - base).dropna()
        difference = estimate_mean(pairs) if base is not returns and len(pairs) else None
        yield SettingRows(shown, len(group), summarise(returns), means, difference)


def make_summary_table(rows: Any, labels: Sequence[str], title: str) -> Table:
    """Make a table with a row per setting: labels, return and difference with intervals, means of family columns."""
    settings = list(summarise_settings(rows, labels))
    names = [name for name in settings[0].means if any(np.isfinite(each.means[name]) for each in settings)][:MOST_MEANS]
    paired, lines = any(each.difference for each in settings), list[tuple[str, ...]]()
    for each in settings:
        returns = [str(each.returns), *[str(each.difference or "")] * paired]
        means = [format_value(each.means[name]) for name in names]
        lines.append((*each.labels.values(), str(each.episodes), *returns, *means))
    columns = ("episodes", "return (95 %)", *[DIFFERENCE] * paired, *names)
    return Table(title, (*settings[0].labels, *columns), lines)


def draw_summary(rows: Any, labels: Sequence[str], path: Path) -> None:
    """Draw the mean return of each setting with its 95 % interval."""
    from matplotlib.figure import Figure

    settings = list(summarise_settings(rows, labels))
    figure = Figure(figsize=(10, 1 + 0.25 * len(settings)), layout="constrained")
    axes, at = figure.subplots(), np.arange(len(settings))
    means = [each.returns.mean for each in settings]
    halves = [each.returns.high - each.returns.mean for each in settings]
    axes.errorbar(means, at, xerr=halves, fmt="o", capsize=3)
    named = ([f"{name.rpartition('/')[2]} {text}" for name, text in each.labels.items() if text] for each in settings)
    axes.set_yticks(at, [shorten(", ".join(labels), LONGEST_LABEL, placeholder=" ...") for labels in named])
    axes.invert_yaxis()
    axes.set_xlabel("return, mean with 95 % interval")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
