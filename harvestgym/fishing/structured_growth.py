"""Growth laws with several state variables (ages, interacting species, patches); `growth.py` defines the interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import par, static
from harvestgym.core.xla.fusion import add_up, find_lowest

from .growth import MAX_BIOMASS, MAX_RATE, GrowthLaw


class AgeStructured(GrowthLaw):
    """Numbers at age with a plus group, and Beverton-Holt recruitment from spawners at the start of the year.

    This is the walleye model from the fisheries literature (Goodyear compensation ratio; Walters and Martell 2004, ch.
    3). The state holds the numbers at ages 1 to `ages`, then the recruits due next year. A quota is a biomass, taken
    from all ages in proportion to their vulnerable biomass. Noise affects only recruitment.
    """

    ages: int = static("ages", "age classes, the last one a plus group", low=1, high=1000, default=20)
    survival: Array = par("survival", "natural survival per year", low=0.0, high=0.999, default=0.86)
    growth: Array = par("kappa", "von Bertalanffy growth, per year", low=1e-3, high=MAX_RATE, default=0.23)
    mature_age: Array = par("mature_age", "age at which half of the fish are mature", low=0.0, high=1000.0, default=6.0)
    mature_slope: Array = par("mature_slope", "steepness of maturity, per year", low=0.0, high=100.0, default=0.5)
    caught_age: Array = par("caught_age", "age when half of the fish can be caught", low=0.0, high=1000.0, default=5.0)
    caught_slope: Array = par("caught_slope", "steepness of vulnerability, per year", low=0.0, high=100.0, default=2.0)
    compensation: Array = par("compensation", "Goodyear's compensation ratio", low=1.0, high=1000.0, default=6.0)
    recruits: Array = par("recruits", "recruits of the unfished stock", low=1e-6, high=MAX_BIOMASS, default=1.0)

    @property
    def stocks(self) -> int:
        return self.ages + 1

    @property
    def capacity(self) -> Array:
        return add_up(self.vulnerability * self.weight * self.unfished)

    @property
    def age(self) -> Array:
        """Ages in years, shape (ages,)."""
        return jnp.arange(1, self.ages + 1, dtype=jnp.float32)

    @property
    def weight(self) -> Array:
        """Weight at age, relative to the asymptotic weight."""
        return (1 - jnp.exp(-self.growth * self.age)) ** 3

    @property
    def unfished(self) -> Array:
        """Numbers at age of the unfished stock."""
        alive = self.survival ** (self.age - 1)
        return self.recruits * alive.at[-1].divide(jnp.float32(1 - self.survival))

    @property
    def vulnerability(self) -> Array:
        """Fraction of each age class that a fleet can catch."""
        return jax.nn.sigmoid(self.caught_slope * (self.age - self.caught_age))

    def spawners(self, numbers: Array) -> Array:
        """Return the spawning biomass for numbers at age."""
        mature = jax.nn.sigmoid(self.mature_slope * (self.age - self.mature_age))
        return add_up(mature * self.weight * numbers)

    def _due(self, numbers: Array) -> Array:
        per_recruit = self.spawners(self.unfished) / self.recruits
        alpha = self.compensation / per_recruit
        beta = (self.compensation - 1) / (self.recruits * per_recruit)
        spawners = self.spawners(numbers)
        return alpha * spawners / (1 + beta * spawners)

    def __call__(self, left: Array) -> Array:
        numbers, due = left[:-1], left[-1:]
        older = self.survival * numbers
        numbers = jnp.concatenate([due, older[:-1]]).at[-1].add(older[-1])
        return jnp.append(numbers, self._due(numbers))

    def start(self, share: Array) -> Array:
        numbers = self.unfished * share / self.capacity
        return jnp.append(numbers, self._due(numbers))

    def available(self, stock: Array) -> Array:
        return add_up(self.vulnerability * self.weight * stock[:-1])[None]

    def harvest(self, stock: Array, catch: Array) -> Array:
        rate = catch / jnp.maximum(self.available(stock), 1e-12)
        return stock.at[:-1].multiply(1 - self.vulnerability * rate)

    survey = available

    def biomass(self, stock: Array) -> Array:
        return self.available(stock)[0]

    @property
    def noisy(self) -> slice:
        return slice(self.ages, None)


class ThreeSpecies(GrowthLaw):
    """Two competing prey, both fished, and a predator of both with type III functional responses.

    Equations from Montealegre-Mora et al. 2023 (Bull. Math. Biol., arXiv 2308.13654); the unharvested community has an
    equilibrium at (0.526, 0.431, 1.001).
    """

    shows_predator: ClassVar[bool] = True

    r: Array = par("r", "growth rate of both prey, per year", low=0.0, high=MAX_RATE, default=1.0)
    r_x: Array = par("r_x", "growth rate of the first prey relative to r", low=0.0, high=MAX_RATE, default=1.0)
    K: Array = par("K", "carrying capacity of each prey", low=1e-6, high=MAX_BIOMASS, default=1.0)
    beta: Array = par("beta", "maximum yearly consumption per predator", low=0.0, high=MAX_RATE, default=0.3)
    c: Array = par("c", "prey at which a predator eats half of beta", low=1e-6, high=MAX_BIOMASS, default=0.3)
    competition: Array = par("competition", "loss of either prey to the other", low=0.0, high=MAX_RATE, default=0.1)
    D: Array = par("D", "factor on the predator's consumption of the second prey", low=0.0, high=MAX_RATE, default=1.1)
    b: Array = par("b", "predator births per prey", low=0.0, high=MAX_RATE, default=0.1)
    d: Array = par("d", "predator deaths, per year", low=0.0, high=MAX_RATE, default=0.1)

    @property
    def stocks(self) -> int:
        return 3

    def __call__(self, left: Array) -> Array:
        x, y, z = left[..., 0], left[..., 1], left[..., 2]
        clash = self.competition * x * y
        x_next = x + self.r_x * self.r * x * (1 - x / self.K) - self._eaten(x, z) - clash
        y_next = y + self.r * y * (1 - y / self.K) - self.D * self._eaten(y, z) - clash
        z_next = z + z * (self.b * (x + self.D * y) - self.d)
        return jnp.maximum(jnp.stack([x_next, y_next, z_next], axis=-1), 0.0)

    def _eaten(self, prey: Array, predator: Array) -> Array:
        return self.beta * predator * prey**2 / (self.c**2 + prey**2)

    def start(self, share: Array) -> Array:
        return jnp.float32(share) * jnp.array([0.52599, 0.43092, 1.00131], jnp.float32)

    def available(self, stock: Array) -> Array:
        return stock[..., :2]

    def harvest(self, stock: Array, catch: Array) -> Array:
        return jnp.concatenate([stock[..., :2] - catch, stock[..., 2:]], axis=-1)

    def biomass(self, stock: Array) -> Array:
        return find_lowest(stock)


class Patches(GrowthLaw):
    """A row of patches with the same law; each year a fraction of every patch moves to its neighbours.

    Half of this fraction moves in each direction. At the ends of the row, the outward half stays, so dispersal
    conserves biomass.
    """

    law: GrowthLaw
    patches: int = static("patches", "number of patches", low=2, high=100_000, default=5)
    dispersal: Array = par("dispersal", "share of a patch that moves, per year", low=0.0, high=1.0, default=0.1)

    def check(self) -> Iterator[str]:
        """Yield the errors in the patches' law."""
        if self.law.stocks != 1:
            yield f"law: expected a law of one stock, got {type(self.law).__name__} of {self.law.stocks}"

    @property
    def stocks(self) -> int:
        return self.patches

    @property
    def capacity(self) -> Array:
        return self.law.capacity

    def __call__(self, left: Array) -> Array:
        grown = self.law(left)
        padded = jnp.concatenate([grown[..., :1], grown, grown[..., -1:]], axis=-1)
        moved = 0.5 * (padded[..., :-2] + padded[..., 2:])
        return grown + self.dispersal * (moved - grown)

    def biomass(self, stock: Array) -> Array:
        return add_up(stock) / stock.shape[-1]
