"""Numbers that summarise a sample of returns: mean, spread, interval, and what comes of the worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harvestgym.core.risk import CVaR

WORST = CVaR(level=0.1)
"""What every table says beside the mean."""


@dataclass(frozen=True)
class Summary:
    """A sample of returns in five numbers; `low, high` is the 95 % confidence interval of the mean."""

    mean: float
    sd: float
    cvar10: float
    low: float
    high: float


def summarise(returns: np.ndarray) -> Summary:
    """The summary of a sample; the interval is mean +- 1.96 sd / sqrt(n), for the samples of a hundred and more."""
    values = np.asarray(returns, np.float64)
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    half = 1.96 * sd / np.sqrt(len(values))
    mean = float(values.mean())
    return Summary(mean, sd, WORST(values), mean - half, mean + half)
