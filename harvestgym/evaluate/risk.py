"""Numbers that summarise a sample of returns: mean, spread, interval, and what risk aversion looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CVAR_LEVEL = 0.1
"""The share of worst episodes in the table's CVaR."""


def cvar(returns: np.ndarray, level: float = CVAR_LEVEL) -> float:
    """Mean of the worst `level` share of the returns, the last one counted in part (Rockafellar & Uryasev).

    Raises:
        ValueError: unless 0 < level <= 1 and there is a return.
    """
    if not 0.0 < level <= 1.0 or not len(returns):
        raise ValueError(f"wanted 0 < level <= 1 and at least one return, found {level} and {len(returns)}")
    worst = np.sort(np.asarray(returns, np.float64))
    weights = np.clip(level * len(worst) - np.arange(len(worst)), 0.0, 1.0)
    return float(np.sum(weights * worst) / weights.sum())


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
    return Summary(mean, sd, cvar(values), mean - half, mean + half)
