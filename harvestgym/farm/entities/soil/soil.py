"""Soil: on each plot a bucket of water, stocks of four nutrients, and microlife (section 4.3).

Plots do not exchange water or nutrients. Rates are for a plot of 1 m2, as in the paper, and scale with the surface, so
that results do not depend on plot size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.pytree import Pytree, par, replace, var
from harvestgym.core.view.scene import Mark
from harvestgym.core.yaml_io import read_file
from harvestgym.farm.entities.base import (
    ActionResult,
    Board,
    Draws,
    Entity,
    Ledger,
    Parameter,
    Place,
    action,
    check_order,
    publishes,
)
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import (
    NUTRIENTS,
    Air,
    Canopy,
    Dose,
    Feed,
    Ground,
    Litter,
    Share,
    Tilth,
    name_nutrients,
)

from . import equations
from .equations import Bucket, Survival, WaterBalance

NITROGEN = NUTRIENTS.index("N")
RELEASES = name_nutrients("bedrocks_release_{}#mg.day-1")
MINUTES_A_DAY = 24 * 60
LITRES = (1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0)
MINUTES = Parameter("duration#min", (30.0, 60.0), (1.0, float(MINUTES_A_DAY)))


_water = partial(par, low=1, high=1000, mistaken=("m3/m3", 1000))
"""The water in a volume of soil."""


class Start(Pytree):
    """The soil at the start of a season; the contents of each plot are drawn between two limits."""

    water_min: Array = par("water_min#%", "minimum extractable water, share (0 to 1) of the maximum", low=0, high=1)
    water_max: Array = par("water_max#%", "maximum extractable water, share (0 to 1) of the maximum", low=0, high=1)
    nutrients_min: Array = par(name_nutrients("{}_min#g.m-2"), "least stock", low=0, high=1e5)
    nutrients_max: Array = par(name_nutrients("{}_max#g.m-2"), "greatest stock", low=0, high=1e5)
    microlife: Array = par("microlife_health_index#%", "health of the soil life", low=0, high=100)

    def check(self) -> Iterator[str]:
        """Check that minima are not above maxima."""
        yield from check_order("water_min#%", self.water_min, "water_max#%", self.water_max)
        for n, low, high in zip(NUTRIENTS, self.nutrients_min, self.nutrients_max, strict=True):
            yield from check_order(f"{n}_min#g.m-2", low, f"{n}_max#g.m-2", high)


class SoilState(Pytree):
    """Contents of the soil on each plot."""

    water: Array = var("available_Water#L", "water in the soil; a surplus over its capacity drains the same day")
    nutrients: Array = var(name_nutrients("available_{}#g"), "nutrients in the soil")
    wet_surface: Array = var("wet_surface#m2.day-1", "wet surface times the part of a day for which it is wet")
    microlife: Array = var("microlife_health_index#%", "health of the soil life", high=100)
    cide: Array = var("amount_cide#g", "cide in the soil, as its effect on each target", axes=("target", "plot"))


class Soil(Entity):
    """A soil with microlife that stores water and nutrients and supplies them to the hosts."""

    State: ClassVar[type] = SoilState
    targets: ClassVar[tuple[str, ...]] = ("soil",)

    depth: Array = par("depth#m", "depth of the soil", low=0.01, high=100)
    max_water_capacity: Array = _water("max_water_capacity#L.m-3", "water at field capacity")
    wilting_point: Array = _water("wilting_point#L.m-3", "water that plants cannot extract")
    bypass: Array = par("watering_bypass#%", "share (0 to 1) of water that bypasses roots in dry soil", low=0, high=1)
    absorption: Array = par(
        "water_surface_absorption_speed#m2.day-1", "wet surface that dries per day, per m2 of plot", low=0, high=100
    )
    bedrock: Array = par(RELEASES, "released by bedrock and humus at full microlife, per m2 of plot", low=0, high=1e6)
    recovery: Array = par("microlife_recovery#day-1", "growth rate without cide or surplus water", low=0, high=100)
    cide_decay: Array = par("cide_decay#day-1", "rate at which full microlife breaks down cides", low=0, high=100)
    survival: Survival
    start: Start

    def check(self) -> Iterator[str]:
        """Check that some of the water is available to plants."""
        if np.any(np.asarray(self.wilting_point) >= np.asarray(self.max_water_capacity)):
            expected = f"less than max_water_capacity#L.m-3 ({np.min(self.max_water_capacity):g})"
            yield f"wilting_point#L.m-3: expected {expected}, got {np.max(self.wilting_point):g}"

    def init(self, key: Array, place: Place) -> SoilState:
        """Return a soil with contents drawn between the limits in `start`, a dry surface and no cide."""
        uniform = jax.random.uniform(key, (1 + len(NUTRIENTS), *place.shape), jnp.float32)
        bucket, start = self.bucket(place), self.start
        water = _between(start.water_min, start.water_max, uniform[0])
        low, high = (_column(ends) for ends in (start.nutrients_min, start.nutrients_max))
        return SoilState(
            water=bucket.wilting + water * (bucket.capacity - bucket.wilting),
            nutrients=_between(low, high, uniform[1:]) * place.surface,
            wet_surface=jnp.zeros(place.shape, jnp.float32),
            microlife=jnp.full(place.shape, start.microlife, jnp.float32),
            cide=jnp.zeros((len(place.targets), *place.shape), jnp.float32),
        )

    def settle(self, key: Array, state: SoilState, place: Place) -> SoilState:
        """Limit the water to the capacity and the wet surface to the plot."""
        water = jnp.minimum(state.water, self.bucket(place).capacity)
        return replace(state, water=water, wet_surface=jnp.minimum(state.wet_surface, place.surface))

    def limits(self, place: Place) -> dict[str, float]:
        """Return the capacity and the surface area of a plot."""
        return {"water": float(self.bucket(place).capacity), "wet_surface": float(place.surface)}

    def about(self, place: Place) -> str:
        """Return the litres that a plot holds, and its nitrogen at the start."""
        capacity, wilting = (float(v) for v in self.bucket(place))
        low, high = (float(ends[NITROGEN]) for ends in (self.start.nutrients_min, self.start.nutrients_max))
        held = f"A plot holds {capacity:.4g} L at field capacity, {wilting:.4g} L when wilting"
        return f"{held}, and starts with {low:g} to {high:g} g/m2 of nitrogen."

    def bucket(self, place: Place) -> Bucket:
        """Return the capacity and the wilting point of a plot, in L: the volumes in eq. (5)."""
        volume = self.depth * place.surface
        return Bucket(self.max_water_capacity * volume, self.wilting_point * volume)

    @publishes(Ground)
    def ground(self, state: SoilState, place: Place, board: Board, draws: Draws) -> Ground:
        """Publish this morning's water and nutrients; water above the capacity drains and is not included."""
        capacity, wilting = (jnp.broadcast_to(jnp.asarray(v), place.shape) for v in self.bucket(place))
        water = jnp.minimum(state.water, capacity)
        return Ground(
            water=water, extractable=jnp.maximum(water - wilting, 0.0), capacity=capacity, wilting=wilting,
            nutrients=state.nutrients, microlife=state.microlife / 100, toxin=state.cide,
            depth=jnp.broadcast_to(jnp.asarray(self.depth), place.shape),
        )  # fmt: skip

    @action("watering_discrete", Parameter("amount#L", LITRES, (0.0, 20.0)), MINUTES)
    def watering_discrete(
        self, state: SoilState, place: Place, where: Array, amount: Array, minutes: Array
    ) -> ActionResult:
        """Water a plot with one of several amounts per m2; the whole surface is wet that day."""
        done, bucket = where & (amount > 0), self.bucket(place)
        poured = jnp.where(done, amount * place.surface, 0.0)
        lost = poured * equations.bypass_share(state.water - bucket.wilting, bucket, self.bypass)
        wet = state.wet_surface + jnp.where(done, place.surface * minutes / MINUTES_A_DAY, 0.0)
        new = replace(state, water=state.water + poured - lost, wet_surface=jnp.minimum(wet, place.surface))
        flows = {"water:watering": poured, "water:drainage": -lost}
        return ActionResult(new, done, Ledger(flows, {"water#L": poured.sum()}))

    @action("watering_continuous", Parameter("amount#L", range=(0.0, 20.0)), MINUTES)
    def watering_continuous(
        self, state: SoilState, place: Place, where: Array, amount: Array, minutes: Array
    ) -> ActionResult:
        """Water a plot with any amount per m2; the whole surface is wet that day."""
        return self.watering_discrete(state, place, where, amount, minutes)

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw each plot in the colour of its wetness class, or grey if its water content is unknown."""
        filled, limits = self._filled(seen, place), [each["limit"] for each in read_wetness()[:-1]]
        at = np.searchsorted(limits, filled, side="right")  # NaN is the last
        return [mark_wetness(read_wetness()[at[x, y]], x, y) for x, y in np.ndindex(*filled.shape)]

    def describe(self, seen: DrawContext, place: Place) -> list[str]:
        """Describe the mean amount of plant-available water, with its range if the plots differ."""
        filled = self._filled(seen, place)
        if np.isnan(filled).all():
            return ["soil: not seen yet"]
        low, mean, high = (100 * f(filled) for f in (np.nanmin, np.nanmean, np.nanmax))
        ends = f" ({low:.0f} to {high:.0f} %)" if high - low >= 1 else ""
        return [f"soil: {mean:.0f} %{ends} of the water plants can take"]

    def _filled(self, seen: DrawContext, place: Place) -> np.ndarray:
        """Return extractable water as a fraction of its maximum; NaN where it is unknown."""
        bucket = self.bucket(place)
        water = np.asarray(seen.get("available_Water#L", np.full(place.shape, np.nan)), float)
        return np.clip((water - float(bucket.wilting)) / float(bucket.capacity - bucket.wilting), 0.0, 1.0)

    def update(self, state: SoilState, place: Place, board: Board, draws: Draws) -> tuple[SoilState, Ledger]:
        """Supply the hosts, subtract leaching and evaporation from the rest, and add the inflows."""
        air, water = board.read_one(Air), self._water(state, place, board)
        drained = jnp.minimum(board.read_sum(Tilth).drainage, 1.0)
        surplus = water.surplus / self.bucket(place).capacity * (1 - drained)
        strength, life = equations.leaching_strength(air.rain_intensity, surplus), state.microlife / 100
        kept = jnp.maximum(state.nutrients - board.read_sum(Share).nutrients.sum(1), 0.0)
        leached = kept * equations.leached_share(strength, life)
        level = _column(self.start.nutrients_max) * place.surface
        released = equations.mineralised(kept - leached, level, _column(self.bedrock) / 1000 * place.surface * life)
        layer = equations.evaporable_depth(self.max_water_capacity, self.wilting_point)
        cide = equations.cide_left(state.cide, strength, self.cide_decay, life)
        washed = equations.cide_leached(state.cide - cide, strength, self.cide_decay, life)
        feed, litter = board.read_sum(Feed).nutrients, board.read_sum(Litter).nutrients
        is_nitrogen = (np.arange(len(NUTRIENTS)) == NITROGEN)[:, None, None]
        ammonia = jnp.where(is_nitrogen, equations.VOLATILISED * feed, 0.0)
        nitrous = jnp.where(is_nitrogen, equations.DENITRIFIED * (feed + litter), 0.0)
        new = SoilState(
            water=water.tomorrow,
            nutrients=kept - leached + released + feed - ammonia + litter - nitrous,
            wet_surface=equations.next_wet_surface(state.wet_surface, self.absorption, air.rain, layer, place.surface),
            microlife=self._microlife(state, place, surplus),
            cide=cide + board.read_sum(Dose).toxin,
        )
        flows = {
            "water:rain": water.rain, "water:evaporation": -water.evaporated, "water:drainage": -water.surplus,
            "nutrients:bedrock": released, "nutrients:leaching": -leached,
            "nutrients:volatilisation": -ammonia, "nutrients:N2O": -nitrous,
        }  # fmt: skip
        lost = {"leached_N#g": leached, "volatilised_N#g": ammonia, "N2O_N#g": nitrous}
        tally = {name: amount[NITROGEN].sum() for name, amount in lost.items()}
        return new, Ledger(flows, tally | {"leached_cide#g": washed.sum()})

    def _water(self, state: SoilState, place: Place, board: Board) -> WaterBalance:
        air, served = board.read_one(Air), board.read_sum(Share).water.sum(0)
        shade, cover = board.read_sum(Canopy).shade, jnp.minimum(board.read_sum(Tilth).cover, 1.0)
        dry = equations.evaporable(air.et0, shade, state.wet_surface, place.surface) * (1 - cover)
        rain = jnp.broadcast_to(air.rain * place.surface, place.shape)
        return equations.water_balance(state.water, self.bucket(place), served, dry, rain)

    def _microlife(self, state: SoilState, place: Place, surplus: Array) -> Array:
        at = [i for i, target in enumerate(place.targets) if target in self.targets]
        cide = state.cide[jnp.asarray(at, jnp.int32)].sum(0) / place.surface
        return equations.next_microlife(self.survival, self.recovery, state.microlife, cide, surplus)

    def holds(self, state: SoilState) -> dict[str, Array]:
        """Return the water and nutrients."""
        return {"water": state.water, "nutrients": state.nutrients}

    def indices(self, state: SoilState) -> dict[str, Array]:
        """Return r_soil of section 3.1.2: the mean microlife, 0 to 1."""
        return {"soil": jnp.mean(state.microlife) / 100}


def _between(low: Array, high: Array, uniform: Array) -> Array:
    return low + (high - low) * uniform


@cache
def read_wetness() -> list[dict[str, Any]]:
    """Return the wetness classes, each with its limit, colour and name; the last one is for unknown wetness.

    The colours are distinguishable with any type of colour vision.
    """
    return read_file(Path(__file__).with_name("wetness.yaml"))


def mark_wetness(wetness: Mapping[str, Any], x: int = 0, y: int = 0) -> Mark:
    """Return the mark of a plot in a wetness class, which is also its mark in the legend."""
    return Mark("square", (x + 0.5, y + 0.5), 1.0, wetness["colour"], meaning=wetness["name"])


def _column(nutrients: Array) -> Array:
    """Reshape a vector with one value per nutrient so that it broadcasts against arrays of plots."""
    return jnp.asarray(nutrients)[:, None, None]
