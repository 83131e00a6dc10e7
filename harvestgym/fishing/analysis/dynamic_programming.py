"""Optimal harvest of a single stock by dynamic programming, with which all other rules are compared.

With harvest first, the problem has an escapement form: with G(x) = price x - cost ln x, harvesting from x down to s is
worth G(x) - G(s), so V(x) = G(x) + max over s <= x of (discount E V(x'(s)) - G(s)). The inner maximum is a running
maximum along the grid, so no search per state is needed.

With growth first, a quota is set before the year's noise is known, so the escapement depends on the noise. Every choice
(each level of a discrete action; otherwise as many quotas or rates as grid points) is evaluated at every biomass:
V(x) = max over h of E[worth(min(h, G)) + discount V(G - min(h, G))] with G = z f(x).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from harvestgym.core.errors import ConfigError, require
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel, FishingParams, find_effort

from .bellman import (
    Backup,
    DecisionProblem,
    iterate_policies,
    locate_cells,
    pick,
    quadrature,
    solve_backwards,
    transition_matrix,
)

Found = TypeVar("Found")

GRID_POINTS = 401

ENDLESS_DISCOUNT = 0.999
"""Largest discount factor for an infinite horizon; at 1, the return would not be finite."""

STARTS = 101
"""Number of initial stocks over which the value is averaged if the initial stock is drawn from a range."""

YEARS_AHEAD = 400
"""Number of years that `solve_ahead` adds after the horizon; with a discount of 0.99, later years contribute 2 %."""

NODES_BY_ORDER = {"harvest first": 32, "growth first": 16}
"""Number of quadrature nodes for the growth noise, by order of events in a year."""


class Solution(NamedTuple):
    """Optimal harvest of a single stock on a grid of biomass as observed when the quota is set.

    Attributes:
        grid: biomass, (n,), from 0 to the bound of the grid.
        there: harvestable stock at each biomass: the biomass itself with harvest first, the mean stock after growth
            with growth first. The shape of this and the next two is (n,), or (years, n) for a finite horizon.
        target: escapement, the stock to leave; its mean with growth first.
        value: expected discounted future reward.
        overflow: the maximum, over all escapements, of the probability that next year's stock exceeds the grid.
        residual: error in Bellman's equation, relative to the largest value.
        only_bound: whether surveys or quotas have errors, which the solution ignores. Then `value` is only an upper
            bound, and another policy may be better than this one.
    """

    grid: Array
    there: Array
    target: Array
    value: Array
    overflow: Array
    residual: Array
    only_bound: bool

    def __repr__(self) -> str:
        return f"{type(self).__name__}(grid and years: {self.target.shape}, only_bound: {self.only_bound})"

    @property
    def harvest(self) -> Array:
        """Catch at each biomass."""
        return self.there - self.target


def solve(
    env: FishingModel,
    params: FishingParams | None = None,
    *,
    n: int = GRID_POINTS,
    bound: float | None = None,
    discount: float | None = None,
    years: int | None = None,
) -> Solution:
    """Find the optimum of a single-stock fishery whose growth law is the same in every episode.

    It assumes exact surveys and quotas; with survey or quota errors, the result is marked `only_bound`.

    Args:
        n: number of grid points.
        bound: end of the grid, by default the fishery's bound (2 K); raise it if `overflow` is large.
        discount: discount factor per year, by default from `params`; it must be below 1 unless `years` is given.
        years: length of a finite horizon; `there`, `target` and `value` then get a leading axis of years.

    Raises:
        ConfigError: if `find_obstacle` finds an obstacle, or an infinite horizon is not discounted.
    """
    params = env.params if params is None else params
    if reason := find_obstacle(env, params):
        raise ConfigError(f"dynamic programming: expected {reason}; try `harvestgym tune`")
    factor = float(params.discount if discount is None else discount)
    require(years is not None or factor < 1, "dynamic programming", "discount < 1", factor, "a finite horizon, `years`")
    grid = jnp.float32(env.units.bound if bound is None else bound) * jnp.linspace(0.0, 1.0, n, dtype=jnp.float32)
    found = _solve(env, params, grid, jnp.float32(factor), years)
    return found._replace(only_bound=not is_exact(params))


def solve_ahead(env: FishingModel) -> Solution:
    """Find the optimum for a fishery that continues after its horizon, even if the stock at the end has no price.

    If the law drifts, there is a target for each year of the horizon, computed with the laws of that year and all later
    years; otherwise there is one target for all years.
    """
    params = env.params
    discount = min(float(params.discount), ENDLESS_DISCOUNT)
    if params.drift is None:
        return solve(env, discount=discount)
    years = int(params.horizon)
    found = solve(env, years=years + YEARS_AHEAD, discount=discount)
    return found._replace(**{name: getattr(found, name)[:years] for name in ("there", "target", "value")})


def find_obstacle(env: FishingModel, params: FishingParams) -> str | None:
    """Return an unmet requirement of dynamic programming as `X, got Y`; None if all are met."""
    if isinstance(env, RecoveryModel):
        return f"an action that is a catch, got {type(env).__name__}"
    if params.law.stocks != 1:
        return f"one stock, got {params.law.stocks}"
    if params.vary is not None:
        return f"one law for all episodes, got a law drawn for each episode ({type(params.vary).__name__})"
    if float(params.correlation):
        return f"growth noise without correlation, got {float(params.correlation):g}"
    if env.assessment_interval > 1 or env.catch_constraint is not None:
        return f"a free quota each year, got interval {env.assessment_interval} and limit {env.catch_constraint}"
    return None


def is_exact(params: FishingParams) -> bool:
    """Return whether surveys and quotas have no errors, so that dynamic programming finds the exact optimum."""
    return not (params.survey_error.random or params.quota_error.random)


def cache_by_params(function: Callable[[FishingModel], Found], most: int = 64) -> Callable[[FishingModel], Found]:
    """Cache a function by the fishery's structure and parameters."""

    @functools.lru_cache(most)
    def find(env: FishingModel, *key: Any) -> Found:
        return function(env)

    @functools.wraps(function)
    def cached(env: FishingModel) -> Found:
        leaves, tree = jax.tree.flatten(env.params)
        return find(env, tree, *(np.asarray(leaf).tobytes() for leaf in leaves))

    return cached


