"""Pollinators: insects from the wild edge that may visit each plot in flower each day (section 4.4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Pytree, var
from harvestgym.core.random import bernoulli
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Air, Canopy, Flock, Structures, Visits
from harvestgym.farm.entities.response import Response, Window, expglm


class VisitConditions(Response):
    """Conditions for a visit from pollinators, eq. (34).

    Windows: distance (plots to the wild edge); temperature (mean, degC); wind (km/h); birds (pollinator eaters);
    rain (1 on a rainy day); pesticide (g acting on pollinators, per m2 of plot). The paper's windows (0, max]
    would exclude a calm day without birds; they include 0 here.
    """

    distance: Window
    temperature: Window
    wind: Window
    birds: Window
    rain: Window
    pesticide: Window


class PollinatorsState(Pytree):
    """The plots that pollinators visited."""

    occurrence: Array = var("occurrence#bin", "whether pollinators came today", dtype="bool")


class Pollinators(Entity):
    """A kind of pollinating insect and the conditions in which it visits flowers."""

    State: ClassVar[type] = PollinatorsState
    counted: ClassVar[Mapping[str, tuple[str, ...]]] = {"plots with pollinators": ("occurrence#bin",)}
    targets: ClassVar[tuple[str, ...]] = ("pollinators",)
    randomness: ClassVar[Mapping[str, tuple[str, ...]]] = {"visit": ("plot",)}

    visit_conditions: VisitConditions

    def chance(self, place: Place, board: Board) -> Array:
        """Return the chance of a visit to each plot today, if it is in flower, by eq. (34).

        A hedge reduces the distance to the wild edge by its lure, in plots. Pesticide is measured per m2, so that the
        result does not depend on plot size.
        """
        air = board.read_one(Air)
        return expglm(
            self.visit_conditions,
            distance=place.distance_to_edge - board.read_sum(Structures).insect_lure,
            temperature=air.t_mean,
            wind=air.wind,
            birds=board.read_sum(Flock).pollinator_eaters,
            rain=(air.rain_class > 0).astype(jnp.float32),
            pesticide=board.toxin(self.targets[0]) / place.surface,
        )

    @publishes(Visits)
    def visits(self, state: PollinatorsState, place: Place, board: Board, draws: Draws) -> Visits:
        """Publish the plots visited today, chosen at random from those in flower."""
        flowering = board.read_sum(Canopy).flowers > 0
        come = bernoulli(draws["visit"], self.chance(place, board)) & flowering
        return Visits(occurrence=come.astype(jnp.float32))

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw marks on the visited plots."""
        at = (0.88 - 0.1 * seen.rank, 0.33)
        return seen.marks(self.sprites()["bee"], "occurrence#bin", at, "pollinators came")

    def update(
        self, state: PollinatorsState, place: Place, board: Board, draws: Draws
    ) -> tuple[PollinatorsState, Ledger]:
        """Store which plots the pollinators visited today."""
        come = board.read_own(Visits).occurrence
        return PollinatorsState(occurrence=come > 0), Ledger({}, {"pollinators#nb": come.sum()})
