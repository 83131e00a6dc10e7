"""Base class of cides and fertilizers: farmers spread them on a plot, and soil microlife releases them over time.

The unreleased amount on a plot is dry, so rain does not move it; rain leaches the released amount from the soil.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, par, replace, var
from harvestgym.core.view.scene import Mark, Sprite

from .base import ActionResult, Board, Draws, Entity, Ledger, Parameter, Place, action
from .drawing import DrawContext
from .messages import Ground

GRAMS = 1000.0
"""Grams in a kilogram."""

TRACE = 0.01
"""Amount below which no mark is drawn, as a fraction of a bag."""

BAGS = (1.0, 2.0, 3.0, 4.0)
"""The numbers of bags that an action can scatter."""


class Pile(Pytree):
    """The amount on each plot and the total scattered there."""

    amount: Array = var("amount#kg", "amount on the plot that is not yet released")
    total: Array = var("total_cumulated_scattered_amount#kg", "amount scattered since the start of the season")


class Spreadable(Entity):
    """Base class of cides and fertilizers. A kind defines its ledger (`booked`), action range and message."""

    State: ClassVar[type] = Pile

    speed: Array = par("base_absorption_speed#kg.week-1", "release at full microlife, per kg on plot", low=0, high=1000)
    bag: Array = par("bag#kg", "content of a bag", low=0, high=1000)

    def booked(self, given: Array) -> Ledger:
        """Return the flows across the farm boundary for `given` kilograms per plot."""
        raise NotImplementedError

    def lay(self, pile: Pile, where: Array, kg: Array) -> ActionResult:
        """Scatter `kg` on each plot selected by `where`."""
        given = jnp.where(where, kg, 0.0)
        new = Pile(amount=pile.amount + given, total=pile.total + given)
        return ActionResult(new, given > 0, self.booked(given))

    @action("scatter_bag", Parameter("amount#bag", BAGS, (0.0, 4.0)))
    def scatter_bag(self, state: Pile, place: Place, where: Array, bags: Array) -> ActionResult:
        """Scatter a number of bags per m2 on a plot."""
        return self.lay(state, where, bags * self.bag * place.surface)

    def heaps(self, seen: DrawContext, sprite: Sprite, at: tuple[float, float], meaning: str) -> list[Mark]:
        """Draw a sprite on each plot where some substance is left; it fades when less than one bag is left."""
        bags = np.asarray(seen.get("amount#kg", 0.0), float) / (float(self.bag) or 1.0)
        lies = DrawContext({"part": np.where(bags >= TRACE, np.minimum(bags, 1.0), 0.0)}, crowded=seen.crowded)
        marks = zip(lies.marks(sprite, "part", at, meaning), lies.plots("part"), strict=True)
        return [dataclasses.replace(mark, opacity=0.4 + 0.6 * part) for mark, (_, _, part) in marks]

    def freed(self, pile: Pile, board: Board) -> Array:
        """Return the kilograms per plot that soil microlife releases today."""
        return released_amount(pile.amount, self.speed, board.read_one(Ground).microlife)

    def update(self, state: Pile, place: Place, board: Board, draws: Draws) -> tuple[Pile, Ledger]:
        """Remove the released amount."""
        return replace(state, amount=state.amount - self.freed(state, board)), Ledger({}, {})


def released_amount(amount: Array, speed: Array, microlife: Array) -> Array:
    """Return the part of `amount` that is released per day, in the same unit.

    The release is first order: `speed` is in kg per week per kg on the plot at full microlife, and a `microlife` (0 to
    1) below 1 slows it; half of the amount is released after 7 ln 2 / (speed * microlife) days. If the paper's speeds
    were in kg per week regardless of the amount, the few grams used in a garden would be released in a day.
    """
    return -amount * jnp.expm1(-speed / 7 * microlife)
