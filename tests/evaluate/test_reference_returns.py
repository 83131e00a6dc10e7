"""The reference points: rows of the leaderboard; a score of 0 is worth little, a reference is hard to beat."""

from __future__ import annotations

import json

import pytest

from experiments.leaderboard.reference_returns import make_text
from experiments.leaderboard.store import FORESIGHT, OPTIMUM, ORACLE, read_rows
from harvestgym import registry
from harvestgym.evaluate.score import REFERENCE_RETURNS, list_references
from tests.load_script import ROOT

IDLE_SHARE = 0.2
"""Fraction of the expert's return that doing nothing should not exceed."""

MEANS = {id: {name: point.mean for name, point in list_references(id).items()} for id in registry.ids()}
SEARCHES = {
    found["id"]: found
    for found in json.loads((ROOT / "experiments/results/rule-search.json").read_text(encoding="utf-8"))["results"]
}


def test_the_reference_points_are_the_rows_of_the_board() -> None:
    assert REFERENCE_RETURNS.read_text(encoding="utf-8") == make_text(read_rows(ROOT / "docs"))


def test_every_id_but_the_farms_was_searched() -> None:
    """The farms have not been searched since their crops develop by degree-days."""
    assert set(SEARCHES) == {id for id in MEANS if not id.startswith("farm/")}


@pytest.mark.parametrize("id", MEANS)
def test_doing_nothing_earns_little(id: str) -> None:
    mean = MEANS[id]
    assert mean.get("none", 0.0) <= IDLE_SHARE * mean["expert"] and mean["random"] < mean["expert"]


@pytest.mark.parametrize("id", SEARCHES)
def test_a_reference_earns_as_much_as_the_best_rule_of_the_search(id: str) -> None:
    """The gain of the rule over the expert in the same seasons is added to the expert's row."""
    mean = MEANS[id]
    rule = mean["expert"] * (1 + SEARCHES[id]["gain"])
    assert max(mean[name] for name in (FORESIGHT, OPTIMUM, ORACLE) if name in mean) >= rule
