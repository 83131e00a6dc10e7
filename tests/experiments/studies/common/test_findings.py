"""Bootstrap intervals and claims, against closed forms and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from experiments.studies.common.findings import (
    Claim,
    ConfidenceInterval,
    bootstrap,
    claim_at_least,
    claim_at_most,
    claim_within,
    claims_table,
    difference,
    ratio,
)

SAMPLE = np.random.default_rng(1).gamma(2.0, size=300)


def test_the_interval_agrees_with_the_bootstrap_of_scipy() -> None:
    found = bootstrap(lambda x: x.mean(-1), SAMPLE)
    known = scipy.stats.bootstrap((SAMPLE,), np.mean, method="percentile", rng=np.random.default_rng(2))
    low, high = known.confidence_interval
    width = high - low
    assert found.value == pytest.approx(SAMPLE.mean())
    assert found.low == pytest.approx(low, abs=0.1 * width) and found.high == pytest.approx(high, abs=0.1 * width)


def test_pairs_stay_pairs() -> None:
    """A difference that is the same in every season has no spread, however much the seasons differ."""
    assert difference(SAMPLE + 2, SAMPLE) == pytest.approx((2.0, 2.0, 2.0))
    assert ratio(3 * SAMPLE, SAMPLE) == pytest.approx((3.0, 3.0, 3.0))


def test_more_seasons_narrow_the_interval() -> None:
    widths = [(found := bootstrap(lambda x: x.mean(-1), SAMPLE[:n])).high - found.low for n in (30, 300)]
    assert widths[1] < 0.5 * widths[0]


def test_the_same_sample_gives_the_same_interval() -> None:
    assert bootstrap(lambda x: x.std(-1), SAMPLE) == bootstrap(lambda x: x.std(-1), SAMPLE)


def test_cases_are_reduced_after_the_draw() -> None:
    """A statistic of several cases sees the same seasons of each."""
    cases = np.stack([SAMPLE, SAMPLE])
    assert bootstrap(lambda x: x.mean(-1)[0] - x.mean(-1)[1], cases) == pytest.approx((0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("claim", "bound", "holds"),
    [
        (claim_at_least("", ConfidenceInterval(2, 1, 3), 1), "at least 1", True),
        (claim_at_least("", ConfidenceInterval(2, 1, 3), 1.1), "at least 1.1", False),
        (claim_at_most("", ConfidenceInterval(2, 1, 3), 3), "at most 3", True),
        (claim_at_most("", ConfidenceInterval(2, 1, 3), 2.9), "at most 2.9", False),
        (claim_within("", ConfidenceInterval(2, 1, 3), 0.5, 3.5), "0.5 to 3.5", True),
        (claim_within("", ConfidenceInterval(2, 1, 3), 1.5, 3.5), "1.5 to 3.5", False),
    ],
)
def test_a_claim_holds_for_the_whole_interval(claim: Claim, bound: str, holds: bool) -> None:
    assert (claim.bound, claim.holds) == (bound, holds)


def test_the_table_of_claims_marks_what_holds() -> None:
    claims = [
        claim_at_least("more", ConfidenceInterval(2, 1, 3), 0),
        claim_at_most("less", ConfidenceInterval(2, 1, 3), 1),
    ]
    table = claims_table(claims, 30)
    assert "30 seasons" in table.title and [row[0] for row in table.rows] == ["more", "less"]
    assert [row[-1] for row in table.rows] == ["yes", "no"] and table.rows[0][1] == "2 (1 to 3)"


@pytest.mark.parametrize("name", ["mean", "median", "std"])
def test_the_interval_of_any_statistic_agrees_with_scipy(name: str) -> None:
    statistic = getattr(np, name)
    found = bootstrap(lambda x: statistic(x, axis=-1), SAMPLE)
    known = scipy.stats.bootstrap((SAMPLE,), statistic, method="percentile", rng=np.random.default_rng(2))
    low, high = known.confidence_interval
    assert found.value == statistic(SAMPLE)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.15 * (high - low))


def test_a_paired_difference_agrees_with_scipy() -> None:
    """Of correlated samples the paired interval is narrower than that of independent ones."""
    other = 0.5 * SAMPLE + np.random.default_rng(4).normal(size=SAMPLE.size)
    found = difference(SAMPLE, other)
    paired, apart = (
        scipy.stats.bootstrap(
            (SAMPLE, other), lambda x, y, axis: x.mean(axis) - y.mean(axis), method="percentile", paired=paired,
            vectorized=True, rng=np.random.default_rng(2),
        ).confidence_interval
        for paired in (True, False)
    )  # fmt: skip
    width = paired.high - paired.low
    assert (found.low, found.high) == pytest.approx((paired.low, paired.high), abs=0.1 * width)
    assert width < 0.9 * (apart.high - apart.low)


def test_interval_is_stable_over_resamples() -> None:
    few, many = (bootstrap(lambda x: x.mean(-1), SAMPLE, resamples=n) for n in (1000, 4000))
    assert few.value == many.value
    assert (few.low, few.high) == pytest.approx((many.low, many.high), abs=0.1 * (many.high - many.low))


def test_the_interval_covers_the_truth_about_95_times_in_100() -> None:
    """300 samples of 60 normal numbers: the share of misses is 0.05 within four standard deviations, 0.05."""
    draws = np.random.default_rng(0).normal(size=(300, 60))
    found = [bootstrap(lambda x: x.mean(-1), sample, resamples=400) for sample in draws]
    missed = np.mean([not each.low <= 0 <= each.high for each in found])
    assert abs(missed - 0.05) < 0.05


def test_a_ratio_to_nothing_is_large_and_finite() -> None:
    found = ratio(SAMPLE, np.zeros_like(SAMPLE))
    assert np.isfinite(found).all() and found.low > 1e6
