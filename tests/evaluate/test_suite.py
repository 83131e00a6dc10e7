"""The core suite: the best known policy scores 1 and nothing 0, intervals are paired, and a result is a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym import registry
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluate_id, policy_named
from harvestgym.evaluate.statistics import ConfidenceInterval
from harvestgym.evaluate.suite import Seasons, SuiteResult, list_anchors, read_anchors, run_suite

SUITE = splits.list_suite()
NITRATE, STOCKS, DRIVER = "farm/corn-nitrate-1x1-v0", "fishing/us-stocks-v0", "fishing/driver-v0"
ONLY_STOCKS = """
from harvestgym.evaluate.run import policy_named

def enter(id, env):
    return policy_named(id, env, "none") if id == "fishing/us-stocks-v0" else None
"""


def make_result(seasons: dict[str, Seasons]) -> SuiteResult:
    return SuiteResult("mine", "0", splits.digest(), seasons, {})


def make_seasons(which: str, cost: float = 0.5) -> dict[str, Seasons]:
    """Return the seasons of an anchor on all ids, with the same cost in each where there is a limit."""
    found: dict[str, Any] = {id: {"return": getattr(read_anchors()[id], which)} for id in SUITE}
    found[NITRATE]["cost_nitrate"] = np.full(SUITE[NITRATE].seasons, cost)
    return found


def test_every_id_has_its_anchors_on_this_test_side() -> None:
    assert list(read_anchors()) == list(SUITE) and set(SUITE) <= set(registry.ids())
    for id, anchor in read_anchors().items():
        assert {len(anchor.nothing), len(anchor.best), len(anchor.blocks)} == {SUITE[id].seasons}
        assert anchor.digest == splits.digest(), "the test side has changed: python -m experiments.suite_anchors"
        assert anchor.best.mean() > 0.98 * anchor.expert > anchor.nothing.mean()


def test_the_best_known_policies_score_exactly_1_and_nothing_0() -> None:
    for which, score in (("best", 1.0), ("nothing", 0.0)):
        found = make_result(make_seasons(which))
        every = [*found.scores.values(), found.total]
        assert every == [ConfidenceInterval(score, score, score)] * (len(SUITE) + 1)


def test_a_score_is_the_scaled_return_and_its_interval_has_the_error_of_the_anchors() -> None:
    """The same mean without the best known policy's ups and downs has a wider interval than with them."""
    anchor = read_anchors()[STOCKS]
    own = 0.1 * anchor.nothing + 0.9 * anchor.best
    flat = np.full(len(own), own.mean())
    paired, alone = (make_result({STOCKS: {"return": returns}}).scores[STOCKS] for returns in (own, flat))
    assert paired.value == pytest.approx(0.9) and alone.value == pytest.approx(0.9)
    assert paired.high - paired.low < 1e-9 < 0.02 < alone.high - alone.low


def test_the_total_is_the_interquartile_mean_of_all_ids() -> None:
    seasons = make_seasons("best")
    outlier = {id: {**seasons[id], "return": seasons[id]["return"] * 50} for id in list(SUITE)[:3] if id != NITRATE}
    assert make_result(seasons | outlier).total == ConfidenceInterval(1, 1, 1)
    assert make_result({id: seasons[id] for id in list(SUITE)[1:]}).total is None


def test_a_policy_over_a_limit_scores_at_most_nothing() -> None:
    within, over = (make_result(make_seasons("best", cost)) for cost in (1.0, 1.01))
    assert within.scores[NITRATE].value == 1 and not within.describe()
    assert over.scores[NITRATE] == ConfidenceInterval(0, 0, 0)
    assert over.describe() == [f"{NITRATE}: mean cost_nitrate 1.01 is over the limit; the score is at most 0"]


