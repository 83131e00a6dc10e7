"""Noise in growth, surveys and quotas, as small callables.

A noise maps a value and one standard draw `z` to the disturbed value. It also defines the distribution of `z`, so
the same object is used for simulation (one draw) and for integration (quadrature, in `analysis`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.pytree import Pytree, par
from harvestgym.core.random import normal

from .growth import MAX_BIOMASS

MAX_SIGMA = 10.0
"""Largest standard deviation, of a logarithm or of a relative change."""


class Noise(Checked, Pytree):
    """No noise, and the base class of the others, whose `sigma` is the size of the noise.

    Attributes:
        nodes: function `nodes(n)` that returns `n` values of the standard draw, and their weights up to a factor, by
            Gaussian quadrature.
    """

    nodes: ClassVar[Any] = staticmethod(np.polynomial.hermite_e.hermegauss)

    def draw(self, u: Array) -> Array:
        """Return the standard draw from a uniform `u` in [0, 1); normal unless overridden."""
        return normal(u)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        """Disturb `value` by the draw `z`; `left` is the stock from which it grew (for surveys, the same value)."""
        return value

    @property
    def random(self) -> bool:
        """Return whether the noise needs a draw."""
        return type(self) is not Noise


class Lognormal(Noise):
    """value * exp(sigma z - sigma^2/2): multiplicative with mean one, so that noise does not change mean growth."""

    sigma: Array = par("sigma", "standard deviation of the logarithm", low=0.0, high=MAX_SIGMA, default=0.1)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return value * jnp.exp(self.sigma * (z - 0.5 * self.sigma))


class MedianLognormal(Noise):
    """value * exp(sigma z): the *median* is the value (gym_fishing v5-v11); the mean is exp(sigma^2/2) times it."""

    sigma: Array = par("sigma", "standard deviation of the logarithm", low=0.0, high=MAX_SIGMA, default=0.1)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return value * jnp.exp(self.sigma * z)


class Proportional(Noise):
    """value + sigma * left * z, clipped at 0: additive, proportional to the stock left, as in gym_fishing v0-v4."""

    sigma: Array = par("sigma", "standard deviation as a share of the stock left", low=0.0, high=MAX_SIGMA, default=0.1)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return jnp.maximum(value + self.sigma * left * z, 0.0)


class Additive(Noise):
    """value + sigma z, clipped at 0; a stock of 0 stays 0."""

    sigma: Array = par("sigma", "standard deviation, in the unit of biomass", low=0.0, high=MAX_BIOMASS, default=0.02)

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return jnp.where(value > 0, jnp.maximum(value + self.sigma * z, 0.0), 0.0)


class Uniform(Noise):
    """value * U(1 - sigma, 1 + sigma): bounded shocks, for which the theorem of Reed (1979) holds exactly."""

    sigma: Array = par("sigma", "half width w of the shocks", low=0.0, high=1.0, default=0.1)
    nodes = staticmethod(np.polynomial.legendre.leggauss)

    def draw(self, u: Array) -> Array:
        return 2 * u - 1

    def __call__(self, z: Array, value: Array, left: Array) -> Array:
        return value * (1 + self.sigma * z)
