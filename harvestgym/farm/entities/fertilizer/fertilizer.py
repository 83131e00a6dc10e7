"""Fertilizer: nutrients scattered on a plot and released by soil microlife.

The paper lists it in sections 3.1 and 4 but does not describe it; this kind is modelled on the cides. The part of its
mass that is not N, P, K or C is inert.
"""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import par
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Ledger, Parameter, Place, action, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Feed, name_nutrients
from harvestgym.farm.entities.spreadable import GRAMS, Pile, Spreadable


class Fertilizer(Spreadable):
    """A stock of nutrients on each plot, released into its soil."""

    shares: Array = par(name_nutrients("{}#%"), "share of the fertilizer's mass, 0 to 1", low=0, high=1)

    def check(self) -> Iterator[str]:
        """Check that the nutrient fractions sum to at most one."""
        total = float(np.max(np.sum(self.shares, 0)))
        if total > 1 + 1e-6:
            yield f"{', '.join(name_nutrients('{}#%'))}: expected a sum of at most 1, got {total:g}"

    @action("scatter", Parameter("amount#kg", range=(0.0, 10.0)))
    def scatter(self, state: Pile, place: Place, where: Array, amount: Array) -> ActionResult:
        """Scatter any amount per m2 on a plot."""
        return self.lay(state, where, amount * place.surface)

    def booked(self, given: Array) -> Ledger:
        """Return the nutrients added and the kilograms scattered."""
        return Ledger({"nutrients:fertilizer": self._nutrients(given)}, {"fertilizer#kg": given.sum()})

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw a mark on the eastern side of each plot where fertilizer is left."""
        return self.heaps(seen, self.sprites()["heap"], (0.88 - 0.16 * seen.rank, 0.8), "fertilizer left")

    @publishes(Feed)
    def feed(self, state: Pile, place: Place, board: Board, draws: Draws) -> Feed:
        """Publish the nutrients released today."""
        return Feed(nutrients=self._nutrients(self.freed(state, board)))

    def holds(self, state: Pile) -> dict[str, Array]:
        """Return the nutrients not yet released."""
        return {"nutrients": self._nutrients(state.amount)}

    def _nutrients(self, kg: Array) -> Array:
        """Return the grams of each nutrient in `kg` kilograms per plot."""
        return jnp.asarray(self.shares)[:, None, None] * GRAMS * kg
