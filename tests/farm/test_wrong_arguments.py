"""Every public class of the farms, and every farm file, refuses wrong values in clear words."""

from __future__ import annotations

import dataclasses
import inspect
import math
import random
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import yaml

from harvestgym import farm
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import iterate_metas, replace
from harvestgym.farm import (
    BasicFarmer,
    BasicRule,
    BasicScore,
    Biodiversity,
    CostCap,
    Farm,
    Field,
    HourlyFarmer,
    Market,
    Plant,
    Soil,
    SoilHealth,
    Tally,
    Weather,
)
from harvestgym.farm.family import CATALOGUE, from_yaml
from harvestgym.farm.public_names import FARMERS, KINDS, RULES, TERMS

from ..long_form import ALL
from ..wrong_values import build_file, build_or_refuse, change_data, draw_arguments

CASES = 2_500 if ALL else 500
FILES = 10_000 if ALL else 20

PLACE = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}
SHAPE = {"length#nb": 1, "width#nb": 2, "scale#m": 1.0}


def list_arguments(made: Any) -> dict[str, Any]:
    """Return the arguments with which a component was made."""
    return {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}


def list_groups(made: Any) -> list[Any]:
    """Return a component and the groups of parameters within it."""
    inner = [value for value in list_arguments(made).values() if dataclasses.is_dataclass(value)]
    return [made, *(group for value in inner for group in list_groups(value))]


ENTITIES = [getattr(farm, kind).named({"extends": "lille"} if kind == "Weather" else {}) for kind in KINDS]
COMPONENTS = [*ENTITIES, BasicFarmer(), HourlyFarmer(), CostCap(most=3.0), Biodiversity(), SoilHealth(),
              Tally(prices={"water#L": -1.0}), Market(prices={"Field-0/Plant-0": 2.0})]  # fmt: skip
BUILDERS: dict[Any, dict[str, Any]] = {
    Field: {"localization": PLACE, "shape": SHAPE, "entities": [(Weather, "montpellier"), (Soil, "loam")]},
    BasicRule: {}, BasicScore: {},
}  # fmt: skip
RIGHT = {type(made): list_arguments(made) for made in COMPONENTS} | BUILDERS
"""Arguments of each class that are right."""


def test_every_public_component_is_here() -> None:
    assert {cls.__name__ for cls in RIGHT} == {*KINDS, *FARMERS, *RULES, *TERMS, "Field", "BasicRule", "BasicScore"}


def test_every_constructor_refuses_or_builds() -> None:
    rng, classes, built = random.Random(1), [*RIGHT], 0
    for _ in range(CASES):
        cls = rng.choice(classes)
        names = [name for name in inspect.signature(cls).parameters if name != "values"]
        given = draw_arguments(rng, names, RIGHT[cls])
        if given.get("station") is math.nan:
            continue  # an altitude that nobody knows
        made = build_or_refuse(lambda cls=cls, given=given: cls(**given), given)
        built += made is not None
        for name, meta in iterate_metas(cls) if made is not None and dataclasses.is_dataclass(cls) else ():
            if meta.kind == "par":
                values = np.asarray(getattr(made, name))
                assert np.all((values >= meta.low) & (values <= meta.high) | meta.unknown), given
    assert CASES / 100 < built < CASES / 2


def test_every_group_of_parameters_refuses_or_builds() -> None:
    """A group stands in an entity, which checks it."""
    rng = random.Random(2)
    for _ in range(CASES):
        entity = rng.choice(ENTITIES)
        inner = [value for value in list_arguments(entity).values() if dataclasses.is_dataclass(value)]
        paths = [
            [step.name for step in path]
            for path, _ in jax.tree_util.tree_flatten_with_path(entity)[0]
            if len(path) > 1 and inner
        ]
        if not paths:
            continue
        *groups, leaf = rng.choice(paths)
        given = draw_arguments(rng, [leaf], {})

        def put(group: Any, path: list[str], given: dict[str, Any] = given) -> Any:
            if not path:
                return replace(group, **given)
            return replace(group, **{path[0]: put(getattr(group, path[0]), path[1:])})

        build_or_refuse(lambda entity=entity, groups=groups: put(entity, groups), given)


