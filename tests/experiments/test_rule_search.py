"""The random search of rules (experiments/rule_search.py) finds no better rule where the expert is the best of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import rule_search
from experiments.leaderboard.run import expand_ids
from tests.load_script import ROOT
from tests.long_form import long

RESULTS = ROOT / "experiments" / "results" / "rule-search.json"


@long
def test_a_random_search_compares_rule_and_expert_on_the_same_seasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_search, "RULES", 32)
    found = rule_search.search("fishing/logistic-v0", seasons=4, test_seasons=8)
    assert found.rule_mean > 0 and found.expert_mean > 0 and found.error > 0
    assert found.gain == pytest.approx((found.rule_mean - found.expert_mean) / found.expert_mean, rel=1e-6)
    assert found.holds == (found.gain <= rule_search.TOLERANCE)


def test_a_new_result_replaces_the_old_one_of_its_id(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    one = rule_search.SearchResult("b", 400, 32, "rate", {"share": 0.2}, 1.0, 1.0, 0.0, 0.1, True, 3.0)
    for result in (one, one._replace(id="a"), one._replace(gain=0.5, holds=False)):
        rule_search.add_result(file, result)
    kept = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [(each["id"], each["gain"]) for each in kept] == [("a", 0.0), ("b", 0.5)]


def test_the_kept_results_hold() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert kept["tolerance"] == rule_search.TOLERANCE and kept["results"]
    assert not [each["id"] for each in kept["results"] if each["gain"] > rule_search.TOLERANCE]
    assert all(each["rules"] == rule_search.RULES for each in kept["results"])
    assert {each["id"] for each in kept["results"] if each["id"].startswith("forager/")} == set(expand_ids(["forager"]))
