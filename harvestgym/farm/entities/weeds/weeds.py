"""Weeds: on each plot seeds, growing and flowering plants, which arrive from the edge and spread (section 4.4.2).

They take up water and nutrients before the crop does. The parameters and the equations are in `equations.py`.
Weeds are counted as identical plants per m2 of plot, so that results do not depend on plot size; their water and
nutrients are totals for the plot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Pytree, replace, replace_where, var
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import ActionResult, Board, Draws, Entity, Ledger, Place, action, publishes
from harvestgym.farm.entities.crops_and_weeds import (
    Drivers,
    add_factors,
    compute_shortages,
    stomatal_opening,
    unshaded_light,
    water_threshold,
)
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Air, Canopy, Ground, Litter, Need, Share, Strain, name_nutrients

from . import equations
from .equations import WEEDS_MAX, Weed, WeedFates


class WeedsState(Pytree):
    """The weeds on each plot."""

    seeds: Array = var("seeds#nb", "weed seeds, per m2", dtype="int", high=WEEDS_MAX)
    growing: Array = var("grow#nb", "growing weeds, per m2", dtype="int", high=WEEDS_MAX)
    flowering: Array = var("flowers#nb", "weeds in bloom, per m2", dtype="int", high=WEEDS_MAX)
    water: Array = var("cumulated_water#L", "water in the weeds")
    nutrients: Array = var(name_nutrients("cumulated_nutrients_{}#g"), "nutrients in the weeds")
    remains: Array = var(name_nutrients("remains_{}#g"), "nutrients of weeds that died yesterday")


class Weeds(Weed, Entity):
    """A kind of weed that takes water and nutrients from the crop."""

    State: ClassVar[type] = WeedsState
    counted: ClassVar[Mapping[str, tuple[str, ...]]] = {"weeds": ("grow#nb", "flowers#nb")}
    host: ClassVar[bool] = True
    priority: ClassVar[int] = 1
    targets: ClassVar[tuple[str, ...]] = ("weeds",)
    randomness: ClassVar = {"fates": ("group", "plot", "split"), "scatter": ("direction", "plot", "split")}

    def settle(self, key: Array, state: WeedsState, place: Place) -> WeedsState:
        """Limit the weeds to the maximum for a plot; where there are none, set their water and nutrients to zero."""
        growing = jnp.clip(state.growing, 0, WEEDS_MAX)
        flowering = jnp.clip(state.flowering, 0, WEEDS_MAX - growing)
        new = replace(state, seeds=jnp.clip(state.seeds, 0, WEEDS_MAX), growing=growing, flowering=flowering)
        return replace_where(new, _stand(new) == 0, water=0.0, nutrients=0.0)

    def sizes(self, place: Place) -> dict[str, tuple[int, ...]]:
        """Return the axis sizes of draws: four for eqs. (26) to (29), two directions, two splits into three parts."""
        return super().sizes(place) | {"group": (4,), "direction": (2,), "split": (2,)}

    @publishes(Canopy)
    def canopy(self, state: WeedsState, place: Place, board: Board, draws: Draws) -> Canopy:
        """Publish the canopy: each weed shades a disc, up to the area of the plot; all flowers are open."""
        alive = _stand(state).astype(jnp.float32)
        disc = jnp.pi * (self.size / 200) ** 2
        return Canopy(
            alive=alive * place.surface,
            shade=jnp.minimum(alive * disc, 1.0),
            height=jnp.where(alive > 0, self.size, 0.0),
            flowers=(state.flowering * self.flowers) * place.surface,
            seeds=state.seeds * place.surface,
            repulsion=jnp.where(alive > 0, self.repulsion, 0.0),
        )

    @publishes(Need)
    def need(self, state: WeedsState, place: Place, board: Board, draws: Draws) -> Need:
        """Publish the need for water, minus the stored water, and the need for nutrients."""
        kept = self._number(state, place) * self.water * self.size * 10 / 1000
        wanted = self._transpiration(place, board) + kept - state.water
        return Need(water=jnp.maximum(wanted, 0.0), nutrients=self._eaten(state, place))

    @publishes(Litter)
    def litter(self, state: WeedsState, place: Place, board: Board, draws: Draws) -> Litter:
        """Publish all nutrients of the weeds that died yesterday, which decay in one day."""
        return Litter(nutrients=state.remains)

    @action("remove")
    def remove(self, state: WeedsState, place: Place, where: Array) -> ActionResult:
        """Remove the growing and flowering weeds of a plot; their seeds stay in the soil."""
        done = where & (_stand(state) > 0)
        bare = replace_where(state, done, growing=0, flowering=0, water=0.0, nutrients=0.0)
        flows = {f"{n}:export": getattr(bare, n) - getattr(state, n) for n in ("water", "nutrients")}
        return ActionResult(bare, done, Ledger(flows, {}))

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw growing weeds on the western side of a plot, with weeds in bloom above them."""
        x, sprites = 0.11 + 0.1 * seen.rank, self.sprites()
        growing = seen.marks(sprites["grow"], "grow#nb", (x, 0.72), "weeds that grow")
        return growing + seen.marks(sprites["bloom"], "flowers#nb", (x, 0.52), "weeds in bloom")

    def update(self, state: WeedsState, place: Place, board: Board, draws: Draws) -> tuple[WeedsState, Ledger]:
        """Simulate a day: first the uptake of water and nutrients, then the fates of the weeds."""
        moves = self.draw_moves(state, place, board, draws)
        shed = equations.scatter_seeds(jnp.minimum(moves.shed * self.flowers * self.seeds, WEEDS_MAX), draws["scatter"])
        share = board.read_own(Share)
        water, nutrients = state.water + share.water, state.nutrients + share.nutrients
        lost = jnp.minimum(self._transpiration(place, board), water)
        left = moves.growing + moves.bloomed + moves.flowering
        stand = _stand(state)
        dying = (stand - left) / jnp.maximum(stand, 1)
        dried, remains = dying * (water - lost), dying * nutrients
        new = WeedsState(
            seeds=jnp.minimum(state.seeds - moves.sprouted + moves.arrived + shed, WEEDS_MAX),
            growing=moves.growing + moves.sprouted, flowering=moves.flowering + moves.bloomed,
            water=water - lost - dried, nutrients=nutrients - remains, remains=remains,
        )  # fmt: skip
        flows = {"water:transpiration": -lost, "water:drying": -dried}
        return new, Ledger(flows, {"weeds#nb": self._number(new, place).sum()})

    def draw_moves(self, state: WeedsState, place: Place, board: Board, draws: Draws) -> WeedFates:
        """Draw how many weeds on each plot arrive, change group, stay or die today."""
        p = equations.daily_chances(self, self.compute_drivers(state, place, board))
        return equations.draw_fates(self.arrivals, (state.seeds, state.growing, state.flowering), p, draws["fates"])

    def compute_drivers(self, state: WeedsState, place: Place, board: Board) -> Drivers:
        """Compute today's drivers from weather, soil and location, by the names in `equations.py`."""
        air, ground, strain = board.read_one(Air), board.read_one(Ground), board.read_own(Strain)
        asked, number = board.read_own(Need).nutrients, self._number(state, place)
        drivers = {
            "distance_to_edge": jnp.asarray(place.distance_to_edge),
            "temperature": air.t_mean, "humidity": air.humidity,
            "herbicide": board.toxin(self.targets[0]) / place.surface,
            "strain_growth": strain.growth, "strain_death": strain.death,
            **compute_shortages(asked, number, self._threshold(ground), ground),
        }  # fmt: skip
        return add_factors(drivers, ground)

    def _number(self, state: WeedsState, place: Place) -> Array:
        """Return the number of sprouted weeds on each whole plot."""
        return _stand(state).astype(jnp.float32) * place.surface

    def _eaten(self, state: WeedsState, place: Place) -> Array:
        """Return the daily need for each nutrient, in g per plot; shape (4, length, width)."""
        return jnp.asarray(self.nutrients)[:, None, None] * self.size * 10 * self._number(state, place)

    def _threshold(self, ground: Ground) -> Array:
        """Return w of eq. (5) for each plot, in L."""
        return water_threshold(self.drought, ground.wilting, ground.capacity)

    def _transpiration(self, place: Place, board: Board) -> Array:
        """Compute the water, in L, that the weeds transpire today; the paper has no weather-dependent rule for this.

        The basal coefficient is 1 + 0.1 per metre of height (FAO-56 eq. 99); it applies to the ground under the leaves
        and the light that the other hosts leave. Stomata close by K_s of FAO-56 eq. (84), with the threshold of
        eq. (5).
        """
        ground, own = board.read_one(Ground), board.read_own(Canopy)
        moist = stomatal_opening(ground.extractable, self._threshold(ground) - ground.wilting)
        sunlit = own.shade * unshaded_light(board)
        return board.read_one(Air).et0 * (1 + self.size / 1000) * sunlit * moist * place.surface

    def holds(self, state: WeedsState) -> dict[str, Any]:
        """Return the water and nutrients in the weeds, and the nutrients of dead weeds."""
        return {"water": state.water, "nutrients": state.nutrients + state.remains}


def _stand(state: WeedsState) -> Array:
    """Return the number of sprouted weeds per m2."""
    return state.growing + state.flowering
