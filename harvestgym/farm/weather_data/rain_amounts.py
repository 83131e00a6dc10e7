"""Rain amounts of rainy days: gamma quantiles, computed once on the host and interpolated by the generator.

A table needs no rejection loop and no key, so a day of rain takes one uniform number. Its nodes are evenly spaced in
the standard normal of that number, and the gamma quantile is a smooth function of it.
"""

from __future__ import annotations

import math

import numpy as np

NODES = 89
REACH = 5.5
"""Standard normal of the last node (minus this at the first); no float32 uniform in [0, 1) reaches 5.42."""


def gamma_cdf(shape: float, x: np.ndarray) -> np.ndarray:
    """Return P(X <= x) of a gamma distribution of scale 1, by the power series of the incomplete gamma function."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    for n in range(1, int(2 * x.max() + 60)):
        term = term * x / (shape + n)
        total += term
    return np.exp(shape * np.log(x) - x - math.lgamma(shape + 1)) * total


def gamma_quantiles(shape: float) -> np.ndarray:
    """Return the quantiles of a gamma distribution of scale 1 at the nodes; (NODES,)."""
    top = shape + 6 * math.sqrt(shape) + 20  # the mass above is less than 1e-9
    x = np.geomspace(1e-8, top, 4000)
    uniforms = [math.erfc(-z / math.sqrt(2)) / 2 for z in np.linspace(-REACH, REACH, NODES)]
    return np.interp(uniforms, gamma_cdf(shape, x), x, left=0.0)


def amount_quantiles(mean: float, shape: float, least: float) -> np.ndarray:
    """Return amounts (mm) at the nodes: `least` plus a gamma variable, with this mean and variance mean**2 / shape."""
    above = mean - least
    shape_above = shape * (above / mean) ** 2
    return least + gamma_quantiles(shape_above) * above / shape_above
