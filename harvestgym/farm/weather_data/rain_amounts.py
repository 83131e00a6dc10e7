"""Rain amounts of rainy days: gamma quantiles, tabulated once on the host and interpolated by the generator.

A table asks for no rejection loop and no key, so a day of rain costs one uniform. Its nodes are evenly spaced
in the standard normal of the uniform, against which a gamma quantile is smooth from end to end.
"""

from __future__ import annotations

import math

import numpy as np

NODES = 89
REACH = 5.5
"""Standard normal of the last node (less at the first); no float32 uniform in [0, 1) reaches 5.42."""


def gamma_cdf(shape: float, x: np.ndarray) -> np.ndarray:
    """P(X <= x) of a gamma distribution of scale 1, by the power series of the incomplete gamma function."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    for n in range(1, int(2 * x.max() + 60)):
        term = term * x / (shape + n)
        total += term
    return np.exp(shape * np.log(x) - x - math.lgamma(shape + 1)) * total


def gamma_quantiles(shape: float) -> np.ndarray:
    """Quantiles of a gamma distribution of scale 1 at the nodes; (NODES,)."""
    top = shape + 6 * math.sqrt(shape) + 20  # where less than 1e-9 lies above
    x = np.geomspace(1e-8, top, 4000)
    uniforms = [math.erfc(-z / math.sqrt(2)) / 2 for z in np.linspace(-REACH, REACH, NODES)]
    return np.interp(uniforms, gamma_cdf(shape, x), x, left=0.0)


def amount_quantiles(mean: float, shape: float, least: float) -> np.ndarray:
    """Amounts (mm) at the nodes: `least` and a gamma above, in all of this mean and variance mean**2 / shape."""
    above = mean - least
    shape_above = shape * (above / mean) ** 2
    return least + gamma_quantiles(shape_above) * above / shape_above
