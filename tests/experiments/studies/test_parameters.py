"""The sources of parameters, and the effect of those without one."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from experiments.studies import parameters

LEAST_SHARE = 0.6
"""Three fifths, which docs/validation.md states."""


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("FAO-56 table 19, clay (also the reference implementation's)", "published"),
        ("the paper, section 4.3", "the paper"),
        ("reference implementation, paper era", "reference implementation"),
        ("calibrated: a K_y of 1.1 (FAO-33, bean)", "calibrated"),
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
    assert list(parameters.iterate_origins(stated, stated)) == ["published", "the paper", "none"]


def test_a_number_without_a_source_has_that_of_the_set_that_it_extends() -> None:
    stated, inherited = {"rate": {"low": 2, "high": math.inf}}, {"rate": {"source": "the paper", "low": 2, "high": 9}}
    assert list(parameters.iterate_origins(stated, inherited)) == ["the paper"]


def test_three_fifths_of_all_numbers_have_a_source() -> None:
    total: Counter[str] = sum(parameters.count_sources().values(), Counter())
    assert total.total() > 500
    assert 1 - total["none"] / total.total() >= LEAST_SHARE


def test_the_effect_of_a_fifth_more_or_less() -> None:
    """Plants that flower a fifth smaller give a fifth less; a share of 1 is refused; the soil's carbon suffices."""
    share, carbon = "Field-0/Plant-0/bloom/bloom_share#%", "Field-0/Soil-0/bedrocks_release_C#mg.day-1"
    found = {effect.name: effect for effect in parameters.measure_effects("bean", 20, 0, only=(share, carbon))}
    np.testing.assert_allclose(found[share].change[0], (-0.2, 0), atol=0.06)
    assert found[share].size > parameters.MATTERS > found[carbon].size
