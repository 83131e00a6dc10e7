"""Variants of a study: the same claim with other soils, densities or years, or without a key parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harvestgym.core.view.tables import Table
from harvestgym.farm.entities.plant import Plant

from .findings import Claim


class Variant(NamedTuple):
    """Changes to the farms of a study.

    Attributes:
        weather: parameter set of the weather; the studies have `dry`, in which every day is the same.
        soils: soils that replace the study's soils.
        soil: changes to the parameters of every soil.
        crop: changes to the parameters of the crop.
        density: plants per area, relative to the usual density.
    """

    weather: str = "dry"
    soils: tuple[str, ...] = ()
    soil: Mapping[str, Any] = {}
    crop: Mapping[str, Any] = {}
    density: float = 1.0

    def entities(self, crop: str, soil: str) -> list[tuple[str, Any]]:
        """Return weather, soil and crop of a trial farm."""
        ground = {"extends": soil, **self.soil} if self.soil else soil
        changes = dict(self.crop)
        if self.density != 1:
            changes["population#nb.m-2"] = self.density * float(Plant.named(crop).density)
        plant = {"extends": crop, **changes} if changes else crop
        return [("Weather", self.weather), ("Soil", ground), ("Plant", plant)]


def variants_table(found: Sequence[tuple[str, Claim]]) -> Table:
    """Tabulate a claim for each variant."""
    rows = [(name, claim.text, str(claim.effect), claim.bound, "yes" if claim.holds else "no") for name, claim in found]
    columns = ("farm", "claim", "effect", "wanted", "holds")
    return Table("assumed and predicted: the claim on other farms", columns, rows)
