"""Custom kinds that act on the soil: mulch, which keeps it moist, and earthworms, which drain it.

    python examples/mulch.py

The soil needs no changes, because it sums the `Tilth` messages from all kinds. The program prints the water in a square
metre of bare clay after a dry month, and the nitrogen that a month of heavy watering leaches.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import Pytree, par, var
from harvestgym.farm import BasicRule, Entity, Farm, Field, Soil, Weather
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Ledger, Parameter, Place, action, publishes
from harvestgym.farm.entities.messages import Canopy, Ground, Tilth


class MulchState(Pytree):
    """The straw, kg, on each plot."""

    straw: jax.Array = var("straw#kg", "straw on the plot")


class Mulch(Entity):
    """Straw that shields the soil from the sun until it has rotted."""

    State: ClassVar[type] = MulchState
    rot: jax.Array = par("rot#day-1", "share that rots in a day", low=0, high=1)
    thickness: jax.Array = par("thickness#kg.m-2", "straw that covers two thirds of the surface", low=0.01)
    height: jax.Array = par(
        "height#cm", "plants below this height are not mulched, because they would be buried", low=0
    )

    @publishes(Tilth)
    def shield(self, state: MulchState, place: Place, board: Board, draws: Draws) -> Tilth:
        """Cover a part of the surface that increases with the amount of straw."""
        return Tilth(cover=1 - jnp.exp(-state.straw / place.surface / self.thickness), drainage=0.0)

    @action("spread", Parameter("amount#kg", (0.5, 1.0, 2.0)))
    def spread(
        self, state: MulchState, place: Place, where: jax.Array, amount: jax.Array, board: Board
    ) -> ActionResult:
        """Spread straw on a plot without small plants."""
        canopy = board.read_hosts(Canopy)
        buried = ((canopy.alive > 0) & (canopy.height < self.height)).any(0)
        done = where & ~buried
        return ActionResult(MulchState(straw=state.straw + jnp.where(done, amount, 0.0)), done, Ledger({}, {}))

    def update(self, state: MulchState, place: Place, board: Board, draws: Draws) -> tuple[MulchState, Ledger]:
        return MulchState(straw=state.straw * (1 - self.rot)), Ledger({}, {})


class WormsState(Pytree):
    """The number of earthworms per square metre of each plot."""

    worms: jax.Array = var("worms#nb.m-2", "earthworms per square metre")


class Earthworms(Entity):
    """Worms that multiply in healthy soil, and whose burrows drain water that the soil cannot hold."""

    State: ClassVar[type] = WormsState
    growth: jax.Array = par("growth#day-1", "growth in a soil of full life", low=0, high=1)
    most: jax.Array = par("most#nb.m-2", "the most that a soil of full life feeds", low=1)
    half: jax.Array = par("half#nb.m-2", "worms that drain half of a surplus without harm", low=1)

    def init(self, key: jax.Array, place: Place) -> WormsState:
        return WormsState(worms=jnp.full(place.shape, 0.1 * self.most, jnp.float32))

    @publishes(Tilth)
    def burrow(self, state: WormsState, place: Place, board: Board, draws: Draws) -> Tilth:
        """Drain a fraction of the surplus water."""
        return Tilth(cover=0.0, drainage=state.worms / (state.worms + self.half))

    def update(self, state: WormsState, place: Place, board: Board, draws: Draws) -> tuple[WormsState, Ledger]:
        room = self.most * board.read_one(Ground).microlife
        grown = state.worms + self.growth * state.worms * (1 - state.worms / jnp.maximum(room, 1.0))
        return WormsState(worms=jnp.maximum(grown, 0.0)), Ledger({}, {})


NUMBERS: Any = np.float32
STRAW = Mulch(rot=NUMBERS(0.01), thickness=NUMBERS(0.5), height=NUMBERS(10))
WORMS = Earthworms(growth=NUMBERS(0.05), most=NUMBERS(400), half=NUMBERS(100))
WATER = ("Field-0", "Soil-0", "available_Water#L", [(0, 0)])
NITROGEN = ("Field-0", "Soil-0", "available_N#g", [(0, 0)])
SPREAD = ("BasicFarmer-0", "Field-0", "Mulch-0", "spread", {"plot": (0, 0), "amount#kg": 1.0})
SOAK = ("BasicFarmer-0", "Field-0", "Soil-0", "watering_discrete", {"plot": (0, 0), "amount#L": 20, "duration#min": 60})
DRIZZLE = (*SOAK[:-1], {"plot": (0, 0), "amount#L": 1, "duration#min": 60})


def play(entities: list[Any], orders: list[Any]) -> list[float]:
    """Return the water, L, and the nitrogen, g, in a bare soil after these orders, one per day."""
    place = {"latitude#°": 47.6, "longitude#°": -122.3, "altitude#m": 20}
    field = Field(place, {"length#nb": 1, "width#nb": 1}, [(Weather, "seattle"), (Soil, "clay"), *entities])
    start = {"Field-0": {"Weather-0": {"day#int365": 190}, "Soil-0": {"available_Water#L": 150}}}
    farm = Farm([field], rules=BasicRule(init=start, free_observations=[WATER, NITROGEN]), mode="po")
    farm.farmgym_reset(seed=0)
    seen = [farm.farmgym_step(order)[0] for order in orders]
    return [value for *_, value in seen[-1]]


def main() -> None:
    """Compare soil with and without straw in a dry month, and with and without worms in a wet month."""
    sprinkled = [[DRIZZLE]] * 30
    for name, entities, first in (("bare", [], []), ("mulched", [STRAW], [[SPREAD]])):
        print(f"{name}: {play(entities, [*first, *sprinkled])[0]:.0f} L of water")
    for name, entities in (("without worms", []), ("with worms", [WORMS])):
        print(f"{name}: {play(entities, [[SOAK]] * 30)[1]:.1f} g of nitrogen left")


if __name__ == "__main__":
    main()
