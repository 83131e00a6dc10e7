"""Rules and farmers: rules permit a day's orders, and farmers with limited capacity, hours and budget carry them out.

`Rule` is the base class for custom rules, which may also end an episode. A custom farmer is a subclass of `Farmer` with
the method `work` (and `look`, if observations are requested); each day it receives the memory (such as a budget) that
it returned the day before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.checks import Checked
from harvestgym.core.pytree import WIDE, Pytree, par

from .actions import Orders
from .reward_terms import RewardContext


class Rule(Checked, Pytree):
    """Base class for additional rules; by default, a rule refuses no order and never ends an episode.

    Attributes:
        reasons: texts that explain a refused order; the name of a parameter in braces is replaced by its value.
    """

    reasons: ClassVar[tuple[str, ...]] = ("a rule of the farm forbids it",)

    def permits(self, orders: Orders, prices: Array, context: RewardContext) -> Array:
        """Return which of a day's orders are allowed, bool (m,).

        `prices` holds the cost of each order in the score, 0 if an earlier rule refused it. Rules are applied before
        farmers.
        """
        return jnp.ones(orders.kind.shape, bool)

    def ends(self, context: RewardContext) -> Array:
        """Return whether the episode has ended."""
        return jnp.asarray(False)


class CostCap(Rule):
    """Limit on the total cost of a day's orders over all farmers; orders beyond it are refused."""

    reasons: ClassVar[tuple[str, ...]] = ("the orders of a day may cost at most {most}",)
    most: Array = par("max_action_schedule_cost", "maximum cost of a day's orders", low=0, high=WIDE)

    def permits(self, orders: Orders, prices: Array, context: RewardContext) -> Array:
        return jnp.cumsum(prices) <= self.most


class Work(NamedTuple):
    """The orders or observations assigned to one farmer, in list order.

    Attributes:
        wanted: bool (n,), whether the entry is an order for this farmer.
        minutes: float32 (n,), the `duration#min` of each order, 0 if it has none.
        price: float32 (n,), the cost of each order in the score.
        entries: float32 (n,), the number of values that an observation shows; 0 for an intervention.
        day: int32, days since the start of the season.
    """

    wanted: Array
    minutes: Array
    price: Array
    entries: Array
    day: Array


class WorkResult(NamedTuple):
    """The outcome of a farmer's work.

    Attributes:
        done: bool (n,), the orders that were carried out.
        memory: the farmer's new memory.
        wages: the wages for the work.
        reason: int32 (n,), the index in the farmer's `reasons` for each order that was not carried out.
    """

    done: Array
    memory: Any
    wages: Array
    reason: Any = 0


class Farmer(Checked, Pytree):
    """Base class for farmers; it carries out every order, without wages.

    Attributes:
        reasons: texts for orders that the farmer does not carry out, as in `Rule`.
    """

    reasons: ClassVar[tuple[str, ...]] = ("the farmer did not carry it out",)

    def init(self) -> Any:
        """Return the farmer's memory on the morning of the first day."""
        return ()

    def work(self, memory: Any, work: Work) -> WorkResult:
        """Carry out the interventions of a day."""
        return WorkResult(work.wanted, memory, jnp.float32(0.0))

    def look(self, memory: Any, work: Work) -> WorkResult:
        """Make the observations of a morning, before the interventions of the same day."""
        return WorkResult(work.wanted, memory, jnp.float32(0.0))


