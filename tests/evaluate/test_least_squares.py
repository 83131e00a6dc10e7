"""Searches: smooth errors are followed, rugged ones recognised, and intervals contain the truth as often as said."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from harvestgym.evaluate.least_squares import (
    Errors,
    descend,
    descend_or_evolve,
    evolve,
    find_half_widths,
    find_slopes,
)

TIMES = np.linspace(0, 3, 25)
TRUTH = np.array([0.7, 0.3])


def curve(points: np.ndarray) -> np.ndarray:
    """Return a decay (points, times) with an amplitude and a rate."""
    return points[:, :1] * np.exp(-3 * points[:, 1:] * TIMES)


def differ(points: np.ndarray, noise: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the errors of a decay."""
    return curve(points) - curve(TRUTH[None]) - noise


def count(errors: Errors) -> tuple[Errors, list[int]]:
    """Return errors that note the number of points of each call."""
    sizes: list[int] = []

    def counted(points: np.ndarray) -> np.ndarray:
        sizes.append(len(points))
        assert (points >= 0).all() and (points <= 1).all()
        return errors(points)

    return counted, sizes


def test_a_descent_finds_the_truth_with_a_tenth_of_the_points() -> None:
    (smooth, few), (same, many) = count(differ), count(differ)
    found, other = descend(smooth, np.array([0.1, 0.9]), seed=0), evolve(same, np.array([0.1, 0.9]), seed=0)
    np.testing.assert_allclose(found.point, TRUTH, atol=2e-3)
    np.testing.assert_allclose(other.point, TRUTH, atol=2e-2)
    assert found.settled and sum(few) < sum(many) / 10 and set(few) == {3}, "all calls have the same shape"


def test_a_descent_stays_within_the_ranges() -> None:
    """The truth is a larger amplitude than the range allows: the best point is at its end, with a fitting rate."""
    found = descend(lambda points: curve(points) - 1.3 * np.exp(-TIMES), np.array([0.2, 0.2]), seed=0)
    rates = np.linspace(0, 1, 2001)
    losses = np.mean((curve(np.stack([np.ones(2001), rates], 1)) - 1.3 * np.exp(-TIMES)) ** 2, axis=1)
    assert found.settled and found.point == pytest.approx([1.0, rates[losses.argmin()]], abs=5e-3)


def hop(points: np.ndarray) -> np.ndarray:
    """Return errors with waves that are shorter than the step of slopes."""
    return differ(points) + 0.2 * np.sin(500 * points[:, 1:] + TIMES)


@pytest.mark.parametrize("errors", [lambda points: np.round(differ(points), 1), hop])
def test_a_search_evolves_where_slopes_do_not_help(errors: Errors) -> None:
    start = np.array([0.1, 0.9])
    alone, found = descend(errors, start, seed=1), descend_or_evolve(errors, start, seed=1)
    assert not alone.settled and found.how == "differential evolution" and found.loss <= alone.loss
    assert found.loss == pytest.approx(np.mean(errors(found.point[None]) ** 2))


def test_a_parameter_without_effect_is_not_settled_and_has_no_interval() -> None:
    errors: Errors = lambda points: curve(points * [1, 0] + [[0, 0.3]]) - curve(TRUTH[None])  # noqa: E731
    found = descend(errors, np.array([0.1, 0.5]), seed=0)
    assert not found.settled and found.loss < 1e-6
    assert np.isinf(find_half_widths(errors, found.point)).all()


def test_slopes_are_those_of_the_curve() -> None:
    now, slopes = find_slopes(differ, np.array([0.6, 0.4]))
    decay = np.exp(-1.2 * TIMES)
    np.testing.assert_allclose(now, differ(np.array([[0.6, 0.4]]))[0])
    np.testing.assert_allclose(slopes, np.stack([decay, -1.8 * TIMES * decay], 1), atol=0.02)


@pytest.mark.parametrize("alike", [0.0, 0.7])
def test_intervals_contain_the_truth_as_often_as_they_say(alike: float) -> None:
    """Of 200 series, with errors that are independent or follow each other."""
    rng, inside = np.random.default_rng(0), []
    for _ in range(200):
        noise = 0.05 * rng.normal(size=len(TIMES))
        for i in range(1, len(TIMES)):
            noise[i] = alike * noise[i - 1] + np.sqrt(1 - alike**2) * noise[i]
        errors = partial(differ, noise=noise)
        found = descend(errors, np.array([0.5, 0.5]), seed=0)
        inside.append(np.abs(found.point - TRUTH) < find_half_widths(errors, found.point))
    assert (np.mean(inside, axis=0) > (0.9 if alike == 0 else 0.75)).all() and np.mean(inside) < 0.99


@pytest.mark.parametrize("values", [2, 3, 4])
def test_intervals_from_few_observations_are_wide_enough(values: int) -> None:
    """The means of 2000 samples; without a value beyond the number of parameters, there is no interval."""
    noise = 0.01 * np.random.default_rng(0).normal(size=(2000, values))
    means = noise.mean(1, keepdims=True) + 0.5
    widths = [find_half_widths(lambda points, e=e: points - 0.5 - e, m)[0] for e, m in zip(noise, means, strict=True)]
    assert np.mean(np.abs(means[:, 0] - 0.5) < widths) > 0.93
    assert np.isinf(find_half_widths(lambda points: points - 0.5, np.array([0.5]))).all()
