"""What farmers scatter and the soil life sets free, little by little: the common part of cides and fertilizers.

What lies on a plot is dry: rain does not move it. What has been set free is the soil's, from where rain washes it out.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.scene import Mark, Sprite
from harvestgym.core.tree import par, pytree, replace, var

from .base import ActionResult, Board, Draws, Entity, Ledger, Parameter, Place, action
from .drawing import DrawContext
from .messages import Ground

GRAMS = 1000.0
"""In a kilogram."""

TRACE = 0.01
"""Of a bag: less is not drawn."""

BAGS = (1.0, 2.0, 3.0, 4.0)
"""How many bags an order can scatter."""


@pytree
class Pile:
    """What lies on each plot, and what was ever scattered there."""

    amount: jax.Array = var("amount#kg", "on the plot and not yet set free")
    total: jax.Array = var("total_cumulated_scattered_amount#kg", "scattered since the start of the season")


@pytree
class Spreadable(Entity):
    """Base of what is scattered; a kind says what it brings (`booked`), the size of an order, and to whom it goes."""

    State: ClassVar[type] = Pile

    speed: jax.Array = par("base_absorption_speed#kg.week-1", "set free by a soil of full life, per kg there", low=0)
    bag: jax.Array = par("bag#kg", "content of a bag", low=0)

    def booked(self, given: jax.Array) -> Ledger:
        """What crosses the boundary of the farm with some kilograms per plot."""
        raise NotImplementedError

    def init(self, key: jax.Array, place: Place) -> Pile:
        """Nothing on any plot."""
        return Pile(amount=jnp.zeros(place.shape), total=jnp.zeros(place.shape))

    def lay(self, pile: Pile, where: jax.Array, kg: jax.Array) -> ActionResult:
        """Scatter `kg` on each of the plots."""
        given = jnp.where(where, kg, 0.0)
        new = Pile(amount=pile.amount + given, total=pile.total + given)
        return ActionResult(new, given > 0, self.booked(given))

    @action("scatter_bag", Parameter("amount#bag", BAGS))
    def scatter_bag(self, state: Pile, place: Place, where: jax.Array, bags: jax.Array) -> ActionResult:
        """Scatter some bags on a plot."""
        return self.lay(state, where, bags * self.bag)

    def heaps(self, seen: DrawContext, sprite: Sprite, at: tuple[float, float], meaning: str) -> list[Mark]:
        """A drawing on each plot where something is left, fainter as it goes: at half a bag half as strong."""
        bags = np.asarray(seen.get("amount#kg", 0.0), float) / (float(self.bag) or 1.0)
        lies = DrawContext({"part": np.where(bags >= TRACE, np.minimum(bags, 1.0), 0.0)}, crowded=seen.crowded)
        marks = zip(lies.marks(sprite, "part", at, meaning), lies.plots("part"), strict=True)
        return [dataclasses.replace(mark, opacity=0.4 + 0.6 * part) for mark, (_, _, part) in marks]

    def freed(self, pile: Pile, board: Board) -> jax.Array:
        """Kilograms per plot that the soil life sets free today."""
        return released_amount(pile.amount, self.speed, board.one(Ground).microlife)

    def update(self, state: Pile, place: Place, board: Board, draws: Draws) -> tuple[Pile, Ledger]:
        """What was set free lies there no more."""
        return replace(state, amount=state.amount - self.freed(state, board)), Ledger({}, {})


def released_amount(amount: jax.Array, speed: jax.Array, microlife: jax.Array) -> jax.Array:
    """What is set free in a day of `amount`, in its unit.

    First order: `speed` is kg a week of each kg that lies there, in a soil of full life, and `microlife`, 0 to 1,
    slows it; half is gone after 7 ln 2 / (speed microlife) days. Read as kg a week whatever lies there, the paper's
    speeds would set a garden's grams free in a day.
    """
    return -amount * jnp.expm1(-speed / 7 * microlife)
