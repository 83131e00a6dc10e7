"""The reference points: rows of the leaderboard; a score of 0 is worth little."""

from __future__ import annotations

import pytest

from experiments.leaderboard.reference_returns import make_text
from experiments.leaderboard.store import read_rows
from harvestgym import registry
from harvestgym.evaluate.score import REFERENCE_RETURNS, list_references
from tests.load_script import ROOT

IDLE_SHARE = 0.25
"""Fraction of the expert's return that doing nothing should not exceed; an unfished stock is paid at the end."""

MEANS = {id: {name: point.mean for name, point in list_references(id).items()} for id in registry.ids()}


def test_the_reference_points_are_the_rows_of_the_board() -> None:
    assert REFERENCE_RETURNS.read_text(encoding="utf-8") == make_text(read_rows(ROOT / "docs"))


@pytest.mark.parametrize("id", MEANS)
def test_doing_nothing_earns_little(id: str) -> None:
    mean = MEANS[id]
    assert mean.get("none", 0.0) <= IDLE_SHARE * mean["expert"] and mean["random"] < mean["expert"]
