"""Stochastic dynamic programming for one stock: the optimal policy and value, the yardstick of every other rule.

In escapement form: with G(x) = price x - cost ln x, harvesting from x down to s is worth G(x) - G(s), so
V(x) = G(x) + max over s <= x of (discount E V(x'(s)) - G(s)): a running maximum along the grid, not a search
per state. Expectations are quadratures with linear interpolation. Infinite horizons are solved by policy
iteration (exact, a handful of linear solves), finite ones backwards, year by year, with drift. Where harvest
follows growth there is no escapement form; `growth_first.py` solves that.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel, FishingParams

from . import growth_first

NODES = 32
ROUNDS = 60
"""Policy iterations at most; they end earlier when the policy repeats itself."""

ROUNDING = 1e-6
"""Gains below this share of the largest value are float32 noise: without it two equal escapements take turns."""


class Solution(NamedTuple):
    """Optimal harvest of a single stock on a grid of the biomass that is seen when the quota is set.

    Attributes:
        grid: biomass, (n,), from 0 to the bound of the grid.
        there: what can be harvested at each biomass: the same with harvest first, with growth first the mean stock
            after growth. Like the next two, (n,), or (years, n) for a finite horizon.
        target: what to leave of it, with growth first in the mean.
        value: expected discounted worth of the future.
        overflow: the largest probability, over all escapements, that next year's stock exceeds the grid.
        residual: how far the value is from satisfying Bellman's equation, relative to its largest entry.
        only_bound: whether surveys or quotas have errors, which the solution ignores: then no policy is as good as
            `value` says, and another one may be better than this.
    """

    grid: jax.Array
    there: jax.Array
    target: jax.Array
    value: jax.Array
    overflow: jax.Array
    residual: jax.Array
    only_bound: bool

    @property
    def harvest(self) -> jax.Array:
        """What to take at each biomass."""
        return self.there - self.target


class _Chances(NamedTuple):
    """From each escapement of the grid: the transition matrix, the mean excess over the grid, its probability."""

    matrix: jax.Array
    excess: jax.Array
    over: jax.Array


def solve(
    env: FishingModel,
    params: FishingParams | None = None,
    *,
    n: int = 401,
    bound: float | None = None,
    discount: float | None = None,
    years: int | None = None,
) -> Solution:
    """The optimum of a single-stock fishery whose law is the same in every episode.

    The stock is taken as seen and quotas as kept: with survey or quota errors the result is marked `only_bound`.

    Args:
        n: grid points.
        bound: end of the grid, by default that of the fishery (2 K); raise it if `overflow` is large.
        discount: per year, by default that of `params`, which must be below 1 unless `years` is given.
        years: a finite horizon: `there`, `target` and `value` get a leading axis of years.

    Raises:
        ConfigError: for what `obstacle` names, or no discounting over an infinite horizon.
    """
    params = env.params if params is None else params
    if reason := obstacle(env, params):
        raise ConfigError(f"sdp wants {reason}; use `control.tune` for others")
    factor = float(params.discount if discount is None else discount)
    if years is None and not factor < 1:
        raise ConfigError(f"sdp over an infinite horizon wants discount < 1, found {factor}; give `years` or discount")
    grid = _grid(n, jnp.float32(env.units.bound if bound is None else bound))
    gamma, blurred = jnp.float32(factor), bool(params.survey_error.random or params.quota_error.random)
    if env.order == "growth first":
        late = growth_first
        raw = (
            late.stationary(env, params, grid, gamma) if years is None else late.finite(env, params, grid, years, gamma)
        )
        return Solution(grid, *raw, only_bound=blurred)
    found = _stationary(env, params, grid, gamma) if years is None else _finite(env, params, grid, years, gamma)
    return found._replace(only_bound=blurred)


def obstacle(env: FishingModel, params: FishingParams) -> str | None:
    """What dynamic programming wants and does not find, in words; None where it can be done."""
    if isinstance(env, RecoveryModel):
        return f"an action that is a catch, found {type(env).__name__}"
    if params.law.stocks != 1:
        return f"one stock, found {params.law.stocks}"
    if params.vary is not None:
        return f"one law for all episodes, found one drawn for each ({type(params.vary).__name__})"
    return None


def _grid(n: int, high: jax.Array) -> jax.Array:
    return high * jnp.linspace(0.0, 1.0, n, dtype=jnp.float32)


def _chances(params: FishingParams, grid: jax.Array, year: jax.Array) -> _Chances:
    law = params.drift(params.law, year) if params.drift else params.law
    z, weight = (jnp.asarray(v, jnp.float32) for v in params.noise.nodes(NODES))
    after = params.noise(z, law(grid)[:, None], grid[:, None])
    after = jnp.broadcast_to(after, (len(grid), NODES))
    spacing = grid[1] - grid[0]
    place = jnp.clip(after / spacing, 0.0, len(grid) - 1.0)
    cell = jnp.minimum(place.astype(jnp.int32), len(grid) - 2)
    part = place - cell
    row = jnp.arange(len(grid))[:, None]
    empty = jnp.zeros((len(grid), len(grid)))
    matrix = empty.at[row, cell].add(weight * (1 - part)).at[row, cell + 1].add(weight * part)
    excess = jnp.maximum(after - grid[-1], 0.0)
    return _Chances(matrix, excess @ weight, (excess > 0) @ weight)


def _worth(params: FishingParams, grid: jax.Array) -> jax.Array:
    """G: what harvesting all the way from a biomass is worth, up to a constant."""
    floor = jnp.maximum(grid, 1e-3 * grid[-1])
    return params.price * grid - params.cost * (jnp.log(floor) - jnp.log(1e-3 * grid[-1]))


def _improve(
    params: FishingParams, chances: _Chances, factor: jax.Array, grid: jax.Array, value: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Bellman's operator: the new value, the worth of each escapement, and the index of the best one."""
    gone = grid <= params.collapse
    value = jnp.where(gone, 0.0, value)
    worth = _worth(params, grid)
    keep = factor * (chances.matrix @ value + params.price * chances.excess) - worth
    best = lax.cummax(keep)
    first = jnp.where(keep >= best, jnp.arange(len(grid)), 0)
    return jnp.where(gone, 0.0, worth + best), keep, lax.cummax(first)


