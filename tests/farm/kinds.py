"""Kinds of a user's own, as small as they come: a spring that is the ground, a reed that drinks, a gauge."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from harvestgym.core.pytree import Pytree, par, replace, var
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
from harvestgym.farm.entities.messages import Ground, Need, Share
from tests.farm.messages import message


class SpringState(Pytree):
    """Water of each plot."""

    water: jax.Array = var("available_Water#L", "water in the spring", high=1e5)
    nutrients: jax.Array = var(("available_N#g", "available_P#g", "available_K#g", "available_C#g"), "nutrients")


class Spring(Entity):
    """Ground that receives some water every day."""

    State: ClassVar[type] = SpringState
    randomness: ClassVar = {"flow": ("plot",)}
    flow: jax.Array = par("flow#L.day-1", "mean inflow", low=0)

    def init(self, key: jax.Array, place: Place) -> SpringState:
        return SpringState(water=jnp.full(place.shape, 10.0), nutrients=jnp.ones((4, *place.shape)))

    @publishes(Ground)
    def ground(self, state: SpringState, place: Place, board: Board, draws: Draws) -> Ground:
        """Return all that is there can be taken."""
        water = {"water": state.water, "extractable": state.water, "capacity": 100.0}
        return message(Ground, place, **water, nutrients=state.nutrients, microlife=0.5)

    @action("pour", Parameter("amount#L", range=(0.0, 5.0)))
    def pour(self, state: SpringState, place: Place, where: jax.Array, amount: jax.Array) -> ActionResult:
        """Pour water on a plot."""
        given = jnp.where(where, amount, 0.0)
        ledger = Ledger({"water:poured": given}, {"water#L": given.sum()})
        return ActionResult(replace(state, water=state.water + given), where, ledger)

    def update(self, state: SpringState, place: Place, board: Board, draws: Draws) -> tuple[SpringState, Ledger]:
        share = board.read_sum(Share)
        inflow = self.flow * 2 * draws["flow"]
        new = SpringState(
            water=state.water - share.water.sum(0) + inflow, nutrients=state.nutrients - share.nutrients.sum(1)
        )
        return new, Ledger({"water:spring": inflow}, {})

    def holds(self, state: SpringState) -> dict[str, jax.Array]:
        return {"water": state.water, "nutrients": state.nutrients}


class ReedState(Pytree):
    """The water that a reed has taken up."""

    stage: jax.Array = var("stage", "young or old", labels=("young", "old"))
    colour: jax.Array = var("colour", "a dye", dtype="int", high=2)
    store: jax.Array = var("cumulated_water#L", "water drunk")
    food: jax.Array = var(("N#g", "P#g", "K#g", "C#g"), "nutrients eaten")


class Reed(Entity):
    """A host that drinks what it is given."""

    State: ClassVar[type] = ReedState
    host: ClassVar[bool] = True
    thirst: jax.Array = par("thirst#L.day-1", "water asked", low=0)

    @publishes(Need)
    def need(self, state: ReedState, place: Place, board: Board, draws: Draws) -> Need:
        """Return the same every day."""
        return message(Need, place, water=self.thirst, nutrients=0.1)

    @action("dye", Parameter("colour", ("red", "green", "blue")), plot=False)
    def dye(self, state: ReedState, place: Place, where: jax.Array, colour: jax.Array) -> ActionResult:
        """Paint the reed."""
        new = replace(state, colour=jnp.where(where, colour.astype(jnp.int32), state.colour))
        return ActionResult(new, where, Ledger({}, {}))

    @action("cut", plot=False)
    def cut(self, state: ReedState, place: Place, where: jax.Array) -> ActionResult:
        """Harvest the whole field of old reed."""
        done = where & (state.stage == 1)
        kg = jnp.where(done, state.store, 0.0)
        flows = {"water:cut": -kg, "nutrients:cut": -jnp.where(done, state.food, 0.0)}
        new = replace(
            state, stage=jnp.where(done, 0, state.stage), store=state.store - kg,
            food=jnp.where(done, 0.0, state.food),
        )  # fmt: skip
        return ActionResult(new, done, Ledger(flows, {"harvest#kg": kg.sum()}))

    def update(self, state: ReedState, place: Place, board: Board, draws: Draws) -> tuple[ReedState, Ledger]:
        share = board.read_own(Share)
        store = state.store + share.water
        old = store > 5.0
        tally: dict[str, Any] = {"stages#nb": jnp.sum(old & (state.stage == 0)).astype(jnp.float32)}
        new = replace(state, stage=old.astype(jnp.int32), store=store, food=state.food + share.nutrients)
        return new, Ledger({}, tally)

    def holds(self, state: ReedState) -> dict[str, jax.Array]:
        return {"water": state.store, "nutrients": state.food}


class Weed(Reed):
    """A reed that drinks before the others."""

    priority: ClassVar[int] = 1


class GaugeState(Pytree):
    """The last reading."""

    level: jax.Array = var("level#L", "water seen this morning")


class Gauge(Entity):
    """Reads the ground and nothing else."""

    State: ClassVar[type] = GaugeState

    def update(self, state: GaugeState, place: Place, board: Board, draws: Draws) -> tuple[GaugeState, Ledger]:
        return GaugeState(level=board.read_one(Ground).water), Ledger({}, {})
