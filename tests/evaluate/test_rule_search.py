"""The random search of rules (benchmarks/rule_search.py) finds no better rule where the expert is the best of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.board.run import expand_ids
from tests.script import ROOT, script
from tests.short import long

SEARCH = script("benchmarks/rule_search.py")
RESULTS = ROOT / "benchmarks" / "results" / "rule-search.json"


@long
def test_a_random_search_compares_rule_and_expert_on_the_same_seasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SEARCH, "RULES", 32)
    found = SEARCH.search("fishing/logistic-v0", seasons=4, test_seasons=8)
    assert found.rule_mean > 0 and found.expert_mean > 0 and found.error > 0
    assert found.gain == pytest.approx((found.rule_mean - found.expert_mean) / found.expert_mean, rel=1e-6)
    assert found.holds == (found.gain <= SEARCH.TOLERANCE)


def test_a_new_result_replaces_the_old_one_of_its_id(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    one = SEARCH.SearchResult("b", 400, 32, "rate", {"share": 0.2}, 1.0, 1.0, 0.0, 0.1, True, 3.0)
    for result in (one, one._replace(id="a"), one._replace(gain=0.5, holds=False)):
        SEARCH.add_result(file, result)
    kept = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert [(each["id"], each["gain"]) for each in kept] == [("a", 0.0), ("b", 0.5)]


def test_the_kept_results_hold() -> None:
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert kept["tolerance"] == SEARCH.TOLERANCE and kept["results"]
    assert not [each["id"] for each in kept["results"] if each["gain"] > SEARCH.TOLERANCE]
    assert all(each["rules"] == SEARCH.RULES for each in kept["results"])
    assert {each["id"] for each in kept["results"] if each["id"].startswith("forager/")} == set(expand_ids(["forager"]))