def delegate(
    job: Literal["work", "look"], farmers: Sequence[Farmer], memories: Sequence[Any], whose: Any, request: Work
) -> WorkResult:
    """Let each farmer carry out its own orders with the method `job`; `whose` (n,) is the index of each order's farmer.

    Returns the orders that were carried out, all farmers' memories and the sum of their wages. A `reason` is the number
    of a reason, counted from 1 over all farmers; it is 0 for other orders.
    """
    done, after, wages = jnp.zeros_like(request.wanted), [], jnp.float32(0.0)
    reason, first = jnp.zeros(done.shape, jnp.int32), 1
    for i, (farmer, memory) in enumerate(zip(farmers, memories, strict=True)):
        mine = request.wanted & (whose == i)
        result: WorkResult = getattr(farmer, job)(memory, request._replace(wanted=mine))
        done, wages = done | (result.done & mine), wages + result.wages
        reason, first = jnp.where(mine & ~result.done, first + result.reason, reason), first + len(farmer.reasons)
        after.append(result.memory)
    return WorkResult(done, tuple(after), wages, reason)


_limit = partial(par, low=0, dtype="int", default=2**31 - 1)
"""The default of a daily limit, which is never reached."""


class BasicFarmer(Farmer):
    """Farmer who works every day, up to a maximum number of interventions and observations."""

    reasons: ClassVar[tuple[str, ...]] = ("the farmer's daily limit is {max_daily_interventions}",)
    max_daily_interventions: Array = _limit("max_daily_interventions", "interventions a day")
    max_daily_observations: Array = _limit("max_daily_observations", "observations a day")

    def work(self, memory: Any, work: Work) -> WorkResult:
        return WorkResult(_first(work.wanted, self.max_daily_interventions), memory, jnp.float32(0.0))

    def look(self, memory: Any, work: Work) -> WorkResult:
        return WorkResult(_first(work.wanted, self.max_daily_observations), memory, jnp.float32(0.0))


class HourlyMemory(NamedTuple):
    """The memory of a farmer with limited hours: the minutes worked today and the money left."""

    minutes: Array
    money: Array


class HourlyFarmer(Farmer):
    """Farmer with limited working hours a day, hourly wages and a budget; observations and interventions take time.

    An order that needs more time or money than is left is refused; later orders may still be carried out.
    """

    reasons: ClassVar[tuple[str, ...]] = ("not enough of the {hours} h per day is left", "not enough money is left")
    hours: Array = par("hours#h.day-1", "working time, including observations", low=0, high=24, default=8.0)
    intervention: Array = par("intervention#min", "time for orders without a duration", low=0, high=1440, default=30.0)
    observation: Array = par("observation#min", "time for each observed number", low=0, high=1440, default=5.0)
    wage: Array = par("wage#h-1", "wage per hour worked", low=0, high=1e6, default=0.0)
    budget: Array = par("budget", "money for wages and order costs", low=0, high=WIDE, default=WIDE)

    def init(self) -> HourlyMemory:
        return HourlyMemory(jnp.float32(0.0), jnp.float32(self.budget))

    def work(self, memory: HourlyMemory, work: Work) -> WorkResult:
        minutes = jnp.where(work.minutes > 0, work.minutes, self.intervention)
        result = self._accept(memory, work, minutes)
        return result._replace(memory=result.memory._replace(minutes=jnp.float32(0.0)))

    def look(self, memory: HourlyMemory, work: Work) -> WorkResult:
        return self._accept(memory, work, work.entries * self.observation)

    def _accept(self, memory: HourlyMemory, work: Work, minutes: Array) -> WorkResult:
        wages = self.wage * minutes / 60

        def take(left: HourlyMemory, order: tuple[Array, ...]) -> tuple[HourlyMemory, tuple[Array, ...]]:
            wanted, time, money = order
            in_time = left.minutes + time <= 60 * self.hours
            done = wanted & in_time & (money <= left.money)
            return HourlyMemory(left.minutes + done * time, left.money - done * money), (done, in_time)

        after, (done, in_time) = jax.lax.scan(take, memory, (work.wanted, minutes, work.price + wages))
        return WorkResult(done, after, jnp.sum(done * wages), in_time.astype(jnp.int32))


def _first(wanted: Array, limit: Array) -> Array:
    """Return the first `limit` wanted entries."""
    return wanted & (jnp.cumsum(wanted, dtype=jnp.int32) <= limit)
