"""Risk measures against values worked out by hand and against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvestgym.evaluate.risk import cvar, summarise

samples = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40)


def test_cvar_by_hand() -> None:
    values = np.arange(10.0)[::-1]
    assert cvar(values, 0.1) == 0.0
    assert cvar(values, 0.2) == 0.5
    assert cvar(values, 0.25) == pytest.approx((0 + 1 + 0.5 * 2) / 2.5)
    assert cvar(values, 1.0) == 4.5


@given(samples, st.floats(0.01, 1.0))
def test_cvar_is_the_best_threshold_of_rockafellar_and_uryasev(values: list[float], level: float) -> None:
    """CVaR_a = max over z of z - E[(z - X)+] / a, reached at one of the values."""
    x = np.asarray(values)
    best = max(z - np.maximum(z - x, 0).mean() / level for z in x)
    assert cvar(x, level) == pytest.approx(best, abs=1e-6)


@given(samples)
def test_cvar_never_exceeds_the_mean(values: list[float]) -> None:
    assert cvar(np.asarray(values)) <= np.mean(values) + 1e-9


@pytest.mark.parametrize(("values", "level"), [([], 0.1), ([1.0], 0.0), ([1.0], 1.5)])
def test_bad_input_is_refused(values: list[float], level: float) -> None:
    with pytest.raises(ValueError, match="wanted 0 < level <= 1"):
        cvar(np.asarray(values), level)


def test_the_interval_covers_the_mean_about_95_times_in_100() -> None:
    """2,000 samples of 200: the share of misses is 0.05 within 0.015 (three standard deviations)."""
    rng = np.random.default_rng(0)
    draws = rng.gamma(2.0, size=(2000, 200))
    told = [summarise(sample) for sample in draws]
    missed = np.mean([not s.low <= 2.0 <= s.high for s in told])
    assert abs(missed - 0.05) < 0.015
