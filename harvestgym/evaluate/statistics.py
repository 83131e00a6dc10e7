"""Summary of a sample of returns: mean, spread, confidence interval and mean of the worst tenth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from harvestgym.core.risk import CVaR

WORST_TENTH = CVaR(level=0.1)
"""Reported in every table in addition to the mean."""


@dataclass(frozen=True)
class Summary:
    """A sample of returns in five numbers; `low, high` is the 95 % confidence interval of the mean."""

    mean: float
    sd: float
    cvar10: float
    low: float
    high: float

    def __str__(self) -> str:
        return format_mean(self.mean, self.low, self.high)


def format_mean(mean: float, low: float, high: float) -> str:
    """Format a mean with its interval."""
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def summarise(returns: np.ndarray) -> Summary:
    """Summarise a sample; the interval is mean ± t sd / sqrt(n), with Student's t of n - 1 degrees of freedom."""
    values = np.asarray(returns, np.float64)
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    half = float(stdtrit(max(len(values) - 1, 1), 0.975)) * sd / np.sqrt(len(values))
    mean = float(values.mean())
    return Summary(mean, sd, WORST_TENTH(values), mean - half, mean + half)
