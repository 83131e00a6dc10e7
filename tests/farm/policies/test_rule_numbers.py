"""The numbers of an expert's rules: their names, their replacement, their ranges and the policies made of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym import registry
from harvestgym.core.config import locate_tuned
from harvestgym.core.errors import ConfigError
from harvestgym.core.tuning.rule_family import TunedRule
from harvestgym.farm.family import from_yaml, make
from harvestgym.farm.policies.rule_numbers import list_numbers, make_rule_families, replace_numbers
from tests.long_form import long

WATER = "2 watering_discrete: Soil-0.available_Water#L <"
AMOUNT = "2 watering_discrete: amount#L"
DURATION = "2 watering_discrete: duration#min"
YOUNG = {f"3 watering_discrete: {key}": value for key, value in
         (("Soil-0.available_Water#L <", 145.0), ("amount#L", 10), ("duration#min", 60))}  # fmt: skip
"""The numbers of the rule for young crops, as they are written in the file."""


def written(name: str) -> list:
    """Return the rules of a farm as they are written in its file."""
    path = registry.locate_file(f"farm/{name}")
    return list(from_yaml(path, expert=harvestgym.core.config.read_extended(path, "farm")["expert"]).spec.expert)


def test_numbers_are_named_by_rule_action_and_comparison() -> None:
    assert list_numbers(written("bean-1x1-v0")) == {WATER: 145.0, AMOUNT: 10, DURATION: 60, **YOUNG}


def test_pauses_and_observations_have_numbers() -> None:
    names = list_numbers(written("paid-looks-1x1-v0"))
    assert names["1 observe stage: every#day"] == 6
    assert names["1 observe stage: Weather-0.day#int365 >="] == 180


def test_equal_comparisons_in_one_rule_are_one_number() -> None:
    """The expert of the rotation feeds either crop below one amount of nitrogen; it stands there four times."""
    names = list_numbers(written("rotation-v0"))
    assert sum("available_N#g <" in name for name in names) == 1


def test_replaced_numbers_are_those_that_are_listed() -> None:
    rules = written("full-1x1-v0")
    numbers = {name: value + 1 for name, value in list_numbers(rules).items()}
    changed = replace_numbers(rules, numbers, "test")
    assert list_numbers(changed) == numbers
    assert replace_numbers(rules, list_numbers(rules), "test") == rules


def test_numbers_of_other_rules_are_refused_and_missing_ones_stay() -> None:
    rules = written("bean-1x1-v0")
    changed = replace_numbers(rules, {WATER: 99.0}, "test")
    assert list_numbers(changed) == {WATER: 99.0, AMOUNT: 10, DURATION: 60, **YOUNG}
    with pytest.raises(ConfigError, match="tuned/bean.yaml: expected a number of the expert's rules, got '3 weeding'"):
        replace_numbers(rules, {"3 weeding": 1.0}, "tuned/bean.yaml")


def test_ranges_contain_what_is_written_and_stay_in_the_range_of_the_variable() -> None:
    for name in ("full-1x1-v0", "contexts-1x1-v0", "fertilizer-1x1-v0"):
        family = make_rule_families(make(name))["expert"]
        assert len(family.numbers) >= 2
        for label, number in family.numbers.items():
            assert number.low <= number.start <= number.high and number.low >= 0, label


def test_an_amount_is_one_that_the_farm_allows() -> None:
    number = make_rule_families(make("bean-1x1-v0"))["expert"].numbers[AMOUNT]
    assert number.choices == (1, 2, 5, 10, 20)


@long
def test_a_family_builds_policies_of_one_structure_that_act_differently() -> None:
    env = make("bean-1x1-v0")
    family = make_rule_families(env)["expert"]
    young, _, _ = YOUNG
    never, always = (family.build({WATER: 0.0, young: limit, AMOUNT: 20.0}) for limit in (0.0, 290.0))
    assert jax.tree.structure(never.traced()) == jax.tree.structure(always.traced())
    _, first = env.reset(jax.random.key(0), env.params)
    actions = [int(policy.act(policy.init, first.obs, jax.random.key(0))[1]) for policy in (never, always)]
    assert actions[0] == 0 != actions[1]


def test_a_farm_file_has_the_numbers_of_its_tuned_file(tmp_path: Path) -> None:
    file = tmp_path / "bean-1x1-v0.yaml"
    for name in (file.name, "one-plot.yaml"):
        shutil.copy(registry.locate_file("farm/bean-1x1-v0").with_name(name), tmp_path / name)
    numbers = {WATER: 123.0, AMOUNT: 20.0, DURATION: 60.0, **YOUNG}
    TunedRule(rule="expert", numbers=numbers).write(locate_tuned(file))
    assert list_numbers(from_yaml(file).spec.expert) == numbers
    assert list_numbers(from_yaml(file, mode="fo").spec.expert) == numbers
    own = [{"do": "Plant-0.harvest"}]
    assert list_numbers(from_yaml(file, expert=own).spec.expert) == {}, "rules of the user are not changed"
    TunedRule(rule="expert", numbers={"1 old": 1.0}).write(locate_tuned(file))
    with pytest.raises(ConfigError, match="try removing the tuned file"):
        from_yaml(file)


def test_tuned_numbers_reach_the_policy(tmp_path: Path) -> None:
    env = make("bean-1x1-v0")
    family = make_rule_families(env)["expert"]
    values = family.build({WATER: 111.0, AMOUNT: 5.0}).traced().act
    assert any(np.any(np.asarray(leaf) == 111.0) for leaf in jax.tree.leaves(values))
