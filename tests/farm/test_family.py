"""The arguments of `make` of a farm."""

from __future__ import annotations

from typing import Any

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError

BEAN, CLIMATES = "farm/bean-clay-1x1-v1", "farm/two-climates-v1"


def find_depth(env: Any, field: int = 0) -> float:
    return float(env.params.fields[field].entities[1].depth)


@pytest.mark.parametrize("path", ["Soil-0/depth#m", "Field-0/Soil-0/depth#m"])
def test_entities_take_a_single_parameter(path: str) -> None:
    env = harvestgym.make(BEAN, entities={path: 0.55})
    assert find_depth(env) == pytest.approx(0.55) != find_depth(harvestgym.make(BEAN))
    assert env == harvestgym.make(BEAN), "a number is no structure"


def test_a_parameter_changes_the_set_that_is_given_with_it() -> None:
    env = harvestgym.make(BEAN, entities={"Soil-0/depth#m": 0.55, "Soil-0": "sand"})
    sand = harvestgym.make(BEAN, entities={"Soil-0": "sand"})
    assert find_depth(env) == pytest.approx(0.55)
    mine, theirs = (made.params.fields[0].entities[1].wilting_point for made in (env, sand))
    assert mine == theirs != harvestgym.make(BEAN).params.fields[0].entities[1].wilting_point


@pytest.mark.parametrize(
    ("id", "path", "words"),
    [
        (BEAN, "Soil-0/deepth#m", "expected a known key, got 'deepth#m'; try 'depth#m'"),
        (BEAN, "Soil-1/depth#m", "expected a known entity, got 'Soil-1'; try 'Soil-0'"),
        (BEAN, "Field-1/Soil-0", "expected a known field, got 'Field-1'; try 'Field-0'"),
        (CLIMATES, "Soil-0/depth#m", "entities: expected a field, got none"),
    ],
)
def test_a_wrong_path_is_refused(id: str, path: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        harvestgym.make(id, entities={path: 0.5})
