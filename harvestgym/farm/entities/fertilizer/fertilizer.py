"""Fertilizer: nutrients that are scattered on a plot and set free by the soil life.

The paper lists it in sections 3.1 and 4 without a section of its own; this one follows the cides'. What in it is
neither N, P, K nor C is inert.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import par, pytree
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Ledger, Parameter, Place, action, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import NUTRIENTS, Feed
from harvestgym.farm.entities.spreadable import GRAMS, Pile, Spreadable


@pytree
class Fertilizer(Spreadable):
    """Holds nutrients on each plot and feeds them to its soil."""

    shares: jax.Array = par(tuple(f"{n}#%" for n in NUTRIENTS), "share of its mass, 0 to 1", low=0, high=1)

    def check(self) -> Iterator[str]:
        """Check that a kilogram holds no more than a kilogram."""
        total = float(np.max(np.sum(self.shares, 0)))
        if total > 1 + 1e-6:
            yield f"{', '.join(f'{n}#%' for n in NUTRIENTS)}: expected at most 1 together, got {total:g}"

    @action("scatter", Parameter("amount#kg", range=(0.0, 10.0)))
    def scatter(self, state: Pile, place: Place, where: jax.Array, amount: jax.Array) -> ActionResult:
        """Scatter any amount per m2 on a plot."""
        return self.lay(state, where, amount * place.surface)

    def booked(self, given: jax.Array) -> Ledger:
        """Nutrients that come in, and kilograms scattered."""
        return Ledger({"nutrients:fertilizer": self._nutrients(given)}, {"fertilizer#kg": given.sum()})

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw a mark at the eastern side of a plot, where some is left."""
        return self.heaps(seen, self.sprites()["heap"], (0.88 - 0.16 * seen.rank, 0.8), "fertilizer left")

    @publishes(Feed)
    def feed(self, state: Pile, place: Place, board: Board, draws: Draws) -> Feed:
        """Return the nutrients that are set free today."""
        return Feed(nutrients=self._nutrients(self.freed(state, board)))

    def holds(self, state: Pile) -> dict[str, jax.Array]:
        """Return the nutrients that lie on the plots."""
        return {"nutrients": self._nutrients(state.amount)}

    def _nutrients(self, kg: jax.Array) -> jax.Array:
        """Grams of each nutrient in some kilograms per plot."""
        return jnp.asarray(self.shares)[:, None, None] * GRAMS * kg
