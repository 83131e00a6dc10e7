"""The rows of the leaderboard as it is kept: a score of 0 is worth little, and a reference is hard to beat."""

from __future__ import annotations

import json

import pytest

from harvestgym import registry
from harvestgym.evaluate.leaderboard.page import IDLE_SHARE
from harvestgym.evaluate.leaderboard.store import FORESIGHT, OPTIMUM, ORACLE, read_rows
from tests.script import ROOT

MEANS: dict[str, dict[str, float]] = {}
for row in read_rows(ROOT / "docs"):
    MEANS.setdefault(row.id, {})[row.policy] = row.mean
SEARCHES = {
    found["id"]: found
    for found in json.loads((ROOT / "experiments/results/rule-search.json").read_text(encoding="utf-8"))["results"]
}


def test_every_id_has_rows_and_was_searched() -> None:
    assert set(MEANS) == set(SEARCHES) == set(registry.ids())


@pytest.mark.parametrize("id", MEANS)
def test_doing_nothing_earns_little(id: str) -> None:
    mean = MEANS[id]
    assert mean.get("none", 0.0) <= IDLE_SHARE * mean["expert"] and mean["random"] < mean["expert"]


@pytest.mark.parametrize("id", MEANS)
def test_a_reference_earns_as_much_as_the_best_rule_of_the_search(id: str) -> None:
    """The gain of the rule over the expert in the same seasons is added to the expert's row."""
    mean = MEANS[id]
    rule = mean["expert"] * (1 + SEARCHES[id]["gain"])
    assert max(mean[name] for name in (FORESIGHT, OPTIMUM, ORACLE) if name in mean) >= rule
