"""Custom entity: a fungus that harms beans and is stopped by a fungicide, without changes to the code of either.

    python examples/fungus.py

The parameters of the fungus are in fungus.yaml. The program prints the largest fraction of infected leaves during a
summer in Lille, and the number of pods at its end, for healthy, infected and treated plants.
"""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.core.random import bernoulli
from harvestgym.core.view.scene import Mark
from harvestgym.farm import BasicRule, Cide, Entity, Farm, Field, Plant, Soil, Weather
from harvestgym.farm.entities.base import Board, Draws, Ledger, Place, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Air, Canopy, Strain
from harvestgym.farm.entities.response import Response, Window, expglm

FUNGICIDE = {"extends": "herbicide", "effect": {"fungus": 1, "weeds": 0}}
BAG = ("BasicFarmer-0", "Field-0", "Cide-0", "scatter_bag", {"plot": (0, 0), "amount#bag": 1})
PODS = [("Field-0", "Plant-0", name, [(0, 0)]) for name in ("population#nb", "fruits_per_plant#nb", "fruit_weight#g")]
SEEN = [("Field-0", "Fungus-0", "infected#%", [(0, 0)]), *PODS]


class Favour(Response):
    """The weather that favours the fungus."""

    humidity: Window
    temperature: Window


class FungusState(Pytree):
    """The infected fraction of the leaves on each plot."""

    infected: jax.Array = var("infected#%", "share of the leaves, 0 to 1", high=1)


class Fungus(Entity):
    """A fungus that arrives by wind, spreads over leaves and to neighbouring plots, and weakens every host."""

    State: ClassVar[type] = FungusState
    targets: ClassVar[tuple[str, ...]] = ("fungus",)  # a new target for cides
    randomness: ClassVar = {"spores": ("plot",)}

    arrival: jax.Array = par("arrival#day-1", "chance that spores come to a plot in favourable weather", low=0, high=1)
    first: jax.Array = par("first#%", "share of the leaves that they infect, 0 to 1", low=0, high=1)
    growth: jax.Array = par("growth#day-1", "growth in favourable weather", low=0, high=1)
    spread: jax.Array = par("spread#%", "weight of the infection of a neighbour plot", low=0, high=0.25)
    cure: jax.Array = par("cure#m2.g-1.day-1", "share that a gram of cide per m2 removes in a day", low=0)
    harm: jax.Array = par(("death", "growth", "ripe_fruit_loss"), "exponents of a fully infected host", low=0)
    favour: Favour

    @publishes(Strain)
    def strain(self, state: FungusState, place: Place, board: Board, draws: Draws) -> Strain:
        """Return the harm to each host, in proportion to its infected leaves."""
        there = state.infected * (board.read_hosts(Canopy).alive > 0)
        death, growth, harvest = jnp.asarray(self.harm)[:, None, None, None] * there
        return Strain(death=death, growth=growth, harvest=harvest)

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw a spot on each infected plot, which grows with the fraction of infected leaves."""
        spots = seen.plots("infected#%")
        return [Mark("disc", (x + 0.5, y + 0.6), 0.3 * share, "#cc79a7", meaning="fungus") for x, y, share in spots]

    def update(self, state: FungusState, place: Place, board: Board, draws: Draws) -> tuple[FungusState, Ledger]:
        """Advance the infection by a day: it arrives, spreads, and is reduced by fungicide; it needs living plants."""
        air = board.read_one(Air)
        good = expglm(self.favour, humidity=air.humidity, temperature=air.t_mean)
        spores = bernoulli(draws["spores"], good * self.arrival) * self.first
        near = state.infected + self.spread * _neighbours(state.infected)
        more = state.infected + (1 - state.infected) * jnp.minimum(spores + good * self.growth * near, 1.0)
        healed = more * jnp.exp(-self.cure * board.toxin("fungus") / place.surface)
        alive = board.read_hosts(Canopy).alive.sum(0) > 0
        return FungusState(infected=jnp.where(alive, healed, 0.0)), Ledger({}, {})


def _neighbours(plots: jax.Array) -> jax.Array:
    """Return the sum over the four neighbours of each plot."""
    wide = jnp.pad(plots, 1)
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]


def farm(arrival: float) -> Farm:
    """Return a farm with a square metre of beans, and a fungicide derived from the herbicide."""
    fungus = {"extends": "mildew", "arrival#day-1": arrival}
    kinds = [(Weather, "lille"), (Soil, "clay"), (Plant, "bean"), (Cide, FUNGICIDE), (Fungus, fungus)]
    field = Field({"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20}, {"length#nb": 1, "width#nb": 1}, kinds)
    start = {"Field-0": {"Weather-0": {"day#int365": 130}, "Plant-0": {"stage": "seed"}}}
    return Farm([field], rules=BasicRule(init=start, free_observations=SEEN), mode="po")


def main() -> None:
    """Compare the three cases on the same twenty seeds over 110 days; they share one compiled program."""
    for name, arrival, treated in (("healthy", 0.0, ()), ("ill", 0.1, ()), ("treated", 0.1, (15, 45))):
        game, seasons = farm(arrival), []
        for seed in range(20):
            game.farmgym_reset(seed=seed)
            days = [game.farmgym_step([BAG] if day in treated else [])[0] for day in range(110)]
            seasons.append([[value for *_, value in items] for items in days])
        seen = np.asarray(seasons)  # season, day, observed value
        infected, grams = seen[:, :, 0].max(1).mean(), seen[:, -1, 1:].prod(1).mean()
        print(f"{name}: infected {infected:.2f}, pods {grams / 1000:.2f} kg")


if __name__ == "__main__":
    main()
