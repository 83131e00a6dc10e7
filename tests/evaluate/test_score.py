"""The score of a policy: the expert has the return of its reference point and is 1, nothing is 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import constant_policy
from harvestgym.evaluate.run import evaluate_id
from harvestgym.evaluate.score import BEST, PolicyScore, list_references, scale_return, score
from harvestgym.evaluate.statistics import summarise
from tests.long_form import long

FARM, FISHERY, LEVELS = "farm/bean-1x1-v0", "fishing/logistic-v0", "fishing/logistic-levels-v0"
WRAPPED = """
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate.run import policy_named

def enter(id, env):
    return TimeLimit(env, 1), policy_named(id, env, "expert")
"""


def test_the_expert_is_its_reference_point() -> None:
    """The same seasons as on the leaderboard, as many of them."""
    found, point = score(FISHERY), list_references(FISHERY)["expert"]
    mine = (found.seasons, found.summary.mean, found.summary.low, found.summary.high, found.summary.cvar10)
    assert mine == pytest.approx(tuple(point), rel=1e-4)
    assert found.value == pytest.approx(1, rel=1e-3)


@long
def test_a_farm_is_scored_on_the_test_split() -> None:
    found, plain = score(FARM, "none", 20), evaluate_id(FARM, "none", 20, split="test")
    assert found.summary == plain.summary and found.value == pytest.approx(0, abs=0.05)


@long
def test_a_policy_object_a_function_and_a_name_play_the_same_seasons() -> None:
    idle = [score(LEVELS, policy, 10) for policy in ("none", constant_policy(np.int32(0)), lambda obs: np.int32(0))]
    assert len({(found.summary.mean, found.value) for found in idle}) == 1


@long
def test_a_function_by_its_name_may_wrap_the_environment(tmp_path: Path) -> None:
    """The expert of a single year catches less than that of all."""
    (tmp_path / "mine.py").write_text(WRAPPED)
    short, whole = score(LEVELS, f"{tmp_path}/mine.py:enter", 10), score(LEVELS, "expert", 10)
    assert 0 < short.summary.mean < whole.summary.mean


def test_the_table_has_the_policy_and_the_references() -> None:
    found = score(LEVELS, "random", 10)
    table = found.to_table()
    names = [row[0] for row in table.rows]
    assert names == ["random", *(f"reference: {name}" for name in list_references(LEVELS))]
    cells = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert cells["random"]["episodes"] == "10" and cells["random"]["score"] == f"{found.value:.2f}"
    assert (cells["reference: none"]["score"], cells["reference: expert"]["score"]) == ("0.00", "1.00")
    assert cells["reference: foresight"]["CVaR 10 %"] == ""
    assert "10 episodes" in repr(found) and "reference: expert" in found._repr_html_()


def test_a_score_explains_the_best_known_policy_where_there_is_one() -> None:
    for id, lines in ((LEVELS, []), ("fishing/three-species-v0", [BEST])):
        assert PolicyScore(id, "mine", 2, summarise(np.ones(2)), list_references(id)).describe() == lines


def test_a_forager_that_earns_nothing_scores_0() -> None:
    assert scale_return(2.0, {"expert": 8.0}) == 0.25


def test_the_best_known_policy_replaces_the_expert_as_1() -> None:
    assert scale_return(3.0, {"none": 1.0, "expert": 5.0, "best": 9.0}) == 0.25


@pytest.mark.parametrize("means", [{"none": 1.0}, {"none": 1.0, "expert": 1.0005}])
def test_there_is_no_scale_without_an_expert_that_beats_nothing(means: dict[str, float]) -> None:
    assert scale_return(2.0, means) is None


def test_a_file_of_yours_has_no_reference_points(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"extends: {FARM}\n")
    with pytest.raises(ConfigError, match=r"mine.yaml: expected an id with reference points.*try `harvestgym run "):
        score(str(path))
