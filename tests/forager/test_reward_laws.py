"""Reward laws against their closed forms, and the same on the host and under JAX."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager.host_engine.rewards import HostContext
from harvestgym.forager.jax_engine.rewards import JaxContext
from harvestgym.forager.reward_laws import LAWS, MAX_PERIOD, Constant, Fourier, RewardSeries, Sine, Square

WORDS = (123, 456)
EXAMPLES = (
    Constant(2.5),
    Sine(1.5, 40, mean=0.3, shift=7),
    Square(1.0, -2.0, 30),
    Fourier(4, 50, 2.0),
    RewardSeries((1.0, -3.0, 0.5), every=4),
)


def series(law, steps: int, words=WORDS, generation: int = 0) -> np.ndarray:
    """Return the reward of a law at the first steps."""
    return np.array([float(law(HostContext(t, words, 0, generation))) for t in range(steps)])


def test_a_constant_is_constant():
    assert (series(Constant(-1.5), 50) == -1.5).all()


def test_a_sine_is_its_formula():
    t = np.arange(200)
    expected = 0.3 + 1.5 * np.sin(2 * np.pi * (t + 7) / 40)
    np.testing.assert_allclose(series(EXAMPLES[1], 200), expected, atol=1e-5)


def test_a_sine_has_its_mean_and_its_amplitude_over_a_period():
    values = series(Sine(2.0, 64, mean=0.5), 64)
    assert values.mean() == pytest.approx(0.5, abs=1e-5)
    assert np.sqrt(2 * values.var()) == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("shift", [0, 1, 39, 40, -3])
def test_a_shift_moves_a_sine_in_time(shift):
    shifted, plain = series(Sine(1.0, 40, shift=shift), 40), series(Sine(1.0, 40), 40)
    np.testing.assert_allclose(shifted, np.roll(plain, -shift), atol=1e-5)


def test_a_square_is_first_then_second():
    assert series(Square(1, -2, 10), 20).tolist() == ([1.0] * 5 + [-2.0] * 5) * 2
    assert series(Square(1, -2, 7), 7).tolist() == [1.0] * 3 + [-2.0] * 4


def test_a_series_repeats_each_value_and_then_itself():
    assert series(RewardSeries((1.0, -3.0, 0.5), every=2), 12).tolist() == [1, 1, -3, -3, 0.5, 0.5] * 2


@pytest.mark.parametrize("law", EXAMPLES, ids=lambda law: type(law).__name__)
def test_a_law_is_periodic_after_any_number_of_steps(law):
    period = getattr(law, "period", 12)
    for clock in (5, 5 + period * 10**12):
        assert float(law(HostContext(clock, WORDS, 0, 0))) == float(law(HostContext(5, WORDS, 0, 0)))


@pytest.mark.parametrize("terms", [1, 3, 16])
def test_a_fourier_series_has_its_variance_on_average(terms):
    values = np.stack([series(Fourier(terms, 40, 1.5), 40, (seed, 0)) for seed in range(400)])
    assert values.mean() == pytest.approx(0, abs=0.1)
    assert (values**2).mean() == pytest.approx(1.5**2, rel=0.1)


def test_a_fourier_series_has_mean_zero_over_its_period():
    for seed in range(5):
        assert series(Fourier(5, 48), 48, (seed, 1)).mean() == pytest.approx(0, abs=1e-5)


def test_a_fourier_series_has_the_harmonics_that_it_names_only():
    spectrum = np.abs(np.fft.rfft(series(Fourier(3, 64), 64)))
    assert (spectrum[[1, 2, 3]] > 1e-3).all()
    assert spectrum[4:].max() < 1e-4


def test_a_fourier_series_is_drawn_again_for_each_generation_kind_and_seed():
    law = Fourier(4, 32)
    first = series(law, 32)
    assert (series(law, 32) == first).all()
    for other in (series(law, 32, generation=1), series(law, 32, (124, 456))):
        assert not np.allclose(other, first)
    assert float(law(HostContext(3, WORDS, 1, 0))) != first[3]


@pytest.mark.parametrize("law", EXAMPLES, ids=lambda law: type(law).__name__)
def test_a_law_is_the_same_on_the_host_and_under_jax(law):
    words = jnp.array(WORDS, jnp.uint32)
    for clock in (0, 17, 2**32 + 5):
        traced = law(JaxContext(jnp.uint32(clock >> 32), jnp.uint32(clock % 2**32), words, 2, jnp.uint32(3)))
        assert float(traced) == pytest.approx(float(law(HostContext(clock, WORDS, 2, 3))), abs=1e-5)


def test_the_catalogue_names_every_law():
    assert set(LAWS.values()) == {type(law) for law in EXAMPLES}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Constant(float("nan")), "value: expected a finite number, got nan"),
        (lambda: Sine(1.0, 0), "period: expected greater than or equal to 1, got 0"),
        (lambda: Sine(1.0, 2.5), "period: expected a valid integer"),
        (lambda: Square(1.0, 0.0, MAX_PERIOD + 1), "period: expected less than or equal to 16777215"),
        (lambda: Square(1.0, 0.0, True), "period: expected a valid integer, got True"),
        (lambda: Fourier(0, 10), "terms: expected greater than or equal to 1, got 0"),
        (lambda: Fourier(65, 10), "terms: expected less than or equal to 64, got 65"),
        (lambda: RewardSeries(()), "values: .*at least 1 item"),
        (lambda: RewardSeries((1.0, float("inf"))), "values > 1: expected a finite number, got inf"),
    ],
)
def test_a_law_that_cannot_be_is_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()