def test_every_farm_refuses_or_builds() -> None:
    right = {
        "fields": [Field(**BUILDERS[Field])],
        "farmers": [BasicFarmer()],
        "scoring": BasicScore(),
        "rules": BasicRule(),
    }
    rng = random.Random(3)
    for _ in range(CASES // 20):
        given = draw_arguments(rng, inspect.signature(Farm).parameters, right)
        build_or_refuse(lambda given=given: Farm(**given), given)


def test_every_file_is_refused_or_built(tmp_path: Path) -> None:
    rng, files = random.Random(4), [yaml.safe_load(path.read_text()) for path in sorted(CATALOGUE.glob("*.yaml"))]
    for name in ("all-kinds", "one-plot"):
        (tmp_path / f"{name}.yaml").write_text((CATALOGUE / f"{name}.yaml").read_text())
    path = tmp_path / "own.yaml"
    for _ in range(FILES):
        data = change_data(rng, rng.choice(files), others=["clay", {"extends": "sand"}, ["Plant", "bean"], "(0, 1)"])
        build_file(path, data, from_yaml)


SOIL, BEAN, WEATHER = Soil.named("clay"), Plant.named("bean"), Weather.named("lille")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: replace(SOIL, depth=-1), "Soil: 1 mistake\n  depth: expected a number from 0.01 to 100, got -1"),
        (lambda: replace(SOIL, depth="3"), "depth: expected a number without quotes, got '3'"),
        (lambda: replace(SOIL, wilting_point=900), r"wilting_point#L.m-3: expected less than .* \(360\), got 900"),
        (lambda: replace(BEAN, grow=5), "Plant: 1 mistake\n  grow: expected an object of the class Grow, got 5"),
        (lambda: replace(BEAN, grow=replace(BEAN.grow, water=-1)), "Plant > grow: 1 mistake\n  water: expected"),
        (lambda: replace(BEAN, grow=replace(BEAN.grow, nutrients=(1, 2))), "nutrients: expected 4 numbers"),
        (lambda: replace(WEATHER, lookahead=31), "lookahead: expected less than or equal to 30, got 31"),
        (lambda: replace(WEATHER, sky=3), "sky: expected an object of the class Replay, or an object of"),
        (lambda: replace(WEATHER, station=9_000), "station: expected a number from -430 to 8850, got 9000"),
        (lambda: HourlyFarmer(hours=30), "HourlyFarmer: 1 mistake\n  hours: expected a number from 0 to 24, got 30"),
        (lambda: BasicFarmer(max_daily_interventions=0.5), "max_daily_interventions: expected a whole number"),
        (
            lambda: Tally(prices={"water#L": "2"}),
            "Tally: 1 mistake\n  prices > water#L: expected a number without quotes, got '2'",
        ),
        (lambda: Field(PLACE, SHAPE, [replace(SOIL, depth=[1, 2])]), "> Soil > depth: expected a number, got an"),
        (lambda: Field(PLACE, SHAPE, "bean"), "Field: 1 mistake\n  entities: expected a list, got 'bean'"),
        (lambda: BasicRule(horizon="90"), "BasicRule: 1 mistake\n  horizon: expected a valid integer, got '90'"),
        (lambda: BasicScore(yield_="1"), "yield: expected a number, without quotes"),
    ],
)  # fmt: skip
def test_mistakes_are_named(build: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build()


def test_a_station_may_be_unknown() -> None:
    assert math.isnan(replace(WEATHER, station=math.nan).station)


def test_jax_rebuilds_entities_without_their_checks() -> None:
    """A tree of axes or of gradients is no entity, and JAX may make it."""
    assert jax.tree.map(lambda _: -1, SOIL).depth == -1
    deep = jax.jit(lambda depth: replace(SOIL, depth=depth).depth + 1)(-3.0)
    assert float(deep) == -2.0
    soils = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), SOIL)
    assert jax.vmap(lambda soil: replace(soil, bypass=soil.depth * 0).bypass)(soils).shape == (2,)


@pytest.mark.parametrize("cls", [type(made) for made in COMPONENTS])
def test_every_parameter_has_limits(cls: type) -> None:
    """A number of a thousand millions is refused everywhere."""
    made = next(made for made in COMPONENTS if type(made) is cls)
    for group in list_groups(made):
        for name, meta in iterate_metas(type(group)):
            if meta.kind in ("par", "open") and meta.dtype == "float":
                assert -1e9 < meta.low <= meta.high <= 1e9, f"{type(group).__name__}.{name}"
