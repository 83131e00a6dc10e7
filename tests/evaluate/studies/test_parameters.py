"""The sources of parameters, and the effect of those without one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from harvestgym.evaluate.studies import parameters

LEAST_SHARE = 0.6


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("FAO-56 table 19, clay (also the reference implementation's)", "published"),
        ("the paper, section 4.3", "the paper"),
        ("reference implementation, paper era", "reference implementation"),
        ("chosen: a green pod", "none"),
        ("intercept chosen for 50 days of growth", "none"),
        ("", "none"),
    ],
)
def test_the_origin_of_a_source(source: str, origin: str) -> None:
    assert parameters.find_origin(source) == origin


def test_a_number_has_its_own_source_or_that_of_its_group() -> None:
    stated = {
        "extends": "base", "size#cm": {"value": 3, "source": "FAO-56"},
        "rate": {"source": "the paper", "intercept": 1, "cold": {"low": 0, "source": "chosen: mild"}},
    }  # fmt: skip
    assert list(parameters.iterate_origins(stated, "")) == ["published", "the paper", "none"]


def test_three_fifths_of_all_numbers_have_a_source() -> None:
    total: Counter[str] = sum(parameters.count_sources().values(), Counter())
    assert total.total() > 600
    assert 1 - total["none"] / total.total() >= LEAST_SHARE


def test_the_effect_of_a_fifth_more_or_less() -> None:
    """Fruits a fifth heavier give a fifth more; the stock of carbon, of which there is enough, changes little."""
    weight, carbon = "Field-0/Plant-0/fruit_weight_max#g", "Field-0/Soil-0/bedrocks_release_C#mg.day-1"
    found = {effect.name: effect for effect in parameters.measure_effects("bean", 4, 0, only=(weight, carbon))}
    np.testing.assert_allclose(found[weight].change[0], (-0.2, 0.2), atol=0.06)
    assert found[weight].size > parameters.MATTERS > found[carbon].size
