"""Eq. (1) against the formula written out, and the names of its drivers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.core.errors import ConfigError
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.response import Response, Window, distance, driver_names, expglm, exponents, power

finite = st.floats(-100, 100, width=32, allow_subnormal=False)


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


def test_the_distance_to_an_interval() -> None:
    found = distance(jnp.asarray([-3.0, -1.0, 0.5, 2.0, 4.5]), -1.0, 2.0)
    np.testing.assert_array_equal(found, [2.0, 0.0, 0.0, 0.0, 2.5])


def test_a_strain_lowers_a_response_as_a_driver_does() -> None:
    assert driver_names(Two) == ("cold", "wet")
    plain, strained = (float(expglm(response(0, 1, 2.0), strain, cold=1.5, wet=0.5)) for strain in (0.0, 0.5))
    assert plain == pytest.approx(np.exp(-0.25 - 1)) and strained == pytest.approx(plain * np.exp(-0.5))


def test_a_power_is_that_of_positive_numbers_with_a_finite_slope_everywhere() -> None:
    bases = jnp.asarray([-4.0, 0.0, 0.25, 1.0, 9.0])
    np.testing.assert_allclose(power(bases, 0.5), [0, 0, 0.5, 1, 3])
    slopes = jax.vmap(jax.grad(lambda base: power(base, 0.5)))(bases)
    np.testing.assert_allclose(slopes, [0, 0, 1, 0.5, 1 / 6], rtol=1e-6)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"low": 2, "high": 2}, None),
        ({"low": -np.inf, "high": np.inf}, None),
        ({"low": -1e6, "high": 1e6}, None),
        ({"low": 3, "high": 2}, "low: expected at most high (2), got 3"),
        ({"low": np.inf, "high": np.inf}, "low: expected a number, or -.inf for no bound, got inf"),
        ({"low": -np.inf, "high": -np.inf}, "high: expected a number, or .inf for no bound, got -inf"),
    ],
)
def test_a_window_is_an_interval(ends: dict[str, float], words: str | None) -> None:
    window = Window(**{name: np.float32(end) for name, end in ends.items()}, sensitivity=np.float32(1))  # pyright: ignore
    messages = list(window.check())
    assert messages == ([] if words is None else [words])


def test_the_end_of_a_window_is_within_a_million_or_infinite() -> None:
    drought = {"low": -1e6, "high": 1e6, "sensitivity": 1}
    assert float(bean(drought | {"low": -np.inf}).fruit.ripen.drought.high) == 1e6
    for end, value in (("low", -1_000_000.5), ("high", 1_000_000.5)):
        with pytest.raises(ConfigError, match=f"{end}: expected"):
            bean(drought | {end: value})


def bean(drought: dict[str, float]) -> Plant:
    return Plant.named({"extends": "bean", "fruit": {"ripen": {"drought": drought}}})
