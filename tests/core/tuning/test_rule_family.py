"""Rule families: shares and values of numbers, the file of a tuned rule."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.core.tuning.rule_family import (
    NumberRange,
    RuleFamily,
    TunedRule,
    build_rule,
    locate_tuned,
    read_tuned,
)

FAMILY = RuleFamily(
    {
        "share": NumberRange(2.0, 4.0, 3.0), "days": NumberRange(1, 9, 4, whole=True),
        "amount": NumberRange(5, 20, 10, (5, 10, 20)),
    },
    lambda numbers: constant_policy(np.float32(numbers["share"])),
)  # fmt: skip


def test_shares_of_the_ranges_become_values() -> None:
    assert FAMILY.decode([0.0, 0.0, 0.0]) == {"share": 2.0, "days": 1.0, "amount": 5}
    assert FAMILY.decode([1.0, 1.0, 1.0]) == {"share": 4.0, "days": 9.0, "amount": 20}
    assert FAMILY.decode([0.25, 0.44, 0.5]) == {"share": 2.5, "days": 5.0, "amount": 10}


@pytest.mark.parametrize("numbers", [{"share": 2.125, "days": 7.0, "amount": 20}, FAMILY.start])
def test_values_come_back_from_their_shares(numbers: dict[str, float]) -> None:
    assert FAMILY.decode(FAMILY.encode(numbers)) == pytest.approx(numbers)


def test_all_choices_are_equally_likely() -> None:
    shares = (np.arange(3000) + 0.5) / 3000
    values, counts = np.unique([FAMILY.numbers["amount"].decode(s) for s in shares], return_counts=True)
    assert values.tolist() == [5, 10, 20] and (counts == 1000).all()


def test_a_tuned_rule_comes_back_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "my-fishery.yaml"
    assert read_tuned(file) is None
    rule = TunedRule(rule="rate", numbers={"share": 0.269}, made={"seed": 0.0})
    rule.write(locate_tuned(file))
    assert read_tuned(file) == rule and locate_tuned(file) == tmp_path / "tuned" / "my-fishery.yaml"


def test_mistakes_in_a_tuned_file_are_reported_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "tuned" / "pond.yaml"
    file.parent.mkdir()
    file.write_text("{rule: rate, numbrs: {share: 1}}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"tuned/pond.yaml(.|\n)*expected a known key, got 'numbrs'; try 'numbers'"):
        read_tuned(tmp_path / "pond.yaml")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (TunedRule(rule="rat", numbers={"share": 3}), "expert: expected a known rule, got 'rat'; try 'rate'"),
        (TunedRule(rule="rate", numbers={"share": 3}), "expected a number for 'days', got none"),
        (TunedRule(rule="close"), "expert: expected a known rule, got 'close'; try 'closed'"),
    ],
)
def test_a_tuned_rule_that_is_none_is_refused(rule: TunedRule, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_rule(rule, {"rate": FAMILY}, {"closed": constant_policy(0)})
