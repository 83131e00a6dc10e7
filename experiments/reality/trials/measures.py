"""The error measures of the protocol, bootstrap intervals, and the supply at 95 % of the largest yield."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from experiments.studies.common import findings

DRAWS = 10_000
SEED = 2026


def measure_errors(predicted: np.ndarray, measured: np.ndarray) -> dict[str, float]:
    """Return the protocol's measures for n cases: RMSE and bias in the unit of the cases, nRMSE in %, d and r."""
    errors, mean = predicted - measured, measured.mean()
    rmse = np.sqrt(np.mean(errors**2))
    spread = (np.abs(predicted - mean) + np.abs(measured - mean)) ** 2
    found = {
        "rmse": rmse, "nrmse_percent": 100 * rmse / mean, "bias": errors.mean(),
        "d": 1 - (errors**2).sum() / spread.sum(), "r": correlate(predicted, measured),
    }  # fmt: skip
    return {"n": len(errors)} | {name: float(value) for name, value in found.items()}


def correlate(a: np.ndarray, b: np.ndarray) -> float:
    """Return Pearson's correlation; NaN if one of the arrays does not vary."""
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's rank correlation, with mean ranks for ties; NaN if one of the arrays does not vary."""
    return float(spearmanr(a, b).statistic) if np.ptp(a) > 0 and np.ptp(b) > 0 else np.nan  # pyright: ignore


def bootstrap(statistic: Callable[[np.ndarray], float], cases: int, draws: int = DRAWS) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a statistic of the drawn cases' indices; draws with NaN are left out."""
    found = findings.bootstrap(statistic, np.arange(cases), resamples=draws, seed=SEED)
    return found.low, found.high


def find_supply(supply: np.ndarray, response: np.ndarray, share: float = 0.95) -> float:
    """Return the least supply, interpolated linearly, at which the response is `share` of its maximum."""
    goal = share * response.max()
    i = int(np.argmax(response >= goal))
    if i == 0:
        return float(supply[0])
    part = (goal - response[i - 1]) / (response[i] - response[i - 1])
    return float(supply[i - 1] + part * (supply[i] - supply[i - 1]))
