"""Bootstrap intervals and claims, against closed forms and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from harvestgym.evaluate.studies.common.findings import (
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
