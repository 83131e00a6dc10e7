"""Growth laws for a single stock: small callables from the stock after harvest to next year's stock.

A law returns the mean; noise multiplies it or is added to it (`noise.py`). Biomass is in the same unit as K, and rates
are per year. Every law works elementwise on arrays of stocks, so a single call covers a grid of biomasses.

To add a law, add a class here. In files, its name is the class name in lower case with hyphens (`beverton-holt` for
`BevertonHolt`), and its entries are the `par` fields. Capacity and reference points are computed numerically unless the
class defines them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.pytree import Pytree, par

MAX_RATE = 20.0
"""Largest growth rate or factor per year; no fish stock grows faster, and larger values could overflow float32."""

MAX_BIOMASS = 1e9
"""Largest value for a biomass parameter, in its own unit."""

MAX_STEEPNESS = 20.0
"""Largest exponent of a response."""


class GrowthLaw(Checked, Pytree):
    """A fishery's biology: growth, the effect of harvests, and survey results.

    A law for one stock overrides only `__call__`. The methods below are for a single stock, of shape (1,); laws with
    several state variables override them.

    Attributes:
        shows_predator: whether the last value of a survey is a predator that is not fished.
    """

    shows_predator: ClassVar[bool] = False

    def __call__(self, left: Array) -> Array:
        """Return next year's mean stock from the stock left after the harvest."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method __call__(self, left), got none")

    @property
    def capacity(self) -> Array:
        """Stock without fishing and noise: `K` if the law has this parameter, otherwise the highest equilibrium."""
        given = getattr(self, "K", None)
        return settle_stock(self, _highest_growing(self)) if given is None else given

    @property
    def stocks(self) -> int:
        """Number of state variables."""
        return 1

    @property
    def targets(self) -> int:
        """Number of quotas set each year."""
        return self._size(self.available)

    @property
    def seen(self) -> int:
        """Number of values that a survey reports."""
        return self._size(self.survey)

    @property
    def noisy(self) -> slice | None:
        """Slice of the state variables that noise affects; None for all."""
        return None

    @property
    def shocks(self) -> int:
        """Number of random draws for a year's growth noise."""
        return len(range(self.stocks)[self.noisy or slice(None)])

    def _size(self, part: Callable[[Array], Array]) -> int:
        return jax.eval_shape(part, jax.ShapeDtypeStruct((self.stocks,), jnp.float32)).shape[-1]

    def start(self, share: Array) -> Array:
        """Return the state for a stock of size `share`, in the unit of K, shape (stocks,)."""
        return jnp.full((self.stocks,), share, jnp.float32)

    def available(self, stock: Array) -> Array:
        """Return the stock that can be caught, shape (targets,)."""
        return stock

    def harvest(self, stock: Array, catch: Array) -> Array:
        """Return the stock after a catch of shape (targets,), which never exceeds the available stock."""
        return stock - catch

    def survey(self, stock: Array) -> Array:
        """Return the result of an exact survey, shape (seen,)."""
        return stock

    def biomass(self, stock: Array) -> Array:
        """Return the biomass that is compared with collapse and other limits, as a scalar."""
        return stock[..., 0]


def settle_stock(law: GrowthLaw, high: Array, years: int = 400) -> Array:
    """Return the stock to which growth converges from `high`."""
    return jax.lax.fori_loop(0, years, lambda _, s: law(s), jnp.asarray(high, jnp.float32))


def _highest_growing(law: GrowthLaw) -> Array:
    """Return the largest stock with positive growth on a logarithmic grid from 1e-4 to 1e4."""
    grid = jnp.logspace(-4, 4, 4001, dtype=jnp.float32)
    return jnp.max(jnp.where(law(grid) > grid, grid, 0.0))


class _RateAndCapacity(GrowthLaw):
    """Base class for laws with a growth rate and a carrying capacity."""

    r: Array = par("r", "intrinsic growth rate, at low stock, per year", low=0.0, high=MAX_RATE, default=0.3)
    K: Array = par("K", "carrying capacity", low=1e-6, high=MAX_BIOMASS, default=1.0)


class Logistic(_RateAndCapacity):
    """Gordon-Schaefer: s + r s (1 - s/K). Schaefer 1954 (doi 10.1007/BF02464432), Gordon 1954.

    Unlike the difference equation in textbooks, it is clipped at 0 for s > K (1 + 1/r).
    """

    def __call__(self, left: Array) -> Array:
        return jnp.maximum(left + self.r * left * (1 - left / self.K), 0.0)


class BevertonHolt(_RateAndCapacity):
    """A s / (1 + s/B) with A = 1 + r and B = K/r: compensation without overshoot (Beverton and Holt 1957)."""

    def __call__(self, left: Array) -> Array:
        return (1 + self.r) * left / (1 + self.r * left / self.K)


class Ricker(_RateAndCapacity):
    """s exp(r (1 - s/K)): overcompensation at high stocks. Ricker 1954 (doi 10.1139/f54-039)."""

    def __call__(self, left: Array) -> Array:
        return left * jnp.exp(self.r * (1 - left / self.K))


