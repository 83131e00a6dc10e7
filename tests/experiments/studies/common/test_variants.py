"""Variants of a study: the farms differ by the changes that a variant names, and by nothing else."""

from __future__ import annotations

import pytest

from experiments.studies import pollinators, watering
from experiments.studies.common.findings import claim_at_least
from experiments.studies.common.trials import make_trial_farm
from experiments.studies.common.variants import Variant, variants_table
from harvestgym.evaluate.statistics import ConfidenceInterval
from harvestgym.farm.entities.plant import Plant


def test_a_variant_without_changes_is_the_farm_of_the_study() -> None:
    assert Variant().entities("bean", "clay") == [("Weather", "dry"), ("Soil", "clay"), ("Plant", "bean")]


def test_density_is_relative_to_the_usual_one() -> None:
    usual = float(Plant.named("corn").density)
    plant = Plant.named(Variant(density=0.5).entities("corn", "sand")[2][1])
    assert float(plant.density) == pytest.approx(usual / 2)


@pytest.mark.parametrize("variants", [watering.WATERING_VARIANTS, pollinators.BEE_VARIANTS], ids=["water", "bees"])
def test_every_variant_is_a_farm_and_one_lacks_what_is_built_in(variants: dict[str, Variant]) -> None:
    for variant in variants.values():
        make_trial_farm(variant.entities("bean", (variant.soils or ("sand",))[0]))
    assert sum(bool(variant.soil or variant.crop) for variant in variants.values()) == 1
    assert {v.weather for v in variants.values()} > {"dry"} and {v.density for v in variants.values()} == {0.5, 1, 1.5}


def test_the_table_says_where_the_claim_holds() -> None:
    claim = claim_at_least("beans", ConfidenceInterval(3.5, 2.9, 4), 3)
    assert variants_table([("loam", claim)]).rows == [("loam", "beans", str(claim.effect), "at least 3", "no")]
