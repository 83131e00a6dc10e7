"""Plant: a crop that sprouts, grows, blooms, sets fruit, ripens and dies on each plot (section 4.2).

The parameters are in `parameters.py`, the variables in `state.py`, the equations in `equations.py` and `growth.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import iterate_metas, replace, replace_where
from harvestgym.core.view.scene import Mark
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
from harvestgym.farm.entities.crops_and_weeds import Drivers, add_factors, unshaded_light
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import (
    NUTRIENTS,
    Air,
    Canopy,
    Flock,
    Ground,
    Litter,
    Load,
    Need,
    Share,
    Strain,
    Visits,
)

from . import clock, drawing, growth, uptake
from .parameters import PLANTS_MAX, Crop
from .stages import Stage, is_alive
from .state import PlantState, PlantViews, check_start, clear_plots, complete_state, global_stage

SEEDS = (1.0, 3.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
SPACINGS = (5.0, 10.0, 15.0, 20.0)
CRUMBS = 1e-3
"""Amount of nutrients in dead plants, in g, below which the rest is released at once."""


class Plant(Crop, Entity):
    """A crop that takes water and nutrients from the soil and produces fruit."""

    State: ClassVar[type] = PlantState
    host: ClassVar[bool] = True
    explains: ClassVar = ("cause_of_death", "death_exponent", "limiting_factor", "limiting_exponent", "harvest_weight")
    randomness: ClassVar = {use: ("plot",) for use in ("survive", "noise", "count")}
    derived: ClassVar = dict(iterate_metas(PlantViews))

    def init(self, key: Array, place: Place) -> PlantState:
        """Return a state with every plot in the initial stage; `settle` fills in the rest."""
        return replace(super().init(key, place), stage=jnp.full(place.shape, self.initial_stage, jnp.int32))

    def settle(self, key: Array, state: PlantState, place: Place) -> PlantState:
        """Fill in the variables that the stages imply and the farm file omits."""
        return complete_state(self, state, place)

    def limits(self, place: Place) -> dict[str, float]:
        """Return the size at which growth ends, and the flowers and fruit weight of a plant of that size."""
        flowers = dict.fromkeys(("flowers", "pollinated", "fruits"), float(self.flowers_max))
        return flowers | {"size": float(self.size_max), "fruit_weight": float(self.fruit_weight_max)}

    def check_start(self, given: Mapping[str, np.ndarray]) -> Iterator[tuple[str, str]]:
        """Yield an error for each initial value that does not fit the initial stages, such as fruits on a seed."""
        yield from check_start(self, given)

    @publishes(Canopy)
    def canopy(self, state: PlantState, place: Place, board: Board, draws: Draws) -> Canopy:
        """Publish the canopy: shade, flowers and seeds."""
        alive = jnp.where(is_alive(state.stage), state.population, 0)
        seeds, blooming = (jnp.where(state.stage == s, state.population, 0) for s in (Stage.SEED, Stage.BLOOM))
        return Canopy(
            alive=alive.astype(jnp.float32),
            shade=self.shadow * uptake.ground_covered(self, state, place.surface) / place.surface,
            height=jnp.where(alive > 0, state.size, 0.0),
            flowers=blooming.astype(jnp.float32) * state.flowers,
            seeds=seeds.astype(jnp.float32),
            repulsion=jnp.where(alive > 0, self.repulsion, 0.0),
        )

    @publishes(Need)
    def need(self, state: PlantState, place: Place, board: Board, draws: Draws) -> Need:
        """Publish the needs of today's growth, with transpiration added and stored water subtracted (section 4.2.7)."""
        ground, light = board.read_one(Ground), unshaded_light(board)
        moist = uptake.transpired_share(self, ground)
        lost = light * (moist * uptake.transpiration(self, state, place.surface, board.read_one(Air)))
        reached, _ = uptake.reached_water(self, ground)
        water = jnp.minimum(uptake.water_demand(self, state, lost), reached)
        enough: Drivers = {name: jnp.float32(0.0) for name in (*NUTRIENTS, "strain_growth")}
        day = self._surroundings(state, place, board, light) | enough
        share = jnp.exp(-sum(growth.growth_exponents(self, state, day)))
        size, weight = uptake.grown(self, state, share * day["pace"], day)
        wanted = uptake.nutrient_demand(self, state, size, weight)
        return Need(water=water, nutrients=wanted * (1 - self._fixed_shares()))

    @publishes(Litter)
    def litter(self, state: PlantState, place: Place, board: Board, draws: Draws) -> Litter:
        """Publish the nutrients released by dead plants (section 4.2.6): a fraction per day, and finally the rest."""
        released = jnp.asarray(self.dead.release)[:, None, None] * state.nutrients
        crumbs = (state.nutrients - released).sum(0) < CRUMBS
        released = jnp.where(crumbs, state.nutrients, released)
        return Litter(nutrients=jnp.where(state.stage == Stage.DEAD, released, 0.0))

    @action("sow", Parameter("amount#seed", SEEDS, (0.0, 30.0)), Parameter("spacing#cm", SPACINGS, (5.0, 20.0)))
    def sow(self, state: PlantState, place: Place, where: Array, seeds: Array, spacing: Array) -> ActionResult:
        """Sow seeds per m2 on an empty plot; on other plots nothing happens."""
        done = where & (state.stage == Stage.NONE) & (seeds > 0)
        population = jnp.clip(jnp.round(seeds * place.surface), 1, PLANTS_MAX).astype(jnp.int32)
        new = replace_where(state, done, stage=Stage.SEED, population=population, spacing=spacing, harvested=False)
        return ActionResult(replace_where(new, done, cause_of_death=0, death_exponent=0.0), done, Ledger({}, {}))

    @action("harvest", plot=False)
    def harvest(self, state: PlantState, place: Place, where: Array) -> ActionResult:
        """Harvest every plot in fruit or ripe on the whole field, and clear it of its plants."""
        return self.micro_harvest(state, place, where)

    @action("micro_harvest")
    def micro_harvest(self, state: PlantState, place: Place, where: Array) -> ActionResult:
        """Harvest a plot whose plants are fruiting or ripe, and clear it."""
        done = where & ((state.stage == Stage.FRUIT) | (state.stage == Stage.RIPE))
        kg = jnp.where(done, state.population * state.fruits * state.fruit_weight / 1000, 0.0)
        new = clear_plots(state, done)
        new = replace(new, harvested=state.harvested | done, harvest_weight=state.harvest_weight + kg)
        return ActionResult(new, done, Ledger(_exports(state, done), {"harvest#kg": kg.sum()}))

    @action("remove")
    def remove(self, state: PlantState, place: Place, where: Array) -> ActionResult:
        """Remove the plants of a plot, dead or alive."""
        done = where & (state.stage != Stage.NONE)
        return ActionResult(clear_plots(state, done), done, Ledger(_exports(state, done), {}))

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw the plants on each plot in their stage, scaled to their height."""
        return drawing.draw_stands(self, seen)

    def describe(self, seen: DrawContext, place: Place) -> list[str]:
        """Describe the number of plots in each stage and the yield so far."""
        return drawing.describe(seen)

    def update(self, state: PlantState, place: Place, board: Board, draws: Draws) -> tuple[PlantState, Ledger]:
        """Simulate a day: decide all changes from the morning's state, then apply them.

        A move to a stage counts once per plot and calendar year, so that sowing a plot again earns nothing.
        """
        light = unshaded_light(board)
        day = self._drivers(state, place, board, light)
        fate = growth.decide_survival(self, state, day, draws["survive"])
        moves = clock.stage_is_complete(state) & fate.survives | fate.ripens
        new, lost, fixed = self._fed(state, place, board, light)
        new = clock.add_development(self, growth.count_days(new), day)
        new = growth.grow(self, new, day, draws["noise"])
        new = growth.count_flowers_and_fruits(self, new, day, moves & (state.stage == Stage.GROW), draws["count"])
        new = growth.keep_fruits(self, new, day, draws["noise"])
        new = growth.apply_deaths(new, fate)
        new = growth.enter_next_stage(self, new, moves)
        new, dried = _decayed(state, new, board.read_own(Litter))
        reached = jnp.where(board.read_one(Air).day == 1, 0, state.reached)
        ahead = moves & (state.stage >= reached)
        new = replace(new, reached=jnp.where(ahead, state.stage + 1, reached))
        flows = {"water:transpiration": -lost, "water:drying": -dried, "nutrients:fixation": fixed}
        return new, Ledger(flows, {"stages#nb": ahead.sum(dtype=jnp.int32).astype(jnp.float32)})

    def _surroundings(self, state: PlantState, place: Place, board: Board, light: Array | float) -> Drivers:
        ground = board.read_one(Ground)
        return add_factors(uptake.compute_drivers(self, state, place, board.read_one(Air), ground, light), ground)

    def _drivers(self, state: PlantState, place: Place, board: Board, light: Array | float) -> Drivers:
        asked, given = board.read_own(Need).nutrients, board.read_own(Share).nutrients
        strain, visits = board.read_own(Strain), jnp.minimum(board.read_sum(Visits).occurrence, 1.0)
        more = {
            "birds": board.read_sum(Flock).seed_eaters,
            "pests": board.read_own(Load).pests,
            "visits": state.visits + jnp.where(state.stage == Stage.BLOOM, visits, 0.0),
            "strain_death": strain.death, "strain_growth": strain.growth, "strain_harvest": strain.harvest,
        }  # fmt: skip
        return self._surroundings(state, place, board, light) | uptake.hunger(self, state, asked, given) | more

    def _fixed_shares(self) -> Array:
        """Return the fraction of each nutrient that comes from the air."""
        return jnp.stack([self.fixation, *[jnp.zeros_like(self.fixation)] * 3])[:, None, None]

    def _fed(
        self, state: PlantState, place: Place, board: Board, light: Array | float
    ) -> tuple[PlantState, Array, Array]:
        """Return the state after today's uptake, with unmet needs recorded, the water transpired and the N fixed."""
        air, ground = board.read_one(Air), board.read_one(Ground)
        share, need = board.read_own(Share), board.read_own(Need)
        held, full = state.water + share.water, uptake.transpiration(self, state, place.surface, air)
        lost = jnp.minimum(light * (uptake.transpired_share(self, ground) * full), held)
        thirst = uptake.water_demand(self, state, light * full)
        refused, fixing = jnp.maximum(thirst - share.water, 0.0), self._fixed_shares()
        fixed = need.nutrients * fixing / (1 - fixing)
        new = replace(
            state,
            water=held - lost,
            water_stress=state.water_stress + refused,
            stage_thirst=state.stage_thirst + thirst,
            stage_refused=state.stage_refused + refused,
            nutrients=state.nutrients + share.nutrients + fixed,
            nutrient_stress=state.nutrient_stress + jnp.maximum(need.nutrients - share.nutrients, 0.0),
        )
        return new, lost, fixed

    def holds(self, state: PlantState) -> dict[str, Array]:
        """Return the water and nutrients in the plants."""
        return {"water": state.water, "nutrients": state.nutrients}

    def views(self, state: PlantState) -> dict[str, Array]:
        """Return the field-wide stage, and the thresholds of eqs. (7) and (18) on plots with plants."""
        weight = jnp.exp(-self.fruit.ripen.intercept) * self.fruit_weight_max
        ends = {"size_threshold": self.bloom.share * self.size_max, "fruit_weight_threshold": weight}
        shown = {name: jnp.where(state.stage == Stage.NONE, 0.0, end) for name, end in ends.items()}
        return {"global_stage": global_stage(state)} | shown

    def indices(self, state: PlantState) -> dict[str, Array]:
        """Return r_plant of section 3.1.2: the mean of four fractions, averaged over the plots.

        The fractions are: sprouted, size, pollinated flowers and fruit weight. Only living plants count, so a harvest
        ends the development that this index rewards.
        """
        parts = [
            1.0, state.size / self.size_max, state.pollinated / jnp.maximum(state.flowers, 1),
            state.fruit_weight / self.fruit_weight_max,
        ]  # fmt: skip
        return {"plant": jnp.mean(jnp.where(is_alive(state.stage), sum(parts) / len(parts), 0.0))}


def _exports(state: PlantState, done: Array) -> dict[str, Array]:
    gone = {"water:export": state.water, "nutrients:export": state.nutrients}
    return {name: -jnp.where(done, amount, 0.0) for name, amount in gone.items()}


def _decayed(morning: PlantState, state: PlantState, litter: Litter) -> tuple[PlantState, Array]:
    """Dry out dead plants, remove their litter, and clear plots that have none left; also return the lost water."""
    dried = jnp.where(state.stage == Stage.DEAD, state.water, 0.0)
    new = replace(state, water=state.water - dried, nutrients=state.nutrients - litter.nutrients)
    gone = (morning.stage == Stage.DEAD) & (new.nutrients.sum(0) <= 0)
    return clear_plots(new, gone), dried
