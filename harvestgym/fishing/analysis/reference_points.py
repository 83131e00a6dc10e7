"""Reference points, fixed points and folds of a growth law, computed without simulation.

Convention: x' = z f(s), s = x - h, E z = 1. Without stock-dependent costs, the best escapement S* maximises discount *
f(S) - S (Clark 1973, doi 10.1086/260090); it is the same under sufficiently small shocks (Reed 1979, doi
10.1016/0095-0696(79)90014-7).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.errors import require
from harvestgym.fishing.growth import BevertonHolt, GrowthLaw, Logistic, May, Ricker
from harvestgym.fishing.structured_growth import Patches


class ReferencePoint(NamedTuple):
    """The sustainable optimum for a growth law; with several targets, the mean over the targets.

    Attributes:
        escapement: S*, the stock after harvest.
        stock: f(S*), the stock before harvest (B_MSY for a discount of 1).
        catch: f(S*) - S*, the yearly catch (MSY for a discount of 1).
        rate: catch / stock, the exploitation rate; it differs from r/2 because harvest and growth alternate.
    """

    escapement: float
    stock: float
    catch: float
    rate: float


def find_reference_point(law: GrowthLaw, discount: float = 1.0) -> ReferencePoint:
    """Find the best constant escapement, in closed form, by search, or (for several stocks) from equilibrium yields."""
    require(isinstance(law, GrowthLaw), "find_reference_point", "a growth law", type(law).__name__, "env.params.law")
    if isinstance(law, Patches):
        return find_reference_point(law.law, discount)
    if law.stocks > 1:
        return _reference_by_rate(law)
    best = find_best_escapement(law, discount)
    stock = float(law(jnp.float32(best)))
    return ReferencePoint(best, stock, stock - best, (stock - best) / max(stock, 1e-12))


def find_best_escapement(law: GrowthLaw, discount: float = 1.0) -> float:
    """Find S*, where discount * f'(S) = 1: the global maximum of discount * f(S) - S; 0 if leaving stock never pays."""
    if float(getattr(law, "r", 1.0)) == 0.0:
        return 0.0
    match law:
        case Logistic():
            return max(float(law.K) / 2 * (1 - (1 / discount - 1) / float(law.r)), 0.0)
        case BevertonHolt():
            root = float(np.sqrt(discount * (1 + float(law.r))))
            return max(float(law.K) / float(law.r) * (root - 1), 0.0)
        case Ricker() if discount == 1.0:
            from scipy.special import lambertw  # imported here because the import is slow

            r = float(law.r)
            return float(law.K) / r * (1 - float(lambertw(np.exp(1 - r)).real))
    return _escapement_by_search(law, discount)


def _escapement_by_search(law: GrowthLaw, discount: float) -> float:
    """Search a fine grid, then refine the best point by Newton steps on the derivative."""
    grid = jnp.linspace(0.0, 1.5 * jnp.float32(law.capacity), 6001, dtype=jnp.float32)
    best = float(grid[jnp.argmax(discount * law(grid) - grid)])
    if best == 0.0:
        return 0.0
    slope = jax.grad(lambda s: discount * law(s) - s)
    bend = jax.grad(slope)
    for _ in range(4):
        curvature = float(bend(best))
        if curvature == 0.0:
            break
        best -= float(slope(best)) / curvature
    return best


def _reference_by_rate(law: GrowthLaw, years: int = 600) -> ReferencePoint:
    """Find the constant rate with the highest yield that leaves every species a fifth of its own unfished biomass."""
    begun = law.start(jnp.float32(law.capacity))

    def settle(rate: Array) -> tuple[Array, Array]:
        def year(_: int, stock: Array) -> Array:
            return law(law.harvest(stock, rate * law.available(stock)))

        stock = jax.lax.fori_loop(0, years, year, begun)
        return law.survey(stock), jnp.mean(law.available(stock))

    rates = jnp.linspace(0.0, 0.6, 1201, dtype=jnp.float32)
    species, stock = jax.jit(jax.vmap(settle))(rates)
    catch = jnp.where((species >= 0.2 * species[0]).all(axis=1), rates * stock, 0.0)
    i = int(jnp.argmax(catch))
    caught, there = float(catch[i]), float(stock[i])
    return ReferencePoint(there - caught, there, caught, float(rates[i]))


class FixedPoint(NamedTuple):
    """A stock that growth does not change, and the slope there; it is stable if the slope is within (-1, 1)."""

    stock: float
    slope: float


def find_fixed_points(law: GrowthLaw) -> list[FixedPoint]:
    """Find an unharvested stock's positive fixed points below twice the capacity, in ascending order."""
    high = 2 * float(law.capacity)
    grid = jnp.linspace(1e-4 * high, high, 8001, dtype=jnp.float32)
    change = np.asarray(law(grid) - grid)
    turns = np.flatnonzero(np.sign(change[:-1]) * np.sign(change[1:]) < 0)
    low, up, grows = grid[turns], grid[turns + 1], jnp.asarray(change[turns] > 0)
    for _ in range(30):
        middle = 0.5 * (low + up)
        before = (law(middle) > middle) == grows
        low, up = jnp.where(before, middle, low), jnp.where(before, up, middle)
    points = jnp.sort(jnp.concatenate([0.5 * (low + up), grid[:-1][change[:-1] == 0]]))
    slopes = jax.vmap(jax.grad(lambda s: law(s)))(points)
    return [FixedPoint(float(point), float(slope)) for point, slope in zip(points, slopes, strict=True)]


class Fold(NamedTuple):
    """The consumption `a` and the stock at which two fixed points meet and disappear."""

    a: float
    stock: float


def find_folds(law: May) -> list[Fold]:
    """Find the folds of May's law in `a`, the local extrema of a(x) = r x (1 - x/M) (x^q + b^q) / x^q."""
    r, M, q, b = (float(v) for v in (law.r, law.M, law.q, law.b))
    x: Any = np.linspace(1e-3 * M, M, 200_001)
    a = r * x * (1 - x / M) * (x**q + b**q) / x**q
    turns = np.flatnonzero(np.diff(np.sign(np.diff(a)))) + 1
    return [Fold(float(a[i]), float(x[i])) for i in turns]
