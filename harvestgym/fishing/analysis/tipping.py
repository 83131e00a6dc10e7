"""The optimal policy for tipping-point control, by dynamic programming over stock and driver, both observed.

With the driver as a second state, the problem is an ordinary MDP. An action changes only the driver, so the expectation
is computed once per (stock, new driver), and the best action is found by a search along the axis of the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import Partial

from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.pytree import replace
from harvestgym.fishing.conservation import DRIVER_BOUND, ConservationParams, DriverModel

from .bellman import locate_cells, quadrature, solve_backwards

NOISE_NODES = 16


class TippingPlan(NamedTuple):
    """Optimal actions for a finite horizon.

    Attributes:
        stock, driver: the grids, (n,) and (m,).
        action: the optimal action, in the unit of actions, (years, n, m).
        value: expected return from the first year on, (n, m).
    """

    stock: Array
    driver: Array
    action: Array
    value: Array


@partial(jax.jit, static_argnums=(0, 2, 3, 4, 5))
def plan_actions(
    env: DriverModel, params: ConservationParams, years: int, n: int = 121, m: int = 101, choices: int = 41
) -> TippingPlan:
    """Find the undiscounted optimal policy over `years`; the action grid is denser near 0, where actions are cheap."""
    stock = jnp.linspace(0.0, env.units.bound, n, dtype=jnp.float32)
    driver = jnp.linspace(0.0, DRIVER_BOUND, m, dtype=jnp.float32)
    actions = env.units.bound * jnp.linspace(0.0, 1.0, choices, dtype=jnp.float32) ** 2
    after, weight = _grow(params, stock, driver)
    gain = (params.benefit * after / (1 + params.satiation * after) * weight).sum(-1)
    cell, part = locate_cells(after, stock)
    a_cell, a_part = locate_cells(jax.vmap(lambda A: env.push_driver(driver, A, params))(actions).T, driver)
    price = actions**params.exponent
    column = jnp.arange(m, dtype=jnp.int32)[None, :, None]

    def decide(value: Array, _: Array) -> tuple[Array, Array]:
        coming = value[cell, column] * (1 - part) + value[cell + 1, column] * part
        future = gain + (coming * weight).sum(-1)
        choice = future[:, a_cell] * (1 - a_part) + future[:, a_cell + 1] * a_part - price
        best = jax.lax.argmax(choice, 2, jnp.int32)
        return jnp.take_along_axis(choice, best[..., None], -1)[..., 0], best

    value, best = solve_backwards(decide, jnp.zeros((n, m), jnp.float32), years)
    return TippingPlan(stock, driver, actions[best], value)


def _grow(params: ConservationParams, stock: Array, driver: Array) -> tuple[Array, Array]:
    """Return next year's stock for each (stock, new driver, node), and the nodes' weights."""
    z, weight = quadrature(params.noise, NOISE_NODES)
    mean = replace(params.law, a=driver[:, None])((1 - params.loss) * stock[:, None, None])
    return jnp.broadcast_to(params.noise(z, mean, stock[:, None, None]), (len(stock), len(driver), NOISE_NODES)), weight


class _Memory(NamedTuple):
    year: Array
    driver: Array


@dataclass(frozen=True)
class _Follow:
    """Rule that follows a plan; it computes the driver from past actions, so the driver need not be observed."""

    env: DriverModel

    def __call__(self, plan: TippingPlan, params: Any, memory: _Memory, obs: Array, key: Array) -> tuple[Any, Any]:
        stock = self.env.units.survey(obs)[0]
        (i, x), (j, a) = locate_cells(stock, plan.stock), locate_cells(memory.driver, plan.driver)
        now = plan.action[jnp.minimum(memory.year, len(plan.action) - 1)]
        action = (1 - x) * ((1 - a) * now[i, j] + a * now[i, j + 1])
        action += x * ((1 - a) * now[i + 1, j] + a * now[i + 1, j + 1])
        driver = self.env.push_driver(memory.driver, action, params)
        return _Memory(memory.year + 1, driver), self.env.units.action(action[None])


def follow_plan(env: DriverModel, plan: TippingPlan) -> Policy:
    """Make the policy that follows a plan."""
    params: Any = env.params
    start = _Memory(jnp.int32(0), jnp.float32(params.law.a))
    return Policy(start, Partial(_Follow(env), plan, jax.tree.map(jnp.asarray, params)))


def steady_push(env: DriverModel, action: Any) -> Policy:
    """Make the policy that takes the same action every year, in the unit of actions."""
    return constant_policy(env.units.action(jnp.full((1,), action, jnp.float32)))
