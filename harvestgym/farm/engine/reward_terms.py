"""Reward terms that can be added to BasicScore, for biodiversity, soil, leaching and money, and limits on tallies.

A term reads a `RewardContext` and returns a reward for each day and, once at the end, a reward for the season. The
total reward is the sum of all terms. Custom terms derive from `Term`. Limits are not part of the reward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.errors import check_each_name, check_name, require, unknown
from harvestgym.core.pytree import WIDE, open_par, par, pytree, static


class RewardContext(NamedTuple):
    """Values that a score may read.

    Attributes:
        today, totals: the tallies for the day and for the season so far, scalars by name (`"harvest#kg"`, `"water#L"`).
        indices: the indices that entities report, 0 to 1 (`"soil"`, `"plant"`).
        read: function that returns a variable's array by field, entity and key.
        day: days since the start.
        entities: the field and name of every entity.
    """

    today: Mapping[str, Array]
    totals: Mapping[str, Array]
    indices: Mapping[str, Array]
    read: Callable[[str, str, str], Array]
    day: Array
    entities: Sequence[tuple[str, str]] = ()

    def read_every(self, kind: str, key: str) -> list[Array]:
        """Read a variable, such as `read_every("Soil", "available_Water#L")`, from every entity of a kind, by field."""
        found = [(field, name) for field, name in self.entities if name.rpartition("-")[0] == kind]
        if not found:
            raise unknown("kind", kind, {name.rpartition("-")[0] for _, name in self.entities}, "read_every")
        return [self.read(field, name, key) for field, name in found]


@pytree
class Term(Checked):
    """Base class for reward terms; by default, its rewards are 0."""

    def daily(self, context: RewardContext) -> Array:
        """Return the reward for the day."""
        return jnp.float32(0.0)

    def final(self, context: RewardContext) -> Array:
        """Return the reward for the season, paid once at its end."""
        return jnp.float32(0.0)


@pytree
class Tally(Term):
    """Daily reward per unit of some tallies (`harvest#kg: 3`, `water#L: -0.002`).

    Together with order costs and wages, which are always paid, it gives the farm's financial balance. It can price any
    tally that an entity keeps, including leaching from the soil: `leached_N#g`, and `leached_cide#g`, which is summed
    over the targets on which the cide acts.
    """

    prices: dict[str, Array] = open_par("prices", "reward per unit of a tally", low=-1e6, high=1e6)

    def daily(self, context: RewardContext) -> Array:
        check_each_name("tally", self.prices, context.today)
        return sum((price * context.today[name] for name, price in self.prices.items()), jnp.float32(0.0))


@pytree
class Constraint(Checked):
    """Limit on the sum of a tally over an episode, in the form of a daily cost.

    The cost is the day's amount divided by the limit, so that an episode is within the limit if its costs sum to at
    most 1.
    """

    tally: str = static("tally", "name of the tally")
    limit: Array = par("limit", "maximum sum over an episode", low=1e-6, high=WIDE)

    def cost(self, amounts: Mapping[str, Array]) -> Array:
        """Return the cost of the tallies of a day or of an episode."""
        check_name("tally", self.tally, amounts)
        return amounts[self.tally] / self.limit


@pytree
class Market(Term):
    """Reward for each plant's harvest at its market price at the end of the episode (`Field-0/Plant-1: 2.5`).

    A plant without a price earns nothing here. Set the score's `yield` to 0; otherwise, the harvest is rewarded twice.
    """

    prices: dict[str, Array] = open_par("prices", "price per kilogram of a plant's harvest", low=-1e6, high=1e6)

    def final(self, context: RewardContext) -> Array:
        kilograms = {name: context.read(*_plant(name), "harvest_weight#kg").sum() for name in self.prices}
        return sum((price * kilograms[name] for name, price in self.prices.items()), jnp.float32(0.0))


def _plant(name: str) -> tuple[str, str]:
    field, _, plant = name.partition("/")
    require(field and plant, "prices", "a field and a plant", repr(name), "Field-0/Plant-0")
    return field, plant


@pytree
class Biodiversity(Term):
    """Shannon index of the organisms counted in the season: H = -sum p ln p divided by ln(number of groups), 0 to 1."""

    GROUPS: ClassVar[tuple[str, ...]] = ("birds#nb", "pollinators#nb", "weeds#nb", "pests#nb")
    weight: Array = par("weight", "reward for maximum diversity", low=-1e6, high=1e6, default=1.0)

    def final(self, context: RewardContext) -> Array:
        counts = jnp.stack([context.totals.get(name, jnp.float32(0.0)) for name in self.GROUPS])
        shares = counts / jnp.maximum(counts.sum(), 1e-9)
        logs = jnp.where(shares > 0, jnp.log(jnp.where(shares > 0, shares, 1.0)), 0.0)
        return -self.weight * jnp.sum(shares * logs) / jnp.log(jnp.float32(len(self.GROUPS)))


@pytree
class SoilHealth(Term):
    """Mean microlife of the soils at the end, minus a reference (0 to 1)."""

    weight: Array = par("weight", "reward per unit of microlife", low=-1e6, high=1e6, default=1.0)
    wanted: Array = par("wanted", "microlife at which the reward is 0", low=0, high=1, default=0.0)

    def final(self, context: RewardContext) -> Array:
        return self.weight * (context.indices["soil"] - self.wanted)
