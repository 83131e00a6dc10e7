"""Statistics of returns and scores: summaries with intervals.

The scores of an id are one array; the scores of several ids are a sequence of arrays, which are the strata and may
differ in size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit
from scipy.stats import trim_mean

from harvestgym.core.risk import CVaR
from harvestgym.core.view.tables import Table

WORST_TENTH = CVaR(level=0.1)
"""The risk measure that every table reports in addition to the mean."""

RESAMPLES = 2000
"""Number of bootstrap samples of the published tables."""

Strata = Sequence[ArrayLike]
"""Scores of several ids: an array of runs for each."""


@dataclass(frozen=True)
class Summary:
    """A sample of returns in six numbers; `low, high` is the 95 % confidence interval of the mean."""

    mean: float
    sd: float
    cvar10: float
    low: float
    high: float
    iqm: float

    def __str__(self) -> str:
        return format_mean(self.mean, self.low, self.high)

    def _repr_html_(self) -> str:
        """Return the numbers as a table for notebooks."""
        row = (str(self), *(f"{number:z.3f}" for number in (self.sd, self.cvar10, self.iqm)))
        return Table("Returns", ("mean (95 % interval)", "sd", "CVaR 10 %", "interquartile mean"), [row])._repr_html_()


class ConfidenceInterval(NamedTuple):
    """A statistic of a sample and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:z.3g} ({self.low:z.3g} to {self.high:z.3g})"


def format_mean(mean: float, low: float, high: float) -> str:
    """Format a mean with its interval."""
    return f"{mean:z.3f} ({low:z.3f} to {high:z.3f})"


def summarise(returns: ArrayLike, clusters: ArrayLike | None = None) -> Summary:
    """Summarise a sample; its interval comes from `estimate_mean` or, if it is boolean, from `estimate_share`."""
    values = np.asarray(returns, np.float64)
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    boolean = np.asarray(returns).dtype == bool and clusters is None
    mean, low, high = estimate_share(returns) if boolean else estimate_mean(values, clusters)
    return Summary(mean, sd, WORST_TENTH(values), low, high, interquartile_mean([values]))


def estimate_mean(values: ArrayLike, clusters: ArrayLike | None = None) -> ConfidenceInterval:
    """Estimate the mean of independent values, or of values that depend on each other within clusters.

    The interval is mean ± t se, with Student's t. Independent values have n - 1 degrees of freedom and
    se = sd / sqrt(n). With G clusters (such as weather years or training runs) there are G - 1, and
    se² = G / (G - 1) · Σ_g (Σ_{i in g} (x_i - mean))² / n², the cluster-robust variance of Liang and Zeger (1986).

    Args:
        values: one number per episode.
        clusters: a label for each value. A single cluster has an infinite interval.
    """
    sample = np.asarray(values, np.float64)
    labels = np.arange(len(sample)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    mean, groups = float(sample.mean()), int(labels.max()) + 1
    if groups == 1:
        half = 0.0 if clusters is None else np.inf
    else:
        sums = np.bincount(labels, sample - mean)
        error = np.sqrt(groups / (groups - 1) * np.sum(sums**2)) / len(sample)
        half = float(stdtrit(groups - 1, 0.975) * error)
    return ConfidenceInterval(mean, mean - half, mean + half)


def find_interval(samples: np.ndarray) -> ConfidenceInterval:
    """Return the first of some bootstrap samples, and the interval of 95 % of the others."""
    low, high = np.quantile(samples[1:], (0.025, 0.975))
    return ConfidenceInterval(float(samples[0]), float(low), float(high))


def estimate_share(values: ArrayLike) -> ConfidenceInterval:
    """Estimate the share of true values, with the interval of Wilson (1927), which lies between 0 and 1."""
    hits = np.asarray(values, bool)
    z, number, share = float(ndtri(0.975)), len(hits), float(hits.mean())
    whole = 1 + z**2 / number
    middle = (share + z**2 / (2 * number)) / whole
    half = z * np.sqrt(share * (1 - share) / number + (z / (2 * number)) ** 2) / whole
    return ConfidenceInterval(share, max(middle - half, 0.0), min(middle + half, 1.0))


def interquartile_mean(strata: Strata) -> float:
    """Return the mean of the middle half of all values of all strata."""
    return float(trim_mean(np.concatenate([np.asarray(values, np.float64) for values in strata]), 0.25))


def resample_means(rows: ArrayLike, blocks: ArrayLike, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Return the means of paired rows in bootstrap samples, (rows, resamples).

    With several blocks, such as weather years, a sample draws as many blocks as there are, and from each drawn block as
    many seasons as it has, with replacement. With one block, it draws seasons. All rows get the same draws.

    Args:
        rows: numbers of the same seasons, such as the returns of several policies, (rows, seasons).
        blocks: the block of each season, (seasons,).
        seed: seed of the draws.
        resamples: number of samples.
    """
    values, rng = np.asarray(rows, np.float64), np.random.default_rng(seed)
    labels = np.unique(np.asarray(blocks), return_inverse=True)[1]
    sizes, order = np.bincount(labels), np.argsort(labels, kind="stable")
    drawn = rng.integers(len(sizes), size=(resamples, len(sizes)))
    counts, block = sizes[drawn].sum(1), np.repeat(drawn.ravel(), sizes[drawn].ravel())
    season = order[(np.cumsum(sizes) - sizes)[block] + rng.integers(sizes[block])]
    owner = np.repeat(np.arange(resamples), counts)
    return np.stack([np.bincount(owner, row[season], resamples) / counts for row in values])
