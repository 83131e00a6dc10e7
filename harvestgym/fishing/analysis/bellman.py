"""Dynamic programming on grids: the solver and the quadrature used for the optimal policies of all fisheries.

A decision problem computes the value of the best choice from the values of next year's states. Finite horizons are
solved by backward induction, infinite horizons by policy iteration (a few exact linear solves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from harvestgym.fishing.noise import Noise

SWEEPS = 30
"""Number of value iterations before the first policy evaluation."""

MAX_POLICIES = 60
"""Maximum number of policy iterations; iteration stops early once the policy no longer changes."""

POLICY_TOLERANCE = 1e-6
"""Smallest relative gain that changes a choice; below it, float32 noise would make equal choices alternate."""


class Backup(NamedTuple):
    """The result of the Bellman operator applied to next year's values.

    Attributes:
        value: value of each state under the best choice, (n,); 0 where the episode has ended.
        choice: index of that choice, (n,).
        worth: value of each choice in each state, (n, choices), up to a constant for each state.
    """

    value: Array
    choice: Array
    worth: Array


class DecisionProblem(NamedTuple):
    """Decision problem on a grid of states.

    Attributes:
        improve: function that returns the `Backup` for given values of next year's states.
        follow: function that returns, for one choice per state, the mean reward, (n,), and the transition matrix, (n,
            n).
        ended: states from which no reward can follow, (n,).
        discount: discount factor per year.
    """

    improve: Callable[[Array], Backup]
    follow: Callable[[Array], tuple[Array, Array]]
    ended: Array
    discount: Array


def solve_backwards(step: Callable[[Any, Array], tuple[Any, Any]], last: Array, years: int) -> tuple[Any, Any]:
    """Solve a finite horizon backwards from its final values; return the initial values and each year's outputs."""
    return lax.scan(step, last, jnp.arange(years, dtype=jnp.int32), reverse=True)


def iterate_policies(problem: DecisionProblem) -> tuple[Array, Array, Array]:
    """Solve an infinite horizon; return the best choices, their values, and the relative Bellman residual."""

    def improve_again(loop: tuple[Array, ...]) -> Any:
        policy, _, _, count = loop
        value = evaluate_policy(problem, policy)
        better, worth = problem.improve(value)[1:]
        noticed = pick(worth, better) - pick(worth, policy) > POLICY_TOLERANCE * jnp.max(jnp.abs(value))
        return jnp.where(noticed, better, policy), policy, value, count + 1

    def is_unsettled(loop: tuple[Array, ...]) -> Array:
        return jnp.any(loop[0] != loop[1]) & (loop[3] < MAX_POLICIES)

    zeros = jnp.zeros(len(problem.ended), jnp.float32)
    start = lax.fori_loop(0, SWEEPS, lambda _, value: problem.improve(value).value, zeros)
    policy = problem.improve(start).choice
    policy, _, value, _ = lax.while_loop(is_unsettled, improve_again, (policy, policy - 1, start, jnp.int32(0)))
    residual = jnp.max(jnp.abs(problem.improve(value).value - value))
    return policy, value, residual / jnp.max(jnp.abs(value))


def evaluate_policy(problem: DecisionProblem, choice: Array) -> Array:
    """Compute the value of a stationary policy, given as one choice for each state."""
    gain, matrix = problem.follow(choice)
    matrix = jnp.where(problem.ended[None, :] | problem.ended[:, None], 0.0, matrix)
    system = jnp.eye(len(gain), dtype=jnp.float32) - problem.discount * matrix
    return jnp.linalg.solve(system, jnp.where(problem.ended, 0.0, gain))


def pick(table: Array, choice: Array) -> Array:
    """Return, for each state, the entry (or row of entries) of its choice."""
    return table[jnp.arange(len(choice), dtype=jnp.int32), choice]


def quadrature(noise: Noise, n: int) -> tuple[Array, Array]:
    """Return `n` quadrature nodes for the standard draw of a noise, and their weights."""
    z, weight = noise.nodes(n)
    return jnp.asarray(z, jnp.float32), jnp.asarray(weight / weight.sum(), jnp.float32)


def locate_cells(values: Array, grid: Array) -> tuple[Array, Array]:
    """Return the cell of each value on an even grid from 0 and its position in the cell, 0 to 1, for interpolation.

    Values beyond the grid are clipped to its last point.
    """
    place = jnp.clip(values / grid[1], 0.0, len(grid) - 1.0)
    cell = jnp.minimum(place.astype(jnp.int32), len(grid) - 2)
    return cell, place - cell


def transition_matrix(cell: Array, part: Array, weight: Array) -> Array:
    """Return the transition probabilities between grid points, (n, n), from weighted outcomes, (n, nodes)."""
    n = len(cell)
    row = jnp.arange(n, dtype=jnp.int32)[:, None]
    none = jnp.zeros((n, n), jnp.float32)
    return none.at[row, cell].add(weight * (1 - part)).at[row, cell + 1].add(weight * part)
