"""The anchors of the core suite: the best known policy of a file, within its limits, and each opening is logged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import suite_anchors, test_side
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import read_anchors

STOCKS, NITRATE = "fishing/us-stocks-v0", "farm/corn-nitrate-1x1-v0"


def test_an_anchor_has_the_seasons_of_the_best_known_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_anchors, "find_form", lambda id: "tree")
    monkeypatch.setattr(suite_anchors, "BEST_KNOWN", "msy")
    found, stored = suite_anchors.make_anchor(STOCKS, 20), read_anchors()[STOCKS]
    assert found["policy"] == "tree" and found["digest"] == splits.digest()
    assert found["best"] != pytest.approx(stored.best[:20].tolist(), rel=1e-3)
    assert found["nothing"] == pytest.approx(stored.nothing[:20].tolist()) and found["blocks"] == [0] * 20


def test_a_best_known_policy_keeps_the_limits() -> None:
    with pytest.raises(ConfigError, match="a mean cost_nitrate of at most 1, got one.py:f: 2.5"):
        suite_anchors.check_limits(NITRATE, "one.py:f", {"return": np.ones(2), "cost_nitrate": np.asarray([4.5, 0.5])})
    suite_anchors.check_limits(NITRATE, "one.py:f", {"return": np.ones(2), "cost_nitrate": np.asarray([1.5, 0.5])})


def test_the_openings_are_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_side, "describe_commit", lambda: "1a2b")
    test_side.log_opening("a test", [STOCKS], tmp_path / "log.jsonl")
    test_side.log_opening("again", [NITRATE], tmp_path / "log.jsonl")
    first, second = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert list(first) == ["part", "opened", "ids", "digest", "commit"]
    assert first["digest"] == splits.digest() and second["ids"] == [NITRATE]
    monkeypatch.setattr(test_side, "describe_commit", lambda: "1a2b+")
    with pytest.raises(ConfigError, match="commit"):
        test_side.log_opening("changed code", [STOCKS], tmp_path / "log.jsonl")


def test_the_stored_anchors_were_opened_on_their_test_side() -> None:
    entries = list(map(json.loads, test_side.LOG.read_text(encoding="utf-8").splitlines()))
    opened = {(id, entry["digest"]) for entry in entries for id in entry["ids"]}
    assert {(id, anchor.digest) for id, anchor in read_anchors().items()} <= opened