def test_the_score_of_several_trainings_is_their_mean_and_its_interval_has_their_spread() -> None:
    """Of five trainings that play like the anchors, two score 1: the share of 1 in five draws has a known spread."""
    anchor = read_anchors()[STOCKS]
    returns = np.stack([anchor.best, anchor.nothing, anchor.best, anchor.nothing, anchor.nothing])
    found = make_result({STOCKS: {"return": returns}})
    assert found.scores[STOCKS] == pytest.approx((0.4, 0.0, 0.8))
    alike = make_result({STOCKS: {"return": np.stack([anchor.best] * 5)}})
    assert alike.scores[STOCKS] == ConfidenceInterval(1, 1, 1)
    assert [row[-1] for row in found.to_table().rows] == [str(SUITE[STOCKS].seasons)]


def test_each_training_over_a_limit_scores_at_most_nothing() -> None:
    best = read_anchors()[NITRATE].best
    costs = np.stack([np.full(len(best), cost) for cost in (0.0, 1.9)])
    found = make_result({NITRATE: {"return": np.stack([best, best]), "cost_nitrate": costs}})
    assert found.scores[NITRATE].value == 0.5 and len(found.describe()) == 1


def test_a_run_is_that_of_the_test_split_and_a_file(tmp_path: Path) -> None:
    """The whole test side of one id gives the seasons that are stored as its anchor."""
    done: list[int] = []
    found = run_suite("expert", [STOCKS], progress=done.append)
    returns = found.seasons[STOCKS]["return"]
    np.testing.assert_allclose(returns[:20], evaluate_id(STOCKS, "expert", 20, split="test").returns, rtol=1e-3)
    assert done == [1] and returns.mean() == pytest.approx(read_anchors()[STOCKS].expert, rel=1e-3)
    assert STOCKS in found._repr_html_() and found.total is None
    path = tmp_path / "mine.json"
    found.write(path)
    data = json.loads(path.read_text())
    assert data["version"] == found.version and data[STOCKS]["return"] == returns.tolist()
    assert data["digest"] == splits.digest() and data[STOCKS]["seasons"] == 400 and data["total"] is None
    assert data[STOCKS]["score"] == pytest.approx(found.scores[STOCKS].value, rel=1e-5)


def test_a_policy_that_does_not_play_an_id_has_no_score_there(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ONLY_STOCKS)
    found = run_suite(f"{tmp_path}/mine.py:enter", [DRIVER, STOCKS], seasons=3)
    assert found.scores == {STOCKS: ConfidenceInterval(0, 0, 0)} and found.total is None
    refused, cut = found.describe()
    expected = f"expected a policy for {DRIVER} from {tmp_path}/mine.py:enter, got None"
    assert refused == f"{DRIVER}: no score: not played: {expected}"
    assert cut == f"{STOCKS}: 3 of 400 episodes; not the score on the frozen test"
    assert [row[0] for row in found.to_table().rows] == [STOCKS]


def test_mistakes_are_refused() -> None:
    with pytest.raises(ConfigError, match="try 'fishing/driver-v0'"):
        run_suite("expert", ["fishing/drivers-v0"])
    with pytest.raises(ConfigError, match="try 'expert'"):
        run_suite("exprt", [STOCKS], seasons=2)
    with pytest.raises(ConfigError, match="a file that does not exist"):
        run_suite("gone.py:enter")
    with pytest.raises(ConfigError, match="seasons: expected an integer, 1 or more"):
        run_suite("expert", [STOCKS], seasons=0)
    with splits.sealed(), pytest.raises(ConfigError, match="for reporting"):
        run_suite("expert", [STOCKS], seasons=2)


def test_the_list_has_what_each_id_tests() -> None:
    table = list_anchors()
    assert [row[:3] for row in table.rows] == [(id, item.tests, str(item.seasons)) for id, item in SUITE.items()]
    assert splits.digest()[:12] in table.title


def enter_stocks(id: str, env: Any) -> Any:
    return policy_named(id, env, "none") if id == STOCKS else None


def test_a_function_enters_like_its_name() -> None:
    by_object = run_suite(enter_stocks, [STOCKS], seasons=5)
    assert by_object.policy == "tests.evaluate.test_suite:enter_stocks"
    np.testing.assert_array_equal(by_object.seasons[STOCKS]["return"], read_anchors()[STOCKS].nothing[:5])


def test_equal_anchors_are_printed_alike() -> None:
    for row in list_anchors().rows:
        assert row[-1] != "expert" or row[4] == row[5], row
