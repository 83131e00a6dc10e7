"""Claims of a study: an effect with its bootstrap interval, and the bound that the whole interval must meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.evaluate.statistics import RESAMPLES, ConfidenceInterval


class Claim(NamedTuple):
    """A statement about a model: an effect, the bound for its whole interval, and whether it holds."""

    text: str
    effect: ConfidenceInterval
    bound: str
    holds: bool


def bootstrap(
    statistic: Callable[..., Any], *samples: np.ndarray, resamples: int = RESAMPLES, seed: int = 0
) -> ConfidenceInterval:
    """Return a statistic with its 95 % percentile bootstrap interval over seasons (the last axis of every sample).

    All samples are resampled with the same seasons, so pairs stay pairs. `statistic` reduces the last axis; resamples
    for which it is NaN are left out.
    """
    seasons = samples[0].shape[-1]
    draws = np.random.default_rng(seed).integers(0, seasons, (resamples, seasons))
    found = [statistic(*(sample[..., draw] for sample in samples)) for draw in draws]
    low, high = np.nanquantile(found, (0.025, 0.975))
    return ConfidenceInterval(float(statistic(*samples)), float(low), float(high))


def ratio(a: np.ndarray, b: np.ndarray) -> ConfidenceInterval:
    """Return the mean of `a` divided by the mean of `b`."""
    return bootstrap(lambda x, y: x.mean(-1) / np.maximum(y.mean(-1), 1e-9), a, b)


def difference(a: np.ndarray, b: np.ndarray) -> ConfidenceInterval:
    """Return the mean of `a` minus the mean of `b`."""
    return bootstrap(lambda x, y: x.mean(-1) - y.mean(-1), a, b)


def claim_at_least(text: str, effect: ConfidenceInterval, bound: float) -> Claim:
    """Claim that an effect is at least `bound`."""
    return Claim(text, effect, f"at least {bound:g}", effect.low >= bound)


def claim_at_most(text: str, effect: ConfidenceInterval, bound: float) -> Claim:
    """Claim that an effect is at most `bound`."""
    return Claim(text, effect, f"at most {bound:g}", effect.high <= bound)


def claim_within(text: str, effect: ConfidenceInterval, low: float, high: float) -> Claim:
    """Claim that an effect lies between two bounds."""
    return Claim(text, effect, f"{low:g} to {high:g}", low <= effect.low and effect.high <= high)


def claims_table(claims: Sequence[Claim], replicates: int) -> Table:
    """Make the table of a study's claims; `replicates` is the number of seasons in its title."""
    title = f"claims, with 95 % intervals over {replicates} seasons"
    rows = [(c.text, str(c.effect), c.bound, "yes" if c.holds else "no") for c in claims]
    return Table(title, ("claim", "effect", "wanted", "holds"), rows)
