"""Reward terms that a score may add to BasicScore: life, soil, leaching, money. `Term` is the base of custom ones.

A term reads a `RewardContext` and returns the value of a day, and at the end, once, the value of the season. The
reward is the sum of all terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from harvestgym.core.checks import check_fields
from harvestgym.core.errors import ConfigError, check_name, unknown
from harvestgym.core.tree import open_par, par, pytree

VariableReader = Callable[[str, str, str], jax.Array]


class RewardContext(NamedTuple):
    """The values that a score may read.

    Attributes:
        today, totals: the tallies of the day and of the season so far, scalars by name (`"harvest#kg"`, `"water#L"`).
        indices: what entities say of themselves, 0 to 1 (`"soil"`, `"plant"`).
        read: the array of a variable by field, entity and key.
        day: days since the start.
        entities: the field and the name of every entity.
    """

    today: Mapping[str, jax.Array]
    totals: Mapping[str, jax.Array]
    indices: Mapping[str, jax.Array]
    read: VariableReader
    day: jax.Array
    entities: Sequence[tuple[str, str]] = ()

    def read_every(self, kind: str, key: str) -> list[jax.Array]:
        """Read a variable of every entity of a kind, `read_every("Soil", "available_Water#L")`, field by field."""
        found = [(field, name) for field, name in self.entities if name.rpartition("-")[0] == kind]
        if not found:
            raise unknown("kind", kind, {name.rpartition("-")[0] for _, name in self.entities}, "read_every")
        return [self.read(field, name, key) for field, name in found]


@pytree
class Term:
    """Base of all terms: worth nothing."""

    def __post_init__(self) -> None:
        check_fields(self)

    def daily(self, context: RewardContext) -> jax.Array:
        """Return the reward of the day."""
        return jnp.float32(0.0)

    def final(self, context: RewardContext) -> jax.Array:
        """Return the reward of the season, paid once when it ends."""
        return jnp.float32(0.0)


@pytree
class Tally(Term):
    """So much for each unit of some tallies, every day: a price list (`harvest#kg: 3`, `water#L: -0.002`).

    With the costs of orders and the wages, which are paid anyway, it is the farm's money. What an entity of a farm
    counts it can price, what leaches out of the soil too: `leached_N#g`, and `leached_cide#g`, which is summed over
    the targets as it acts on them.
    """

    prices: dict[str, jax.Array] = open_par("prices", "worth of a unit of a tally", low=-1e6, high=1e6)

    def daily(self, context: RewardContext) -> jax.Array:
        for name in self.prices:
            check_name("tally", name, context.today)
        worth = [price * context.today[name] for name, price in self.prices.items()]
        return sum(worth, jnp.float32(0.0))


@pytree
class Market(Term):
    """The market price of the harvest of each plant when the game ends (`Field-0/Plant-1: 2.5`).

    A plant without a price is worth nothing; set `yield` of the score to 0, or its kilograms count as well.
    """

    prices: dict[str, jax.Array] = open_par(
        "prices", "worth of a kilogram of the harvest of a plant", low=-1e6, high=1e6
    )

    def final(self, context: RewardContext) -> jax.Array:
        kilograms = {name: context.read(*_plant(name), "harvest_weight#kg").sum() for name in self.prices}
        return sum((price * kilograms[name] for name, price in self.prices.items()), jnp.float32(0.0))


def _plant(name: str) -> tuple[str, str]:
    field, _, plant = name.partition("/")
    if not field or not plant:
        raise ConfigError(f"prices: expected a field and a plant, got {name!r}; try Field-0/Plant-0")
    return field, plant


@pytree
class Biodiversity(Term):
    """Shannon's index of the life counted in the season: H = -sum p ln p, over ln of the number of groups (0 to 1)."""

    GROUPS: ClassVar[tuple[str, ...]] = ("birds#nb", "pollinators#nb", "weeds#nb", "pests#nb")
    weight: jax.Array = par("weight", "worth of the greatest diversity", low=-1e6, high=1e6, default=1.0)

    def final(self, context: RewardContext) -> jax.Array:
        counts = jnp.stack([context.totals.get(name, jnp.float32(0.0)) for name in self.GROUPS])
        shares = counts / jnp.maximum(counts.sum(), 1e-9)
        logs = jnp.where(shares > 0, jnp.log(jnp.where(shares > 0, shares, 1.0)), 0.0)
        return -self.weight * jnp.sum(shares * logs) / jnp.log(jnp.float32(len(self.GROUPS)))


@pytree
class SoilHealth(Term):
    """The mean microlife of the soils at the end, minus a reference (0 to 1)."""

    weight: jax.Array = par("weight", "worth of a microlife of 1 more", low=-1e6, high=1e6, default=1.0)
    wanted: jax.Array = par("wanted", "microlife that is worth nothing", low=0, high=1, default=0.0)

    def final(self, context: RewardContext) -> jax.Array:
        return self.weight * (context.indices["soil"] - self.wanted)
