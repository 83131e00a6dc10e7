"""What a study found: claims with an effect and its interval, tables, a tidy file and box plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.tables import Table

from .trials import Case

RESAMPLES = 2000


class Interval(NamedTuple):
    """A statistic of a sample and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


class Claim(NamedTuple):
    """A statement about a model: an effect, what was asked of its whole interval, and whether that is so."""

    says: str
    effect: Interval
    wanted: str
    holds: bool


def interval(statistic: Callable[..., np.ndarray], *samples: np.ndarray) -> Interval:
    """A statistic with its 95 % interval by the percentile bootstrap over seasons, the last axis of every sample.

    The seasons are drawn together for all samples, so that pairs stay pairs. `statistic` reduces the last axis.
    """
    seasons = samples[0].shape[-1]
    draws = np.random.default_rng(0).integers(0, seasons, (RESAMPLES, seasons))
    found = [statistic(*(sample[..., draw] for sample in samples)) for draw in draws]
    low, high = np.quantile(found, (0.025, 0.975))
    return Interval(float(statistic(*samples)), float(low), float(high))


def ratio(a: np.ndarray, b: np.ndarray) -> Interval:
    """The mean of `a` over that of `b`."""
    return interval(lambda x, y: x.mean(-1) / np.maximum(y.mean(-1), 1e-9), a, b)


def difference(a: np.ndarray, b: np.ndarray) -> Interval:
    """The mean of `a` less that of `b`."""
    return interval(lambda x, y: x.mean(-1) - y.mean(-1), a, b)


def least(says: str, effect: Interval, bound: float) -> Claim:
    """A claim that an effect is at least so much."""
    return Claim(says, effect, f"at least {bound:g}", effect.low >= bound)


def most(says: str, effect: Interval, bound: float) -> Claim:
    """A claim that an effect is at most so much."""
    return Claim(says, effect, f"at most {bound:g}", effect.high <= bound)


def within(says: str, effect: Interval, low: float, high: float) -> Claim:
    """A claim that an effect lies between two bounds."""
    return Claim(says, effect, f"{low:g} to {high:g}", low <= effect.low and effect.high <= high)


def claims_table(claims: Sequence[Claim], replicates: int) -> Table:
    """The claims of a study."""
    title = f"claims, with 95 % intervals over {replicates} seasons"
    rows = [(c.says, str(c.effect), c.wanted, "yes" if c.holds else "no") for c in claims]
    return Table(title, ("claim", "effect", "wanted", "holds"), rows)


def quartiles(values: np.ndarray) -> str:
    """Median and quartiles."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def write_seasons(path: Path, cases: Sequence[Case], measured: Mapping[str, np.ndarray]) -> None:
    """A row per case and season, the case's labels and what was measured, (cases, seasons) each, as Parquet."""
    import pyarrow
    import pyarrow.parquet

    shape = next(iter(measured.values())).shape
    labels = {name: np.asarray([case.labels[name] for case in cases]) for name in cases[0].labels}
    spread = {name: np.broadcast_to(column[:, None], shape).ravel() for name, column in labels.items()}
    season = np.broadcast_to(np.arange(shape[1]), shape).ravel()
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = spread | {"season": season} | {name: values.ravel() for name, values in measured.items()}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def boxes(axes: Any, groups: Mapping[str, np.ndarray], ticks: Sequence[str]) -> None:
    """Box plots of some groups side by side at each tick; a group is (ticks, seasons)."""
    width = 0.8 / len(groups)
    at = np.arange(len(ticks))
    for i, (name, values) in enumerate(groups.items()):
        place = at + (i - (len(groups) - 1) / 2) * width
        drawn = axes.boxplot(
            list(values), positions=place, widths=0.8 * width, patch_artist=True, flierprops={"marker": ".", "ms": 3},
            medianprops={"color": "black"}, manage_ticks=False, label=name,
        )  # fmt: skip
        for box in drawn["boxes"]:
            box.set_facecolor(f"C{i}")
    axes.set_xticks(at, ticks)
    axes.set_ylim(0, None)