class Allee(_RateAndCapacity):
    """s exp(r (1 - s/K) (s - C) / K): declines below the threshold C.

    Allen, Fagan, Hognas and Fagerholm 2005 (doi 10.1080/10236190412331335373).
    """

    C: Array = par("C", "Allee threshold, below which the stock declines", low=0.0, high=MAX_BIOMASS, default=0.5)

    def __call__(self, left: Array) -> Array:
        return left * jnp.exp(self.r * (1 - left / self.K) * (left - self.C) / self.K)


class AlleePublished(_RateAndCapacity):
    """s exp(r (1 - s/K) (1 - C) / K), as in gym_fishing's `fishing-v5`.

    The exponent contains (1 - C) where the literature has (s - C), so there is no threshold: this is Ricker's law with
    rate r (1 - C) / K. It is included for comparison with published agents; use `Allee` for an Allee effect.
    """

    C: Array = par("C", "slows growth without being a threshold", low=0.0, high=1.0, default=0.5)

    def __call__(self, left: Array) -> Array:
        return left * jnp.exp(self.r * (1 - left / self.K) * (1 - self.C) / self.K)


class Myers(GrowthLaw):
    """A s^theta / (1 + s^theta / M): Beverton-Holt with depensation. Myers et al. 1995 (Science 269:1106)."""

    A: Array = par("A", "growth factor", low=0.0, high=MAX_RATE, default=2.0)
    M: Array = par("M", "saturation of recruitment, in biomass^theta", low=1e-6, high=MAX_BIOMASS, default=1.0)
    theta: Array = par("theta", "depensation; 1 is Beverton-Holt", low=1.0, high=MAX_STEEPNESS, default=3.0)

    def __call__(self, left: Array) -> Array:
        power = left**self.theta
        return self.A * power / (1 + power / self.M)

    @property
    def capacity(self) -> Array:
        return settle_stock(self, 2 * self.A * self.M)


class May(GrowthLaw):
    """s + r s (1 - s/M) - a s^q / (s^q + b^q): logistic growth under a saturating predator. May 1977 (Nature 269:471).

    For `a` between its two folds, there are two stable stocks, separated by an unstable one.
    """

    r: Array = par("r", "intrinsic growth rate, per year", low=0.0, high=MAX_RATE, default=0.7)
    M: Array = par("M", "carrying capacity without the predator", low=1e-6, high=MAX_BIOMASS, default=1.5)
    a: Array = par("a", "maximum yearly consumption by the predator", low=0.0, high=MAX_BIOMASS, default=0.2)
    q: Array = par("q", "steepness of the predator's response", low=1.0, high=MAX_STEEPNESS, default=3.0)
    b: Array = par("b", "stock at which the predator eats half of `a`", low=1e-6, high=MAX_BIOMASS, default=0.15)

    def __call__(self, left: Array) -> Array:
        power = left**self.q
        eaten = self.a * power / (power + self.b**self.q)
        return jnp.maximum(left + self.r * left * (1 - left / self.M) - eaten, 0.0)

    @property
    def capacity(self) -> Array:
        return settle_stock(self, self.M)


class PellaTomlinson(_RateAndCapacity):
    """s + r s (1 - (s/K)^theta) / theta: logistic growth with its maximum at another stock.

    Pella and Tomlinson 1969; theta = 1 gives Schaefer's law, and theta -> 0 gives Fox's law.
    """

    r: Array = par("r", "intrinsic growth rate times theta at low stock, per year", low=0.0, high=MAX_RATE, default=0.3)
    theta: Array = par("theta", "shape: S_MSY/K = (1 + theta)^(-1/theta)", low=1e-3, high=MAX_STEEPNESS, default=2.0)

    def __call__(self, left: Array) -> Array:
        slowed = (1 - (left / self.K) ** self.theta) / self.theta
        return jnp.maximum(left + self.r * left * slowed, 0.0)


class Fox(_RateAndCapacity):
    """s - r s ln(s/K): Fox's Gompertz form (1970), with S_MSY = K/e."""

    def __call__(self, left: Array) -> Array:
        safe = jnp.maximum(left / self.K, 1e-30)
        return jnp.maximum(left - self.r * left * jnp.log(safe), 0.0)


class OneOf(GrowthLaw):
    """One of several laws, chosen for each episode (model uncertainty). Laws should use the same unit of biomass."""

    laws: tuple[GrowthLaw, ...]
    which: Array = par("which", "index of the current law", low=0, dtype="int", default=0)

    def check(self) -> Iterator[str]:
        """Yield the errors in the combination of laws."""
        if not self.laws or any(law.stocks != 1 for law in self.laws):
            yield "laws: expected at least one law, each of one stock"
        elif np.max(self.which) >= len(self.laws):
            yield f"which: expected an index below {len(self.laws)}, the number of laws, got {self.which}"

    def __call__(self, left: Array) -> Array:
        return jnp.stack([law(left) for law in self.laws])[self.which]

    @property
    def capacity(self) -> Array:
        return jnp.stack([jnp.asarray(law.capacity) for law in self.laws])[self.which]
