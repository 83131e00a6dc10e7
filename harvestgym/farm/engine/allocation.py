"""The allocator: the needs of all hosts and the ground of each plot become one share, conserving both.

It is part of the engine, not an entity: takers and giver use the same result, so nothing is created or
lost between them, for any kinds on the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp

from harvestgym.farm.entities.messages import Ground, Need, Share


def allocate(needs: Need, ground: Ground, priorities: Sequence[int]) -> Share:
    """Serve the hosts, higher priorities first, equals in proportion to what they ask.

    Water is limited by what the soil can give above the wilting point. Of the nutrients asked only the
    microlife's fraction is requested from the soil (section 4.3), limited by the stock.

    Args:
        needs: stacked along the host axis: water (host, length, width), nutrients (host, 4, length, width).
        ground: of the plots.
        priorities: of each host, static.
    """
    water = _by_priority(needs.water, ground.extractable, priorities)
    nutrients = _by_priority(needs.nutrients * ground.microlife, ground.nutrients, priorities)
    return Share(water=water, nutrients=jnp.moveaxis(nutrients, 0, 1))


def _by_priority(asked: jax.Array, stock: jax.Array, priorities: Sequence[int]) -> jax.Array:
    """Host by host, as there are few, by additions, which XLA fuses with their uses."""
    given = list(asked)
    for level in sorted(set(priorities), reverse=True):
        equals = [host for host, priority in enumerate(priorities) if priority == level]
        part = _part(reduce(jnp.add, [given[host] for host in equals]), stock)
        for host in equals:
            given[host] = given[host] * part
        stock = jnp.maximum(stock - reduce(jnp.add, [given[host] for host in equals]), 0.0)
    return jnp.stack(given)


def _part(total: jax.Array, stock: jax.Array) -> jax.Array:
    """Return the fraction of the total request that the stock allows, 0 to 1."""
    short = total > stock
    return jnp.where(short, stock / jnp.where(short, total, 1.0), 1.0)
