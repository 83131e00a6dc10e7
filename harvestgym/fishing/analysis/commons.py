"""The commons as a game: the quotas of fleets that each maximise their own return, and the social optimum.

If a fleet requests q and every other fleet p, V_t(x) = max over q of worth(x, q, p) + discount E V_{t+1}(z f(left)),
with the worth and the stock left of `CommonsModel`. A symmetric Markov-perfect (feedback Nash) equilibrium is a request
for each year and stock that is a best response if all others make it too: Levhari and Mirman 1980, The great fish war
(Bell Journal of Economics 11:322), here with a finite horizon and solved by backward induction on a grid. Fleets are
assumed to know the stock exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.errors import ConfigError, mismatch
from harvestgym.core.pytree import replace
from harvestgym.fishing.shared_stock import CommonsModel

from .bellman import locate_cells, pick, solve_backwards
from .dynamic_programming import GRID_POINTS, find_obstacle, find_optimum, grow_at_nodes, value_at_end, value_at_start

FINE, COARSE = 120, 40
"""Number of requests from 0 to an equal share of the whole stock, and from there to the whole stock."""


class Strategy(NamedTuple):
    """The requests of one fleet in each year at each stock.

    Attributes:
        grid: stock, (n,), from 0 to the fishery's bound.
        request: quota or exploitation rate, (years, n).
        value: expected discounted return of the fleet from then on, (years, n).
        regret: the most that the fleet could gain in the year by another request, (years, n).
        start: expected discounted return of the fleet.
    """

    grid: Array
    request: Array
    value: Array
    regret: Array
    start: float


def share_optimum(env: CommonsModel) -> Strategy:
    """Return the strategy of fleets that share the catch of a single owner equally, by dynamic programming."""
    _check(env)
    found: Any = find_optimum(env)
    catch = found.harvest / env.units.targets
    request = catch / jnp.maximum(found.there, 1e-12) if env.units.control == "rate" else catch
    return _make(env, found.grid, request, found.value / env.units.targets, jnp.zeros_like(found.value))


def find_equilibrium(env: CommonsModel) -> Strategy:
    """Find the symmetric Markov-perfect equilibrium; of several, the one that pays most in each year and stock.

    Where the best response jumps from above the others' request to below it, there is no equilibrium in pure
    strategies, and the choice is the request at the jump. The regrets and `respond` show how much a fleet could gain.
    """
    _check(env)
    return _make(env, *_solve(env, _agree, env.params, jnp.zeros(int(env.params.horizon), jnp.float32)))


def respond(env: CommonsModel, others: Strategy) -> Strategy:
    """Find the best response of one fleet to others that all follow a strategy."""
    _check(env)
    return _make(env, *_solve(env, _answer, env.params, others.request))


def _make(env: CommonsModel, grid: Array, request: Array, value: Array, regret: Array) -> Strategy:
    return Strategy(grid, request, value, regret, value_at_start(env.params, grid, value[0]))


def _check(env: CommonsModel) -> None:
    units, drift = env.units, env.params.drift
    if reason := find_obstacle(env, env.params):
        raise ConfigError(f"commons: expected {reason}")
    if env.order != "harvest first" or units.levels or drift is not None:
        got = f"{env.order}, levels {units.levels}, drift {drift}"
        raise mismatch("commons", "harvest first, continuous actions and a constant law", got)


@partial(jax.jit, static_argnums=(0, 1))
def _solve(env: CommonsModel, choose: Callable[..., Any], params: Any, given: Array) -> tuple[Array, ...]:
    """Solve backwards; `choose` returns the request, value and regret of each stock from what is given for the year."""
    grid = jnp.float32(env.units.bound) * jnp.linspace(0.0, 1.0, GRID_POINTS, dtype=jnp.float32)
    after, weight = grow_at_nodes(env, params, grid, jnp.int32(0))
    discount = jnp.float32(params.discount)
    play, requests = partial(_play_year, env, params), _list_requests(env, grid)
    find = choose(play, grid, requests)

    def decide(value: Array, year: Array) -> tuple[Array, tuple[Array, ...]]:
        coming = discount * (_interpolate(value, after, grid) @ weight)
        request, best, regret = find(lambda left: _interpolate(coming, left, grid), given[year])
        best = jnp.where(grid <= params.collapse, 0.0, best)
        return best, (request, best, regret)

    last = value_at_end(params, grid, discount) / env.units.targets
    return grid, *solve_backwards(decide, last, len(given))[1]


def _agree(play: Callable[..., Any], grid: Array, requests: Array) -> Callable[..., Any]:
    """Return the function that finds where the best response, as a function of the others' request, equals it."""
    play_all = jax.vmap(jax.vmap(jax.vmap(play, (None, None, 0)), (None, 0, None)))
    earned, left = play_all(grid, requests, requests)

    def find(coming: Callable[[Array], Array], given: Array) -> tuple[Array, ...]:
        worth = earned + coming(left)
        alike = jnp.diagonal(worth, axis1=1, axis2=2)
        regret = worth.max(1) - alike
        best, here = jnp.argmax(worth, axis=1), jnp.arange(alike.shape[1], dtype=jnp.int32)
        falls = jnp.pad((best <= here)[:, 1:], ((0, 0), (0, 1)), constant_values=True)
        lower = jnp.argmax(jnp.where((best >= here) & falls, alike, -jnp.inf), axis=1)
        upper = jnp.minimum(lower + 1, len(here) - 1)
        chosen = jnp.where(pick(regret, upper) < pick(regret, lower), upper, lower)
        return pick(requests, chosen), pick(alike, chosen), pick(regret, chosen)

    return find


def _answer(play: Callable[..., Any], grid: Array, requests: Array) -> Callable[..., Any]:
    """Return the function that finds the best response to the others' requests."""

    def find(coming: Callable[[Array], Array], others: Array) -> tuple[Array, ...]:
        earned, left = jax.vmap(jax.vmap(play, (None, 0, None)))(grid, requests, others)
        worth = earned + coming(left)
        return pick(requests, jnp.argmax(worth, axis=1)), worth.max(1), jnp.zeros_like(grid)

    return find


def _play_year(env: CommonsModel, params: Any, stock: Array, own: Array, others: Array) -> tuple[Array, Array]:
    """Return the worth of a year to the first fleet, and the stock that is left to grow."""
    state, stock = env.initial(jax.random.key(0), params), stock[None]
    action = env.units.action(jnp.full(env.units.targets, others).at[0].set(own))
    quota = env.set_quota(params.law, stock, action, state)
    left, catch, rate = env.harvest(params.law, stock, quota)
    return env.worth(replace(state, catch=catch, rate=rate), params)[0], left[0]


def _list_requests(env: CommonsModel, grid: Array) -> Array:
    """Return the requests that are compared at each stock, (n, requests): fractions of the stock, and the most."""
    equal = 1.0 / env.units.targets
    fractions = jnp.concatenate([jnp.linspace(0.0, equal, FINE), jnp.linspace(equal, 1.0, COARSE)[1:]])
    scale = jnp.ones_like(grid) if env.units.control == "rate" else grid
    most = jnp.full((len(grid), 1), env.units.highest, jnp.float32)
    return jnp.concatenate([scale[:, None] * fractions.astype(jnp.float32), most], axis=1)


def _interpolate(values: Array, where: Array, grid: Array) -> Array:
    cell, part = locate_cells(where, grid)
    return values[cell] * (1 - part) + values[cell + 1] * part
