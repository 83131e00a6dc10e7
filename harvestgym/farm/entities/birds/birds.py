"""Birds: a random number arrives each day, minus those that a scarecrow keeps away (section 4.4.1).

A flock visits the whole field: the fraction of seeds or pests that it eats depends on its size, not on the area.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.core.random import uniform_int
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Flock, Structures

BIRDS_MAX = 100_000
"""Largest number of birds on a field: the upper limit of the paper's range."""


class BirdsState(Pytree):
    """Number of birds today and over the season."""

    population: Array = var("population#nb", "birds on the field today", dtype="int", high=BIRDS_MAX, axes=())
    total: Array = var("total_cumulated_birds#nb", "sum of the daily numbers of birds so far", dtype="int", axes=())


class Birds(Entity):
    """A kind of bird, defined by its food."""

    State: ClassVar[type] = BirdsState
    counted: ClassVar[Mapping[str, tuple[str, ...]]] = {"birds": ("population#nb",)}
    randomness: ClassVar[Mapping[str, tuple[str, ...]]] = {"birds": ()}

    max_population: Array = par("max_population", "most birds a day without a lure", low=0, high=BIRDS_MAX, dtype="int")
    eats: Array = par(("seed_eater", "pest_eater", "pollinator_eater"), "whether they eat these", dtype="bool")

    @publishes(Flock)
    def flock(self, state: BirdsState, place: Place, board: Board, draws: Draws) -> Flock:
        """Publish today's number of birds, by what they eat."""
        seeds, pests, pollinators = self.today(board, draws).astype(jnp.float32) * jnp.asarray(self.eats)
        return Flock(seed_eaters=seeds, pest_eaters=pests, pollinator_eaters=pollinators)

    def today(self, board: Board, draws: Draws) -> Array:
        """Return today's number of birds, int32: drawn from 0 to the maximum, inclusive, minus the birds kept away.

        The paper draws "uniformly within its range"; the lure of a hedge raises the upper limit of that range.
        """
        built = board.read_sum(Structures)
        most = jnp.minimum(self.max_population + built.bird_lure, BIRDS_MAX)
        return jnp.maximum(uniform_int(draws["birds"], 0, most) - built.deterred, 0.0).astype(jnp.int32)

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw up to three birds above the northern edge and write their number next to them."""
        here = seen.number("population#nb")
        shown = int(min(here, 3)) if here > 0 else 0
        room, start = seen.margin, place.shape[0] * (0.45 + 0.2 * seen.rank)
        bird = partial(Mark, self.sprites()["bird"], size=0.55 * room, meaning="birds came")
        places = [(start + 0.6 * i * room, -(0.5 + 0.12 * (i % 2)) * room) for i in range(shown)]
        last = [bird(at, text=f"{here:.0f}" if here > 1 else "") for at in places[-1:]]
        return [*map(bird, places[:-1]), *last]

    def update(self, state: BirdsState, place: Place, board: Board, draws: Draws) -> tuple[BirdsState, Ledger]:
        """Store today's number of birds."""
        here = self.today(board, draws)
        new = BirdsState(population=here, total=state.total + here)
        return new, Ledger({}, {"birds#nb": here.astype(jnp.float32)})
