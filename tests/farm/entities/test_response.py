"""Eq. (1) against the formula written out, and the names of its drivers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import pytree
from harvestgym.farm.entities.response import Response, Window, distance, expglm, exponents

finite = st.floats(-100, 100, width=32, allow_subnormal=False)


@pytree
class Two(Response):
    """Two drivers."""

    cold: Window
    wet: Window


def response(low: float, high: float, slope: float, intercept: float = 0.25) -> Two:
    window = Window(low=np.float32(low), high=np.float32(high), sensitivity=np.float32(slope))
    return Two(intercept=np.float32(intercept), cold=window, wet=window)  # pyright: ignore[reportArgumentType]


@settings(deadline=None)
@given(finite, finite, finite, finite, st.floats(0, 3, width=32))
def test_equation_1(x: float, y: float, a: float, b: float, slope: float) -> None:
    low, high = min(a, b), max(a, b)
    by_hand = 0.25 + slope * sum(low - v if v < low else v - high if v > high else 0.0 for v in (x, y))
    got = expglm(response(low, high, slope), cold=x, wet=y)
    np.testing.assert_allclose(got, np.exp(-by_hand), rtol=1e-3, atol=1e-30)


@given(finite, finite)
def test_an_open_end_never_hurts(value: float, low: float) -> None:
    assert float(distance(np.float32(value), np.float32(low), np.inf)) == max(np.float32(low) - np.float32(value), 0)


def test_each_term_can_be_asked_for() -> None:
    terms = exponents(response(0, 1, 2.0), {"cold": np.float32(-1), "wet": np.float32(0.5)})
    assert {k: float(v) for k, v in terms.items()} == {"cold": 2.0, "wet": 0.0}


def test_a_missing_or_misspelt_driver_is_refused() -> None:
    for drivers in ({"cold": 1.0}, {"cold": 1.0, "wett": 1.0}):
        with pytest.raises(ConfigError, match="Two: expected a driver for the window 'wet'"):
            expglm(response(0, 1, 1.0), **drivers)
