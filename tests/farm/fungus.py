"""A kind of a user's own that plants feel and a cide acts on: a fungus that lives on leaves in damp weather."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from harvestgym.core.marks import Mark
from harvestgym.core.random import bernoulli
from harvestgym.core.response import Response, Window, expglm
from harvestgym.core.tree import par, pytree, var
from harvestgym.farm.entity import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.messages import Air, Canopy, Strain
from harvestgym.farm.seen import Seen


@pytree
class Favour(Response):
    """The weather in which a fungus does well."""

    humidity: Window
    temperature: Window


@pytree
class FungusState:
    """What the leaves of each plot bear."""

    infected: jax.Array = var("infected#%", "share of the leaves, 0 to 1", high=1)


@pytree
class Fungus(Entity):
    """Comes with the wind, spreads over leaves and to the next plots, and weakens every host that it finds."""

    State: ClassVar[type] = FungusState
    targets: ClassVar[tuple[str, ...]] = ("fungus",)
    randomness: ClassVar = {"spores": ("plot",)}

    arrival: jax.Array = par("arrival#day-1", "chance that spores come to a plot in favourable weather", low=0, high=1)
    first: jax.Array = par("first#%", "share of the leaves that they infect, 0 to 1", low=0, high=1)
    growth: jax.Array = par("growth#day-1", "growth in favourable weather", low=0, high=1)
    spread: jax.Array = par("spread#%", "what a neighbour's infection counts of one's own", low=0, high=0.25)
    cure: jax.Array = par("cure#m2.g-1.day-1", "what a gram of cide per m2 takes away", low=0)
    harm: jax.Array = par(("death", "growth", "yield"), "exponents of a host that is wholly infected", low=0)
    favour: Favour

    def init(self, key: jax.Array, place: Place) -> FungusState:
        return FungusState(infected=jnp.zeros(place.shape))

    @publishes(Strain)
    def strain(self, state: FungusState, place: Place, board: Board, draws: Draws) -> Strain:
        """The harm to each host, in proportion to its infected leaves."""
        there = state.infected * (board.by_host(Canopy).alive > 0)
        death, growth, harvest = jnp.asarray(self.harm)[:, None, None, None] * there
        return Strain(death=death, growth=growth, harvest=harvest)

    def draw(self, seen: Seen, place: Place) -> list[Mark]:
        """A spot on each plot that is infected, the larger the more of the leaves."""
        spots = seen.plots("infected#%")
        return [Mark("disc", (x + 0.5, y + 0.6), 0.3 * share, "#cc79a7", meaning="fungus") for x, y, share in spots]

    def update(self, state: FungusState, place: Place, board: Board, draws: Draws) -> tuple[FungusState, Ledger]:
        """Spores come, leaves infect leaves, a fungicide heals; without leaves nothing is left."""
        air = board.one(Air)
        good = expglm(self.favour, humidity=air.humidity, temperature=air.t_mean)
        spores = bernoulli(draws["spores"], good * self.arrival) * self.first
        near = state.infected + self.spread * _beside(state.infected)
        more = state.infected + (1 - state.infected) * jnp.minimum(spores + good * self.growth * near, 1.0)
        healed = more * jnp.exp(-self.cure * board.toxin("fungus") / place.surface)
        alive = board.by_host(Canopy).alive.sum(0) > 0
        return FungusState(infected=jnp.where(alive, healed, 0.0)), Ledger({}, {})


def _beside(plots: jax.Array) -> jax.Array:
    """The sum over the four neighbours of each plot."""
    wide = jnp.pad(plots, 1)
    return wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
