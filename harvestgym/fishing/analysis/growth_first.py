"""Dynamic programming where harvest follows growth: a quota is set before the year's noise is known.

There is no escapement form: what is left depends on noise, so every choice is weighed at every biomass,
V(x) = max over h of E[worth(min(h, G)) + discount V(G - min(h, G))] with G = z f(x). Choices are as many as grid
points, quotas or rates as the fishery has it. What exceeds the grid counts as its last point.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from harvestgym.fishing.model import FishingModel, FishingParams

NODES = 16
SWEEPS = 30
ROUNDS = 60
"""Policy iterations at most; they end earlier when the policy repeats itself."""

ROUNDING = 1e-6
"""Gains below this share of the largest value are float32 noise."""


class Raw(NamedTuple):
    """A solution without its grid: mean stock there, mean stock left, value, overflow, residual."""

    there: jax.Array
    target: jax.Array
    value: jax.Array
    overflow: jax.Array
    residual: jax.Array


class _Outcomes(NamedTuple):
    """Of each biomass, choice and node: the cell that the stock falls into, and its part of the way to the next.

    `weight` is of nodes, `gain` the mean worth of (biomass, choice), `there` and `left` mean stocks.
    """

    cell: jax.Array
    part: jax.Array
    weight: jax.Array
    gain: jax.Array
    there: jax.Array
    left: jax.Array
    over: jax.Array


def _outcomes(env: FishingModel, params: FishingParams, grid: jax.Array, year: jax.Array) -> _Outcomes:
    law = params.drift(params.law, year) if params.drift else params.law
    z, weight = (jnp.asarray(v, jnp.float32) for v in params.noise.nodes(NODES))
    grown = params.noise(z, law(grid)[:, None], grid[:, None])
    grown = jnp.broadcast_to(grown, (len(grid), NODES))[:, None, :]
    share = (grid / grid[-1])[:, None]
    wanted = share * grown if env.units.control == "rate" else share * env.units.bound
    catch = jnp.minimum(wanted, grown)
    effort = -jnp.log(jnp.maximum(1 - catch / jnp.maximum(grown, 1e-12), 1e-3))
    gain = (params.price * catch - params.cost * effort) @ weight
    left = grown - catch
    place = jnp.clip(left / grid[1], 0.0, len(grid) - 1.0)
    cell = jnp.minimum(place.astype(jnp.int32), len(grid) - 2)
    over = jnp.max((grown[:, 0] > grid[-1]) @ weight)
    return _Outcomes(cell, place - cell, weight, gain, grown[:, 0] @ weight, left @ weight, over)


def _choose(
    params: FishingParams, found: _Outcomes, factor: jax.Array, grid: jax.Array, value: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Bellman's operator: the new value, the worth of each choice, and the index of the best one."""
    coming = value[found.cell] * (1 - found.part) + value[found.cell + 1] * found.part
    worth = found.gain + factor * (coming @ found.weight)
    return jnp.where(grid <= params.collapse, 0.0, jnp.max(worth, axis=1)), worth, jnp.argmax(worth, axis=1)


def _of(choices: jax.Array, policy: jax.Array) -> jax.Array:
    """The entry of each row, or node vector of each row, that `policy` chooses."""
    return choices[jnp.arange(len(policy)), policy]


@partial(jax.jit, static_argnums=0)
def stationary(env: FishingModel, params: FishingParams, grid: jax.Array, factor: jax.Array) -> Raw:
    """An infinite horizon, by policy iteration."""
    found = _outcomes(env, params, grid, jnp.int32(0))
    gone, n, row = grid <= params.collapse, len(grid), jnp.arange(len(grid))[:, None]

    def evaluate(policy: jax.Array) -> jax.Array:
        cell, part = _of(found.cell, policy), _of(found.part, policy)
        matrix = jnp.zeros((n, n)).at[row, cell].add(found.weight * (1 - part))
        matrix = matrix.at[row, cell + 1].add(found.weight * part)
        matrix = jnp.where(gone[None, :] | gone[:, None], 0.0, matrix)
        return jnp.linalg.solve(jnp.eye(n) - factor * matrix, jnp.where(gone, 0.0, _of(found.gain, policy)))

    def again(loop: tuple[jax.Array, ...]) -> Any:
        policy, _, _, round_ = loop
        value = evaluate(policy)
        _, worth, better = _choose(params, found, factor, grid, value)
        noticed = _of(worth, better) - _of(worth, policy) > ROUNDING * jnp.max(jnp.abs(value))
        return jnp.where(noticed, better, policy), policy, value, round_ + 1

    def going(loop: tuple[jax.Array, ...]) -> jax.Array:
        return jnp.any(loop[0] != loop[1]) & (loop[3] < ROUNDS)

    start = lax.fori_loop(0, SWEEPS, lambda _, v: _choose(params, found, factor, grid, v)[0], jnp.zeros(n))
    policy = _choose(params, found, factor, grid, start)[2]
    policy, _, value, _ = lax.while_loop(going, again, (policy, policy - 1, start, jnp.int32(0)))
    residual = jnp.max(jnp.abs(_choose(params, found, factor, grid, value)[0] - value))
    return Raw(found.there, _of(found.left, policy), value, found.over, residual / jnp.max(jnp.abs(value)))


@partial(jax.jit, static_argnums=(0, 3))
def finite(env: FishingModel, params: FishingParams, grid: jax.Array, years: int, factor: jax.Array) -> Raw:
    """A finite horizon, backwards; all but `overflow` and `residual` get a leading axis of years."""
    always = None if params.drift else _outcomes(env, params, grid, jnp.int32(0))

    def back(value: jax.Array, year: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        found = always or _outcomes(env, params, grid, year)
        value, _, policy = _choose(params, found, factor, grid, value)
        return value, (found.there, _of(found.left, policy), value, found.over)

    _, (there, target, value, over) = lax.scan(back, jnp.zeros(len(grid)), jnp.arange(years), reverse=True)
    return Raw(there, target, value, jnp.max(over), jnp.float32(0.0))