@partial(jax.jit, static_argnums=0)
def _stationary(env: FishingModel, params: FishingParams, grid: jax.Array, factor: jax.Array) -> Solution:
    n = len(grid)
    chances = _chances(params, grid, jnp.int32(0))
    worth, gone = _worth(params, grid), grid <= params.collapse

    def evaluate(policy: jax.Array) -> jax.Array:
        matrix = jnp.where(gone[None, :] | gone[:, None], 0.0, chances.matrix[policy])
        gain = worth - worth[policy] + factor * params.price * chances.excess[policy]
        return jnp.linalg.solve(jnp.eye(n) - factor * matrix, jnp.where(gone, 0.0, gain))

    def again(loop: tuple[jax.Array, jax.Array, jax.Array, jax.Array]) -> Any:
        policy, _, value, round_ = loop
        value = evaluate(policy)
        _, keep, better = _improve(params, chances, factor, grid, value)
        gain = keep[better] - keep[policy]
        noticed = gain > ROUNDING * jnp.max(jnp.abs(value))
        return jnp.where(noticed, better, policy), policy, value, round_ + 1

    def going(loop: tuple[jax.Array, ...]) -> jax.Array:
        return jnp.any(loop[0] != loop[1]) & (loop[3] < ROUNDS)

    start = lax.fori_loop(0, 30, lambda _, v: _improve(params, chances, factor, grid, v)[0], jnp.zeros(n))
    policy = _improve(params, chances, factor, grid, start)[2]
    policy, _, value, _ = lax.while_loop(going, again, (policy, policy - 1, start, jnp.int32(0)))
    residual = jnp.max(jnp.abs(_improve(params, chances, factor, grid, value)[0] - value))
    residual = residual / jnp.max(jnp.abs(value))
    return Solution(grid, grid, grid[policy], value, jnp.max(chances.over), residual, False)


@partial(jax.jit, static_argnums=(0, 3))
def _finite(env: FishingModel, params: FishingParams, grid: jax.Array, years: int, factor: jax.Array) -> Solution:
    def back(value: jax.Array, year: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        chances = _chances(params, grid, year)
        value, _, policy = _improve(params, chances, factor, grid, value)
        return value, (grid[policy], value, jnp.max(chances.over))

    _, (target, value, over) = lax.scan(back, jnp.zeros(len(grid)), jnp.arange(years), reverse=True)
    there = jnp.broadcast_to(grid, target.shape)
    return Solution(grid, there, target, value, jnp.max(over), jnp.float32(0.0), False)
