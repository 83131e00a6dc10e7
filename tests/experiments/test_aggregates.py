"""Comparisons over several ids agree with published examples and with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.aggregates import bootstrap_strata, performance_profile, probability_of_improvement


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


def test_a_performance_profile_counts_the_runs_above_each_level() -> None:
    """One id has runs 0.2, 0.6, 1.0, another 1.2 alone: above 0.5 are 2/3 and 1 of them."""
    profile = performance_profile([[0.2, 0.6, 1.0], [1.2]], [0.0, 0.5, 1.0, 2.0])
    assert profile == pytest.approx([1.0, (2 / 3 + 1) / 2, 0.5, 0.0])


def test_the_probability_of_improvement_agrees_with_a_published_example() -> None:
    """Aesop's race of Wikipedia, "Mann-Whitney U test": the order of six tortoises and hares T H H H H H T T T T T H.

    The first tortoise beats six hares and each other one hare: U = 11 of 36 pairs.
    """
    order = "THHHHHTTTTTH"
    tortoises, hares = ([-i for i, one in enumerate(order) if one == kind] for kind in "TH")
    assert probability_of_improvement([tortoises], [hares]) == pytest.approx(11 / 36)
    assert probability_of_improvement([tortoises, [1.0]], [hares, [1.0]]) == pytest.approx((11 / 36 + 0.5) / 2)