@cache_by_params
def find_optimum(env: FishingModel) -> Solution | None:
    """Find the optimum for the episode's horizon and discount; None if dynamic programming does not apply."""
    return None if find_obstacle(env, env.params) else solve(env, years=int(env.params.horizon))


def best_return(env: FishingModel) -> float | None:
    """Return the expected discounted return of the optimum; None if it cannot be computed."""
    found = find_optimum(env)
    return None if found is None else value_at_start(env.params, found.grid, found.value[0])


def value_at_start(params: FishingParams, grid: Any, value: Any) -> float:
    """Return the value of the initial stock, or its mean over a range of initial stocks."""
    low, high = np.broadcast_to(np.asarray(params.start), 2)
    return float(np.mean(np.interp(np.linspace(low, high, STARTS), grid, value)))


@cache_by_params
def stationary_return(env: FishingModel) -> float | None:
    """Return the expected discounted return of the best rule that ignores the year; None if it cannot be computed.

    This is the infinite-horizon optimum, followed until the horizon, even if the stock at the end has no price.
    """
    params = env.params
    if find_obstacle(env, params) or params.drift is not None:
        return None
    grid = jnp.float32(env.units.bound) * jnp.linspace(0.0, 1.0, GRID_POINTS, dtype=jnp.float32)
    value = _value_stationary(env, params, grid, jnp.float32(params.discount), int(params.horizon))
    return value_at_start(params, grid, value)


