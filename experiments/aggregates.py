"""Comparisons of policies over several ids, for the results of training.

The stratified bootstrap follows Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical
precipice. The scores of several ids are a sequence of arrays, which are the strata and may differ in size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap

from harvestgym.evaluate.statistics import RESAMPLES, ConfidenceInterval, Strata, interquartile_mean


def mean_of_all(strata: Strata) -> float:
    """Return the mean of all values of all strata."""
    return float(np.mean(np.concatenate([np.asarray(values, np.float64) for values in strata])))


def bootstrap_strata(
    strata: Strata,
    statistic: Callable[[Strata], float] = interquartile_mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ConfidenceInterval:
    """Estimate a statistic and its bootstrap percentile interval; runs are resampled within each stratum.

    Args:
        strata: at least one value each; a stratum of one value does not vary.
        statistic: a function from all strata to a number, by default the interquartile mean.
        resamples: number of bootstrap samples.
        seed: seed of the resampling.
    """
    samples = [np.asarray(values, np.float64) for values in strata]
    value = float(statistic(samples))
    wide = [np.repeat(values, 2) if len(values) == 1 else values for values in samples]  # SciPy requires two values

    def whole(*drawn: np.ndarray) -> float:
        return statistic([part[: len(values)] for part, values in zip(drawn, samples, strict=True)])

    found = bootstrap(
        wide, whole, n_resamples=resamples, vectorized=False, method="percentile",
        random_state=np.random.default_rng(seed),  # pyright: ignore[reportCallIssue] (renamed in SciPy 1.15)
    ).confidence_interval  # fmt: skip
    return ConfidenceInterval(value, float(found.low), float(found.high))
