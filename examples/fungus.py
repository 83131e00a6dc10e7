"""An entity of one's own: a fungus that beans feel and a fungicide stops, with no edit of either.

    python examples/fungus.py

Prints the worst share of infected leaves in a summer of Lille and the pods at its end: healthy, ill, and treated.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import par, pytree, var
from harvestgym.farm import BasicRule, Cide, Entity, Farm, Field, Plant, Soil, Weather
from harvestgym.farm.entity import Board, Draws, Ledger, Place, publishes
from harvestgym.farm.messages import Air, Canopy, Strain

FUNGICIDE = {"extends": "herbicide", "effect": {"fungus": 1, "weeds": 0}}
BAG = ("BasicFarmer-0", "Field-0", "Cide-0", "scatter_bag", {"plot": (0, 0), "amount#bag": 1})
PODS = [("Field-0", "Plant-0", name, [(0, 0)]) for name in ("population#nb", "fruits_per_plant#nb", "fruit_weight#g")]
SEEN = [("Field-0", "Fungus-0", "infected#%", [(0, 0)]), *PODS]


@pytree
class FungusState:
    """What the leaves of each plot bear."""

    infected: jax.Array = var("infected#%", "share of the leaves, 0 to 1", high=1)


@pytree
class Fungus(Entity):
    """Comes on damp days, grows on them, and weakens every plant that it finds."""

    State: ClassVar[type] = FungusState
    targets: ClassVar[tuple[str, ...]] = ("fungus",)  # a name that cides can act on from now on
    randomness: ClassVar = {"spores": ("plot",)}
    arrival: jax.Array = par("arrival#day-1", "chance that spores come to a plot on a damp day", low=0, high=1)

    def init(self, key: jax.Array, place: Place) -> FungusState:
        return FungusState(infected=jnp.zeros(place.shape))

    @publishes(Strain)
    def strain(self, state: FungusState, place: Place, board: Board, draws: Draws) -> Strain:
        """Exponents that plants and weeds add to those of their own."""
        there = state.infected * (board.by_host(Canopy).alive > 0)
        return Strain(death=0.03 * there, growth=0.7 * there, harvest=0.02 * there)

    def update(self, state: FungusState, place: Place, board: Board, draws: Draws) -> tuple[FungusState, Ledger]:
        damp = board.one(Air).humidity > 70
        grown = state.infected * jnp.where(damp, 1.3, 1.0) + 0.05 * (damp & (draws["spores"] < self.arrival))
        healed = jnp.minimum(grown, 1.0) * jnp.exp(-2 * board.toxin("fungus") / place.surface)
        return FungusState(infected=healed), Ledger({}, {})


def farm(arrival: float) -> Farm:
    """A square metre of beans, and a fungicide made of the herbicide."""
    fungus = Fungus(arrival=jnp.float32(arrival))
    kinds = [(Weather, "lille"), (Soil, "clay"), (Plant, "bean"), (Cide, FUNGICIDE), fungus]
    field = Field({"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20}, {"length#nb": 1, "width#nb": 1}, kinds)
    start = {"Field-0": {"Weather-0": {"day#int365": 130}, "Plant-0": {"stage": "seed"}}}
    return Farm([field], rules=BasicRule(init=start, free_observations=SEEN), mode="po")


def main() -> None:
    """Three arms on the same twenty seeds, seventy days each; they share one compiled program."""
    for name, arrival, treated in (("healthy", 0.0, ()), ("ill", 0.1, ()), ("treated", 0.1, (15, 45))):
        game, seasons = farm(arrival), []
        for seed in range(20):
            game.farmgym_reset(seed=seed)
            days = [game.farmgym_step([BAG] if day in treated else [])[0] for day in range(70)]
            seasons.append([[value for *_, value in items] for items in days])
        seen = np.asarray(seasons)  # season, day, what is seen
        infected, grams = seen[:, :, 0].max(1).mean(), seen[:, -1, 1:].prod(1).mean()
        print(f"{name}: infected {infected:.2f}, pods {grams / 1000:.2f} kg")


if __name__ == "__main__":
    main()
