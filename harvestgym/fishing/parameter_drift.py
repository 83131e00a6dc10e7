"""Changes in a growth law: over the years of an episode (drift), and between episodes (vary).

A `vary` is a callable of a key and the law. It returns the values of `FishingParams` for the episode, by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.pytree import Pytree, par, replace, static

from .growth import GrowthLaw, OneOf
from .noise import MAX_SIGMA


class Drift(Checked, Pytree):
    """Parameters that change by `rate` every year, before the stock grows, until they reach `limit`.

    They depend only on the year, so a reset restores their first values.
    """

    names: tuple[str, ...] = static("names", "the parameters that change")
    rate: Any = par("rate", "change per year, one for each name")
    limit: Any = par("limit", "limit of the change, one for each name")

    def check(self) -> Iterator[str]:
        """Yield an error for each list of numbers that does not match the names."""
        yield from _find_mismatches(self.names, rate=self.rate, limit=self.limit)

    def __call__(self, law: GrowthLaw, year: Array) -> GrowthLaw:
        """Return the law in `year`, which counts from 0."""
        return replace(law, **{n: self._moved(i, getattr(law, n), year) for i, n in enumerate(self.names)})

    def _moved(self, i: int, value: Any, year: Array) -> Array:
        rate, limit = jnp.float32(self.rate[i]), jnp.float32(self.limit[i])
        moved = value + rate * (year + 1)
        return jnp.where(rate < 0, jnp.maximum(moved, limit), jnp.minimum(moved, limit))


def _find_mismatches(names: tuple[str, ...], **numbers: Any) -> Iterator[str]:
    for name, values in numbers.items():
        if np.shape(values)[-1:] != (len(names),):
            yield f"{name}: expected {len(names)} numbers, one for each of {list(names)}, got {values!r}"


class Spread(Checked, Pytree):
    """Parameters drawn once per episode: each is its mean times a lognormal factor (positive, with mean one)."""

    names: tuple[str, ...] = static("names", "the parameters that are drawn")
    sigma: Any = par("sigma", "standard deviation of the logarithm, one for each name", low=0.0, high=MAX_SIGMA)

    def check(self) -> Iterator[str]:
        """Yield an error for each list of numbers that does not match the names."""
        yield from _find_mismatches(self.names, sigma=self.sigma)

    def __call__(self, key: Array, law: GrowthLaw) -> dict[str, Any]:
        """Draw the law for an episode."""
        sigma = jnp.asarray(self.sigma, jnp.float32)
        factors = jnp.exp(sigma * jax.random.normal(key, (len(self.names),), jnp.float32) - 0.5 * sigma**2)
        return {"law": replace(law, **{n: getattr(law, n) * factors[i] for i, n in enumerate(self.names)})}


class AnyLaw(Pytree):
    """One of the laws in a `OneOf`, drawn once per episode with equal probability."""

    def __call__(self, key: Array, law: GrowthLaw) -> dict[str, Any]:
        """Draw the law for an episode."""
        assert isinstance(law, OneOf)
        which = jax.random.randint(key, (), jnp.int32(0), jnp.int32(len(law.laws)), jnp.int32)
        return {"law": replace(law, which=which)}


class AnyStock(Pytree):
    """One of several stocks, drawn once per episode with equal probability.

    Attributes:
        sets: parameters of `FishingParams` by name, among them `law`; each number is an array of shape (stocks,).
    """

    sets: dict[str, Any]

    def __call__(self, key: Array, law: GrowthLaw) -> dict[str, Any]:
        """Draw the law and the other parameters of an episode."""
        stocks = len(jax.tree.leaves(self.sets)[0])
        which = jax.random.randint(key, (), jnp.int32(0), jnp.int32(stocks), jnp.int32)
        return jax.tree.map(lambda numbers: jnp.asarray(numbers)[which], self.sets)
