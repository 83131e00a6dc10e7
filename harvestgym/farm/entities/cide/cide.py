"""Cide: a poison that is scattered on a plot, released by soil microlife, and acts on its targets (section 4.4.5)."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import open_par
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Ledger, Parameter, Place, action, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Dose
from harvestgym.farm.entities.spreadable import GRAMS, Pile, Spreadable


class Cide(Spreadable):
    """A pesticide, a herbicide, or another poison; its targets are names that other kinds declare in `targets`.

    Targets that no entity on the field declares are ignored.
    """

    effect: dict[str, Array] = open_par("effect", "effective grams for each target per gram released", low=0, high=1e6)

    @action("scatter", Parameter("amount#kg", range=(0.0, 0.02)))
    def scatter(self, state: Pile, place: Place, where: Array, amount: Array) -> ActionResult:
        """Scatter any amount per m2 on a plot."""
        return self.lay(state, where, amount * place.surface)

    def booked(self, given: Array) -> Ledger:
        """Return the grams scattered, for the score."""
        return Ledger({}, {"cide#g": GRAMS * given.sum()})

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw the cide at the eastern edge of plots where some is left, with a badge for its main target."""
        sprites, at = self.sprites(), (0.88, 0.65 - 0.16 * (seen.rank % 2))
        most = max(self.effect, key=lambda target: (float(self.effect[target]), target in sprites), default="other")
        name = seen.sets[0] if seen.sets else seen.name
        return self.heaps(seen, sprites.get(most, sprites["other"]), at, f"{name.replace('_', ' ')} left")

    @publishes(Dose)
    def dose(self, state: Pile, place: Place, board: Board, draws: Draws) -> Dose:
        """Publish the amount released today, as its effect on each target on the field."""
        effects = jnp.asarray([self.effect.get(target, 0.0) for target in place.targets], jnp.float32)
        return Dose(toxin=effects[:, None, None] * GRAMS * self.freed(state, board))
