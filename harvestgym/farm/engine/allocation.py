"""The allocator, which divides the water and nutrients of each plot among its hosts and conserves the totals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import jax.numpy as jnp
from jax import Array

from harvestgym.farm.entities.messages import Ground, Need, Share


def allocate(needs: Need, ground: Ground, priorities: Sequence[int]) -> Share:
    """Serve the hosts in order of priority; hosts of equal priority share in proportion to their requests.

    The hosts and the soil use the same result, so the balance closes for any kinds of entities on the field.
    Water is limited to the amount that the soil holds above the wilting point. Only the microlife's fraction of the
    nutrient demand is requested from the soil (section 4.3), limited by the stock.

    Args:
        needs: stacked along the host axis: water (host, length, width), nutrients (host, 4, length, width).
        ground: the water and nutrients of the plots.
        priorities: the static priority of each host.
    """
    water = _by_priority(needs.water, ground.extractable, priorities)
    nutrients = _by_priority(needs.nutrients * ground.microlife, ground.nutrients, priorities)
    return Share(water=water, nutrients=jnp.moveaxis(nutrients, 0, 1))


def _by_priority(asked: Array, stock: Array, priorities: Sequence[int]) -> Array:
    """Sum in a Python loop over the few hosts: XLA can fuse plain additions with the code that uses the sums."""
    given = list(asked)
    for level in sorted(set(priorities), reverse=True):
        equals = [host for host, priority in enumerate(priorities) if priority == level]
        total = reduce(jnp.add, [given[host] for host in equals])
        short = total > stock
        part = jnp.where(short, stock / jnp.where(short, total, 1.0), 1.0)  # of the requests that the stock can cover
        for host in equals:
            given[host] = given[host] * part
        stock = jnp.maximum(stock - reduce(jnp.add, [given[host] for host in equals]), 0.0)
    return jnp.stack(given)
