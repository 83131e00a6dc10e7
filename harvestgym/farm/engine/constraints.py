"""Further rules of an episode: they forbid actions or end it. `Rule` is the base of custom ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from harvestgym.core.checks import check_fields
from harvestgym.core.tree import WIDE, par, pytree

from .actions import Orders
from .reward_terms import RewardContext


@pytree
class Rule:
    """Base of all further rules: forbids nothing, ends nothing."""

    def __post_init__(self) -> None:
        check_fields(self)

    def permits(self, orders: Orders, prices: jax.Array, context: RewardContext) -> jax.Array:
        """Return which of the orders of a day are allowed, bool (m,).

        `prices` is what the score charges for each, 0 where an earlier rule refuses it. Farmers come after the rules.
        """
        return jnp.ones(orders.kind.shape, bool)

    def ends(self, context: RewardContext) -> jax.Array:
        """Return whether the game has ended."""
        return jnp.asarray(False)


@pytree
class CostCap(Rule):
    """The orders of a day may cost so much and no more, whoever does them: those that come after are refused."""

    most: jax.Array = par("max_action_schedule_cost", "cost of the orders of a day", low=0, high=WIDE)

    def permits(self, orders: Orders, prices: jax.Array, context: RewardContext) -> jax.Array:
        return jnp.cumsum(prices) <= self.most
