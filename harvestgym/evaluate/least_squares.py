"""Searches for the smallest sum of squared errors. All candidates of a step run in one call, so in one `vmap`.

Points are in the unit cube: 0 and 1 are the ends of each parameter's range. To add a search, write a function with the
arguments and the result of `descend`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

Errors = Callable[[np.ndarray], np.ndarray]
"""Function from points (n, parameters) to the errors of each, (n, observations)."""

SLOPE_STEP = 0.01
"""Difference of a parameter for slopes, as a share of its range; it bridges the jumps of a day or a threshold."""

ITERATIONS = 12
"""Maximum number of points in a descent."""

SETTLED = 0.01
"""Relative gain predicted by the slopes, below which a descent ends."""

RUGGED = 0.25
"""Relative gain predicted by the slopes but found by no step, above which they do not describe the errors."""

EXACT = 1e-8
"""Loss below which further gains do not matter, in squared units of the errors."""

FLAT = 1e-9
"""Mean square of a slope below which a parameter has no effect."""

DAMPINGS = (1e-3, 10.0)
"""Smallest damping, and the damping above which a descent ends because no step lowers the loss."""


class SearchResult(NamedTuple):
    """The result of a search.

    Attributes:
        point: the best point, (parameters,).
        loss: the mean square of its errors.
        how: a human-readable description of the search.
        settled: whether slopes describe the errors around the point, so that there is nothing better nearby.
    """

    point: np.ndarray
    loss: float
    how: str
    settled: bool


Search = Callable[[Errors, np.ndarray, int], SearchResult]
"""A search: errors, start (parameters,), seed of other starts."""


def descend(errors: Errors, start: np.ndarray, seed: int, starts: int = 2) -> SearchResult:
    """Find the best point by the method of Levenberg and Marquardt, from the best of the start and random points.

    It is for errors that change smoothly with the parameters. Slopes are finite differences. Every call has one more
    point than there are parameters, so only one program is compiled.
    """
    first = np.vstack([start, np.random.default_rng(seed).random((len(start), len(start)))])
    order = np.argsort(_square(errors(first)), kind="stable")[:starts]
    return min((_descend_from(errors, point) for point in first[order]), key=lambda found: found.loss)


def _descend_from(errors: Errors, point: np.ndarray) -> SearchResult:
    """Every point that is tried comes with its slopes, as most steps succeed."""
    (now, slopes), damping = find_slopes(errors, point), 10 * DAMPINGS[0]
    loss, better, promised = np.mean(now**2), True, 1.0
    for _ in range(ITERATIONS):
        held = np.where(now @ slopes > 0, point <= 0, point >= 1)
        inner = slopes * ~held
        normal = inner.T @ inner
        scales = damping * np.maximum(np.diagonal(normal), FLAT * len(now))
        tried = np.clip(point - np.linalg.solve(normal + np.diag(scales), now @ inner), 0, 1)
        gain = (loss - np.mean((now + slopes @ (tried - point)) ** 2)) / max(loss, EXACT)
        promised = gain if better else max(promised, gain)
        if gain < SETTLED or damping > DAMPINGS[1]:
            break
        after, after_slopes = find_slopes(errors, tried)
        better = np.mean(after**2) < loss
        damping = max(0.1 * damping, DAMPINGS[0]) if better else 10 * damping
        if better:
            point, now, slopes, loss = tried, after, after_slopes, np.mean(after**2)
    flat = (np.mean(slopes**2, axis=0) < FLAT).any()
    return SearchResult(point, float(loss), "least squares", bool(promised < RUGGED and not flat))


def evolve(errors: Errors, start: np.ndarray, seed: int, members: int = 8, generations: int = 40) -> SearchResult:
    """Find the best point by SciPy's differential evolution, which needs no slopes.

    Args:
        members: candidates per generation for each parameter.
        generations: maximum number of generations.
    """
    from scipy.optimize import differential_evolution

    seeded: Any = {"seed": seed}  # accepted by all versions of SciPy; newer ones also accept rng
    found = differential_evolution(
        lambda points: _square(errors(points.T)), [(0.0, 1.0)] * len(start), x0=start, popsize=members,
        maxiter=generations, vectorized=True, updating="deferred", polish=False, tol=1e-4, **seeded,
    )  # fmt: skip
    return SearchResult(found.x, float(found.fun), "differential evolution", settled=False)


def descend_or_evolve(errors: Errors, start: np.ndarray, seed: int) -> SearchResult:
    """Descend; where slopes do not describe the errors, evolve from the point that was found."""
    found = descend(errors, start, seed)
    return found if found.settled else evolve(errors, found.point, seed)


def find_slopes(errors: Errors, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors at a point, (observations,), and their slopes, (observations, parameters)."""
    steps = np.where(point > 0.5, -SLOPE_STEP, SLOPE_STEP)
    near = errors(point + np.vstack([0 * steps, np.diag(steps)]))
    return near[0], ((near[1:] - near[0]) / steps[:, None]).T


def find_half_widths(errors: Errors, point: np.ndarray) -> np.ndarray:
    """Return half the width of the 95 % interval of each parameter, from the slopes at the best point.

    It is the standard error, multiplied by the quantile of Student's t with one degree of freedom per observation
    beyond the number of parameters; inf without such an observation, or without a slope. Errors of successive
    observations are correlated, so the variance is multiplied by (1 + a) / (1 - a), where a is their autocorrelation,
    as for the mean of such a series.
    """
    now, slopes = find_slopes(errors, point)
    normal, spare = slopes.T @ slopes, len(now) - len(point)
    if spare < 1 or np.linalg.matrix_rank(normal, 1e-9 * max(normal.max(), 1e-30)) < len(point):
        return np.full(len(point), np.inf)
    alike = min(max(now[1:] @ now[:-1] / max(now @ now, 1e-30), 0.0), 0.95)
    variance = now @ now / spare * (1 + alike) / (1 - alike)
    return stdtrit(spare, 0.975) * np.sqrt(variance * np.diagonal(np.linalg.inv(normal)))


def _square(errors: np.ndarray) -> np.ndarray:
    """Return the mean square of the errors of each point, (n,)."""
    return np.mean(errors**2, axis=-1)
