"""Who works: a farmer lets an action happen, or is busy."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..core.tree import par, pytree
from .actions import Orders

UNLIMITED = 2**31 - 1


@pytree
class BasicFarmer:
    """Always there, up to a number of interventions and of observations a day."""

    max_daily_interventions: jax.Array = par("max_daily_interventions", "interventions a day", low=0, dtype="int")
    max_daily_observations: jax.Array = par("max_daily_observations", "observations a day", low=0, dtype="int")


def allowed(farmers: tuple[BasicFarmer, ...], orders: Orders) -> jax.Array:
    """Which orders of a schedule are executed: each farmer takes theirs in list order up to the limit."""
    limits = jnp.stack([jnp.asarray(f.max_daily_interventions) for f in farmers])
    wanted = orders.kind > 0
    same = (orders.farmer[:, None] == orders.farmer[None, :]) & wanted[None, :]
    earlier = jnp.tril(same, k=-1).sum(1)
    return wanted & (earlier < limits[orders.farmer])
