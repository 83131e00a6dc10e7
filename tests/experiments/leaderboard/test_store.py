"""The table of the leaderboard: laws of merging, the score as an affine map, and the round trip of the file."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from experiments.leaderboard import store
from experiments.leaderboard.store import FORESIGHT, LeaderboardRow, merge_rows

HALF_WIDTH = 0.1
FARM, FISHERY, FORAGER = "farm/a-v0", "fishing/b-v0", "forager/c-v1"
MEANS = {"none": 1.0, "random": 0.5, "expert": 5.0, "ppo": 3.0, FORESIGHT: 7.0}


def make_row(id: str, policy: str, mean: float, **more: Any) -> LeaderboardRow:
    return LeaderboardRow(id, policy, 100, mean, mean - HALF_WIDTH, mean + HALF_WIDTH, mean - 1, **more)


def make_table(id: str = FARM, **means: float) -> list[LeaderboardRow]:
    return [make_row(id, policy, mean) for policy, mean in (MEANS | means).items()]


def scores(rows: list[LeaderboardRow]) -> dict[str, float | None]:
    return {row.policy: row.score for row in rows}


def test_scores_are_0_for_nothing_and_1_for_the_expert() -> None:
    assert scores(merge_rows([], make_table())) == {
        "none": 0.0, "random": -0.125, "expert": 1.0, "ppo": 0.5, FORESIGHT: 1.5,
    }  # fmt: skip


@pytest.mark.parametrize(("scale", "shift"), [(10.0, 0.0), (1.0, -50.0), (0.25, 3.0)])
def test_scores_do_not_depend_on_the_unit_or_the_zero_of_the_return(scale: float, shift: float) -> None:
    changed = [make_row(row.id, row.policy, scale * row.mean + shift) for row in make_table()]
    assert scores(merge_rows([], changed)) == pytest.approx(scores(merge_rows([], make_table())))


@pytest.mark.parametrize("means", [{"expert": 1.0}, {"expert": 1.0005}, {"expert": 0.2}])
def test_there_is_no_score_where_the_expert_does_not_beat_nothing(means: dict[str, float]) -> None:
    assert set(scores(merge_rows([], make_table(**means))).values()) == {None}


def test_there_is_no_score_without_an_expert() -> None:
    rows = [row for row in make_table(FORAGER) if row.policy != "expert"]
    assert set(scores(merge_rows([], rows)).values()) == {None}


def test_the_order_of_the_rows_is_that_of_ids_and_baselines() -> None:
    """Any order of the input gives the same table: none, random, expert, others by name, references last."""
    rows = [*make_table(FISHERY), *make_table(), make_row(FARM, "a2c", 2.0)]
    whole = merge_rows([], rows)
    assert [row.policy for row in whole if row.id == FARM] == ["none", "random", "expert", "a2c", "ppo", FORESIGHT]
    assert [row.id for row in whole] == [FARM] * 6 + [FISHERY] * 5
    for order in list(permutations(make_table()))[::17]:
        assert merge_rows([], order) == merge_rows([], make_table())


def test_merging_a_table_with_itself_or_with_nothing_changes_nothing() -> None:
    whole = merge_rows([], [*make_table(), *make_table(FISHERY)])
    assert merge_rows(whole, []) == whole
    assert merge_rows(whole, whole) == whole


def test_rows_of_other_ids_stay_as_they_are() -> None:
    old = merge_rows([], make_table(FISHERY))
    whole = merge_rows(old, make_table())
    assert [row for row in whole if row.id == FISHERY] == old


def test_a_new_policy_is_scored_with_the_old_baselines() -> None:
    old = merge_rows([], make_table())
    new = [make_row(FARM, name, MEANS[name]) for name in ("none", "random", "expert")]
    whole = merge_rows(old, [*new, make_row(FARM, "dqn", 9.0)])
    assert scores(whole) == scores(old) | {"dqn": 2.0}


@pytest.mark.parametrize(
    ("changed", "dropped"),
    [({}, set()), ({"random": 0.6}, {"ppo", FORESIGHT}), ({"expert": 5.5}, {FORESIGHT}), ({"none": 0.9}, set())],
    ids=["same", "random", "expert", "none"],
)
def test_a_changed_baseline_drops_what_was_measured_with_it(changed: dict[str, float], dropped: set[str]) -> None:
    """The random policy is the witness of the environment, the expert that of the search."""
    old = merge_rows([], make_table())
    new = [make_row(FARM, name, (MEANS | changed)[name]) for name in ("none", "random", "expert")]
    assert {row.policy for row in old} - {row.policy for row in merge_rows(old, new)} == dropped


def test_a_best_known_policy_has_a_row_only_while_it_is_not_the_expert() -> None:
    old = merge_rows([], [*make_table(), make_row(FARM, store.BEST, 6.0)])
    merged = merge_rows(old, [row for row in make_table() if row.policy in ("none", "random", "expert")])
    assert scores(old)["expert"] == pytest.approx(0.8)
    assert store.BEST not in scores(merged) and scores(merged)["expert"] == 1.0 and scores(merged)["ppo"] == 0.5


def test_agents_are_scored_with_the_new_expert() -> None:
    whole = merge_rows(merge_rows([], make_table()), [make_row(FARM, name, MEANS[name] + (name == "expert") * 4)
                                                      for name in ("none", "random", "expert")])  # fmt: skip
    assert scores(whole) == {"none": 0.0, "random": -0.0625, "expert": 1.0, "ppo": 0.25}


def test_float32_rounding_is_no_change_of_the_environment() -> None:
    old = merge_rows([], make_table())
    new = [make_row(FARM, name, MEANS[name] * (1 + 1e-6)) for name in ("none", "random", "expert")]
    assert {row.policy for row in merge_rows(old, new)} == set(MEANS)


def test_another_number_of_seasons_is_another_measurement() -> None:
    old = merge_rows([], make_table())
    new = [replace(make_row(FARM, name, MEANS[name]), seasons=200) for name in ("none", "random", "expert")]
    assert {row.policy for row in merge_rows(old, new)} == {"none", "random", "expert"}


def test_rows_come_back_from_the_file_with_six_digits(tmp_path: Path) -> None:
    rows = merge_rows([], [replace(row, columns={"yield kg": 1 / 3}) for row in make_table()])
    store.write_rows(tmp_path / "new", rows)
    back = store.read_rows(tmp_path / "new")
    assert [row.policy for row in back] == [row.policy for row in rows]
    for mine, theirs in zip(back, rows, strict=True):
        assert mine.mean == pytest.approx(theirs.mean, rel=1e-6) and mine.columns["yield kg"] == 0.333333
    store.write_rows(tmp_path / "again", back)
    texts = [(tmp_path / folder / store.FILE).read_text(encoding="utf-8") for folder in ("new", "again")]
    assert texts[0] == texts[1], "rounding twice is rounding once"
    assert json.loads(texts[0])["rows"][0]["id"] == FARM


def test_a_folder_without_a_table_has_no_rows(tmp_path: Path) -> None:
    assert store.read_rows(tmp_path) == []


def test_the_parquet_has_a_row_for_each_id_and_policy(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [replace(make_row(FARM, "none", 1.0), columns={"yield kg": 0.0}), make_row(FISHERY, "expert", 2.0)]
    rows[1] = replace(rows[1], columns={"AAV": 0.5})
    assert [path.name for path in store.write_rows(tmp_path, rows)] == [store.FILE, store.TABLE]
    found = parquet.read_table(tmp_path / store.TABLE).to_pydict()
    assert found["id"] == [FARM, FISHERY] and found["policy"] == ["none", "expert"]
    assert found["yield kg"] == [0.0, None] and found["AAV"] == [None, 0.5] and "columns" not in found
