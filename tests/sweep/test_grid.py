"""The file of a sweep becomes the product of its lists, and every mistake in it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.sweep.cases import EpisodeCase
from harvestgym.sweep.grid import expand, nest_path, read_sweep_file

BEAN, CORN = "farm/bean-1x1-v0", "farm/corn-1x1-v0"


def test_a_grid_is_all_combinations() -> None:
    depths, seeds = [0.4, 0.8, 1.2], [0, 5]
    overrides = {"soil depth": {"entities/Soil-0/depth#m": depths}, "mode": ["fo", "po"]}
    found = expand({"ids": [BEAN, CORN], "overrides": overrides, "policies": ["expert", "random"], "seeds": seeds})
    assert len(found) == len(set(found)) == 2 * len(depths) * 2 * 2 * len(seeds)
    expected = EpisodeCase(
        id=CORN, overrides={"entities": {"Soil-0/depth#m": 0.8}, "mode": "po"}, policy="random", seed=5,
        groups={"soil depth": ["entities/Soil-0/depth#m"]},
    )  # fmt: skip
    assert expected in found


def test_lists_under_one_name_belong_together() -> None:
    site = {"entities/Weather-0": ["lille", "montpellier"], "rules/horizon#day": [100, 200]}
    found = expand({"ids": [BEAN], "overrides": {"site": site}})
    assert [case.overrides for case in found] == [
        {"entities": {"Weather-0": "lille"}, "rules": {"horizon#day": 100}},
        {"entities": {"Weather-0": "montpellier"}, "rules": {"horizon#day": 200}},
    ]


def test_a_name_is_a_column_and_stands_for_its_paths_in_a_summary() -> None:
    warmer = {"extends": "zaragoza", "warming#°C": 2}
    climate = {"entities/Weather-0": ["lille", warmer], "rules": [{"horizon#day": 100}, {"horizon#day": 200}]}
    overrides = {"climate": climate, "depth": {"entities/Soil-0/depth#m": [1]}}
    first, second = expand({"ids": [BEAN], "overrides": overrides})
    assert (first.labels["climate"], first.labels["depth"]) == ("lille, 100", 1)
    assert second.labels["climate"] == '{"extends": "zaragoza", "warming#°C": 2}, 200'
    assert first.labels["rules/horizon#day"] == 100 and first.labels["entities/Soil-0/depth#m"] == 1
    assert first.shown == {"id", "policy", "seed", "climate", "depth"}
    assert EpisodeCase(id=BEAN, overrides={"r": 1}).shown == {"id", "policy", "seed", "r"}


def test_values_may_have_names_which_are_the_column() -> None:
    often = {"expert": [{"do": "Soil-0.watering_discrete", "amount#L": 20}], "scoring/resource": 0.5}
    overrides = {"water": {"as tuned": {}, "often": often}, "mode": ["fo", "po"]}
    tuned, *_, last = expand({"ids": [BEAN], "overrides": overrides})
    assert (tuned.overrides, last.overrides) == (
        {"mode": "fo"}, {"mode": "po", "expert": often["expert"], "scoring": {"resource": 0.5}}
    )  # fmt: skip
    assert (tuned.labels["water"], last.labels["water"]) == ("as tuned", "often")
    assert tuned.shown == last.shown == {"id", "policy", "seed", "water", "mode"}


def test_a_family_stands_for_its_ids() -> None:
    assert [case.id for case in expand({"ids": ["fishing"]})] == registry.ids("fishing")
    twin = "forager/weather-5000-v0"
    assert [case.id for case in expand({"ids": [twin]})] == [twin], "not the endless environment"


def test_seeds_may_be_counted() -> None:
    assert [case.seed for case in expand({"ids": [BEAN], "seeds": {"first": 3, "count": 4}})] == [3, 4, 5, 6]


def test_further_cases_share_what_is_common() -> None:
    found = expand(
        {"episodes": 9, "split": "test", "cases": [{"id": BEAN, "policy": "none"}, {"id": CORN, "episodes": 2}]}
    )
    assert [(case.policy, case.episodes, case.split) for case in found] == [("none", 9, "test"), ("expert", 2, "test")]


def test_equal_cases_appear_once() -> None:
    assert len(expand({"ids": [BEAN, BEAN], "cases": [{"id": BEAN}]})) == 1


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "farm.yaml").write_text("fields: {}")
    (tmp_path / "sweep.yaml").write_text("ids: [farm.yaml]\npolicies: ['agent.py:make', 'package.agent:make']\n")
    first, second = read_sweep_file(tmp_path / "sweep.yaml", [str(tmp_path / "agent.py"), "package.agent"])
    assert first.id == str(tmp_path / "farm.yaml") and first.policy == f"{tmp_path / 'agent.py'}:make"
    assert second.policy == "package.agent:make"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("mode", {"mode": 1}),
        ("rules/horizon#day", {"rules": {"horizon#day": 1}}),
        ("entities/Field-0/Soil-0/depth#m", {"entities": {"Field-0/Soil-0/depth#m": 1}}),
    ],
)
def test_a_path_is_the_arguments_of_make(path: str, expected: dict[str, Any]) -> None:
    assert nest_path(path, 1) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"idz": [BEAN]}, "idz: expected a known key, got 'idz'; try 'ids'"),
        ({}, "ids or cases: expected at least one entry, got none"),
        ({"ids": [BEAN], "policies": []}, r"policies: expected at least 1 item, got \[\]"),
        ({"ids": [BEAN], "seeds": []}, "seeds: expected at least 1 item"),
        ({"ids": [BEAN], "overrides": {"mode": []}}, "overrides > mode: expected at least 1 item"),
        ({"ids": [BEAN], "overrides": {"a": {"mode": []}}}, "overrides > a > mode: expected at least 1 item"),
        ({"ids": [BEAN], "overrides": {"a": {"b": [1], "c": [1, 2]}}}, "expected lists of the same length"),
        ({"ids": [BEAN], "overrides": {"mode": "fo"}}, "overrides > mode: expected a list"),
        ({"ids": [BEAN], "overrides": {"return": {"mode": ["fo"]}}}, "not a column of the results, got 'return'"),
        ({"ids": [BEAN], "seeds": {"first": 3}}, "seeds > count: expected a value, got nothing"),
        ({"ids": [BEAN], "seeds": [-1]}, "seed: expected greater than or equal to 0, got -1"),
        ({"ids": ["farm/been-clay-1x1-v1"]}, f"got 'farm/been-clay-1x1-v1'; try '{BEAN}'"),
        ({"cases": [{"id": BEAN, "polici": "x"}]}, "cases > 0: .*\n.*got 'polici'; try 'policy'"),
    ],
)
def test_mistakes_are_named(data: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        expand(data)