@partial(jax.jit, static_argnums=(0, 4))
def _value_stationary(env: FishingModel, params: FishingParams, grid: Array, discount: Array, years: int) -> Array:
    """Return the value, over `years`, of the choices that are optimal for an infinite horizon."""
    build = partial(_choose_year(env, grid), env, params, grid)
    choice, _, _ = iterate_policies(build(jnp.minimum(discount, ENDLESS_DISCOUNT), jnp.int32(0)).problem)
    problem = build(discount, jnp.int32(0)).problem
    gain, matrix = problem.follow(choice)
    follow = lambda _, value: jnp.where(problem.ended, 0.0, gain + discount * (matrix @ value))  # noqa: E731
    return lax.fori_loop(0, years, follow, value_at_end(params, grid, discount))


def value_at_end(params: FishingParams, grid: Array, discount: Array) -> Array:
    """Return the value of the stock at truncation; it is paid with the last catch, so discounting is undone once."""
    value = params.final_price * grid / jnp.maximum(discount, 1e-6)
    return jnp.where(grid <= params.collapse, 0.0, value)


class _Year(NamedTuple):
    """The decision problem for one year, with the harvestable stock and the escapement for each choice."""

    problem: DecisionProblem
    there: Array
    left: Callable[[Array], Array]
    overflow: Array


@partial(jax.jit, static_argnums=(0, 4))
def _solve(env: FishingModel, params: FishingParams, grid: Array, discount: Array, years: int | None) -> Solution:
    build = partial(_choose_year(env, grid), env, params, grid, discount)
    first = build(jnp.int32(0))
    if years is None:
        choice, value, residual = iterate_policies(first.problem)
        return Solution(grid, first.there, first.left(choice), value, first.overflow, residual, False)

    def decide(value: Array, when: Array) -> tuple[Array, tuple[Array, ...]]:
        year = build(when) if params.drift else first
        best = year.problem.improve(value)
        return best.value, (year.there, year.left(best.choice), best.value, year.overflow)

    _, (there, target, value, overflow) = solve_backwards(decide, value_at_end(params, grid, discount), years)
    return Solution(grid, there, target, value, jnp.max(overflow), jnp.float32(0.0), False)


def _choose_year(env: FishingModel, grid: Array) -> Callable[..., _Year]:
    """Return the function that builds the decision problem for a year."""
    if env.order == "growth first":
        return _year_by_quota
    return _year_by_level if _has_levels(env, grid) else _year_by_escapement


def _has_levels(env: FishingModel, grid: Array) -> bool:
    """Return whether actions are discrete with fewer levels than grid points; more levels are treated as continuous."""
    return 0 < env.units.levels <= len(grid)


def _list_choices(env: FishingModel, grid: Array) -> Array:
    """Return the available quotas or rates: the levels, or as many values as the grid has points."""
    full = env.units.bound if env.units.control == "quota" else 1.0
    if _has_levels(env, grid):
        return jax.vmap(env.units.wanted)(jnp.arange(env.units.levels, dtype=jnp.int32))[:, 0]
    return full * (grid / grid[-1])


def _year_by_level(env: FishingModel, params: FishingParams, grid: Array, discount: Array, when: Array) -> _Year:
    """Build the decision problem of a year with harvest first and discrete levels; a choice is a level."""
    choice, there = _list_choices(env, grid)[None, :], grid[:, None]
    gain, left = _harvest(env, params, choice, there)
    after, weight = grow_at_nodes(env, params, left, when)
    excess = params.price * (jnp.maximum(after - grid[-1], 0.0) @ weight)
    problem = _compare_choices(gain, excess, after, weight, grid, grid <= params.collapse, discount)
    return _Year(problem, grid, partial(pick, left), jnp.max((after > grid[-1]) @ weight))


