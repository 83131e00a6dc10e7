"""Comparisons over several ids agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.aggregates import bootstrap_strata


def test_strata_are_resampled_apart() -> None:
    """Values that are equal within strata leave nothing to resample, although strata differ."""
    found = bootstrap_strata(
        [[1.0, 1.0, 1.0], [5.0, 5.0], [9.0]], lambda strata: float(np.mean(np.concatenate(strata)))
    )
    assert found == pytest.approx((22 / 6, 22 / 6, 22 / 6))


def test_the_bootstrap_has_the_standard_error_of_a_stratified_mean() -> None:
    """For the mean of two strata of n runs, se² = (s1² + s2²) / 4n with the population variances."""
    rng = np.random.default_rng(6)
    strata = [rng.normal(0.0, 1.0, 50), rng.normal(4.0, 2.0, 50)]
    found = bootstrap_strata(strata, lambda s: float(np.mean([np.mean(values) for values in s])), resamples=4000)
    error = np.sqrt((strata[0].var() + strata[1].var()) / 200)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.06)
    assert found.value == pytest.approx(np.mean(strata))
