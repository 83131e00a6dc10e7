"""Facility: structures on or around the field, such as a scarecrow or a hedge (section 4.4.6)."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import (
    ActionResult,
    Board,
    Draws,
    Entity,
    Ledger,
    Parameter,
    Place,
    action,
    publishes,
)
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Structures

SCARECROWS = ("none", "basic", "advanced")
"""The states of a field's scarecrow: none, or its type."""


class Strength(Pytree):
    """The effects of one type of scarecrow."""

    deterred: Array = par(SCARECROWS, "birds of each kind kept away per day", low=0, high=1000, dtype="int")


class FacilityState(Pytree):
    """The facilities on the field."""

    scarecrow: Array = var("scarecrow", "scarecrow on the field", labels=SCARECROWS, axes=())


class Facility(Entity):
    """A place for a scarecrow, and lures (hedges) around the field; the effects of several facilities add up."""

    State: ClassVar[type] = FacilityState

    scarecrow_strength: Strength
    bird_lure: Array = par("bird_lure#nb", "increase of the limit on birds of each kind", low=0, high=1000, dtype="int")
    insect_lure: Array = par("insect_lure#plot", "plots by which the wild edge is closer to insects", low=0, high=1000)

    @publishes(Structures)
    def structures(self, state: FacilityState, place: Place, board: Board, draws: Draws) -> Structures:
        """Publish how many animals are repelled and attracted with this morning's scarecrow."""
        numbers = (jnp.asarray(self.scarecrow_strength.deterred)[state.scarecrow], self.bird_lure, self.insect_lure)
        deterred, birds, insects = (jnp.asarray(n, jnp.float32) for n in numbers)
        return Structures(deterred=deterred, bird_lure=birds, insect_lure=insects)

    @action("put_scarecrow", Parameter("type", SCARECROWS[1:]), plot=False)
    def put_scarecrow(self, state: FacilityState, place: Place, where: Array, kind: Array) -> ActionResult:
        """Put up a scarecrow, replacing any other; nothing happens if the same type is already there."""
        return _placed(state, where, 1 + kind.astype(jnp.int32))

    @action("remove_scarecrow", plot=False)
    def remove_scarecrow(self, state: FacilityState, place: Place, where: Array) -> ActionResult:
        """Remove the scarecrow, if there is one."""
        return _placed(state, where, jnp.int32(0))

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw the scarecrow at the eastern edge, and a hedge along the southern edge if the facility lures animals."""
        room, (length, width) = seen.margin, place.shape
        marks = []
        if seen.number("scarecrow") > 0:
            kind = SCARECROWS[int(seen.number("scarecrow"))]
            at = (length + 0.5 * room, width * (0.5 + 0.3 * seen.rank))
            marks.append(Mark(self.sprites()[kind], at, 0.95 * room, meaning=f"scarecrow ({kind})"))
        if self.bird_lure > 0 or self.insect_lure > 0:
            for x in np.linspace(0.5 * room, length - 0.5 * room, max(2, round(length / room))).tolist():
                marks.append(Mark(self.sprites()["hedge"], (x, width + 0.5 * room), 0.95 * room, meaning="hedge"))
        return marks

    def update(self, state: FacilityState, place: Place, board: Board, draws: Draws) -> tuple[FacilityState, Ledger]:
        """Keep the state: only actions change facilities."""
        return state, Ledger({}, {})


def _placed(state: FacilityState, where: Array, scarecrow: Array) -> ActionResult:
    done = where & (state.scarecrow != scarecrow)
    after = FacilityState(scarecrow=jnp.where(done.any(), scarecrow, state.scarecrow))
    return ActionResult(after, done, Ledger({}, {}))