def _compare_choices(
    gain: Array, excess: Any, after: Array, weight: Array, grid: Array, ended: Array, discount: Any
) -> DecisionProblem:
    """Return the problem in which each choice has a gain and leads to the stocks `after` with probabilities `weight`.

    `gain` and `excess` (the value of the stock beyond the grid) have shape (n, choices), and `after` has shape (n,
    choices, nodes).
    """
    cell, part = locate_cells(after, grid)

    def improve(value: Array) -> Backup:
        coming = value[cell] * (1 - part) + value[cell + 1] * part
        worth = gain + discount * (coming @ weight + excess)
        return Backup(jnp.where(ended, 0.0, jnp.max(worth, axis=1)), lax.argmax(worth, 1, jnp.int32), worth)

    def follow(choice: Array) -> tuple[Array, Array]:
        matrix = transition_matrix(pick(cell, choice), pick(part, choice), weight)
        return pick(gain + discount * excess, choice), matrix

    return DecisionProblem(improve, follow, ended, discount)


def _harvest(env: FishingModel, params: FishingParams, wanted: Array, there: Array) -> tuple[Array, Array]:
    """Return the earnings from quotas or rates for each stock, and the remaining stock."""
    catch = jnp.minimum(wanted * there if env.units.control == "rate" else wanted, there)
    effort = find_effort(catch / jnp.maximum(there, 1e-12))
    return params.price * catch - params.cost * effort, there - catch


def grow_at_nodes(env: FishingModel, params: FishingParams, left: Array, when: Array) -> tuple[Array, Array]:
    """Return next year's stock for each remaining stock and each node of the noise, and the nodes' weights."""
    law = params.drift(params.law, when) if params.drift else params.law
    z, weight = quadrature(params.noise, NODES_BY_ORDER[env.order])
    grown = params.noise(z, law(left)[..., None], left[..., None])
    return jnp.broadcast_to(grown, (*left.shape, len(weight))), weight


def _year_by_escapement(env: FishingModel, params: FishingParams, grid: Array, discount: Array, when: Array) -> _Year:
    """Build the decision problem of a year with harvest first; a choice is the grid point of the escapement."""
    after, weight = grow_at_nodes(env, params, grid, when)
    cell, part = locate_cells(after, grid)
    matrix, excess = transition_matrix(cell, part, weight), jnp.maximum(after - grid[-1], 0.0)
    ended, beyond, n = grid <= params.collapse, params.price * (excess @ weight), len(grid)
    floor = 1e-3 * grid[-1]
    worth = params.price * grid - params.cost * (jnp.log(jnp.maximum(grid, floor)) - jnp.log(floor))

    def improve(value: Array) -> Backup:
        keep = discount * (matrix @ value + beyond) - worth
        best = lax.cummax(keep)
        first = jnp.where(keep >= best, jnp.arange(n, dtype=jnp.int32), 0)
        return Backup(jnp.where(ended, 0.0, worth + best), lax.cummax(first), jnp.broadcast_to(keep, (n, n)))

    def follow(choice: Array) -> tuple[Array, Array]:
        return worth - worth[choice] + discount * beyond[choice], matrix[choice]

    overflow = jnp.max((excess > 0) @ weight)
    return _Year(DecisionProblem(improve, follow, ended, discount), grid, lambda choice: grid[choice], overflow)


def _year_by_quota(env: FishingModel, params: FishingParams, grid: Array, discount: Array, when: Array) -> _Year:
    """Build the decision problem of a year with growth first; a choice is a fraction of the top quota or the stock."""
    grown, weight = grow_at_nodes(env, params, grid, when)
    wanted, there = _list_choices(env, grid)[:, None], grown[:, None, :]
    gain, left = _harvest(env, params, wanted, there)
    problem = _compare_choices(gain @ weight, 0.0, left, weight, grid, grid <= params.collapse, discount)
    return _Year(problem, grown @ weight, partial(pick, left @ weight), jnp.max((grown > grid[-1]) @ weight))
