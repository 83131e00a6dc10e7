"""The table of what each id tests: scores between nothing and the best known policy."""

from __future__ import annotations

import pytest

from experiments import difficulty
from experiments.search.found import read_choices
from harvestgym.evaluate import splits


def test_each_id_has_a_row_with_its_best_known_policy() -> None:
    table, chosen = difficulty.make_table(), read_choices()
    ids = [id for id in splits.list_suite() if id in chosen]
    for id, row in zip(ids, table.rows, strict=True):
        cells = dict(zip(table.columns, row, strict=True))
        assert id.endswith(f"/{cells['id']}")
        best = chosen[id]["training_returns"][chosen[id]["form"]]
        assert float(cells["best known"]) == pytest.approx(best, rel=1e-3)
        if chosen[id]["form"] == "expert":
            assert cells["expert"] == "1.00"


def test_a_constant_action_scores_below_the_best_known_policy() -> None:
    table = difficulty.make_table()
    scores = {row[0]: row[table.columns.index("not observing")] for row in table.rows}
    fisheries = [id.partition("/")[2] for id in splits.list_suite() if id.startswith("fishing/")]
    assert all(0 < float(scores[name]) < 1 for name in fisheries)


def test_the_best_constant_action_of_a_fishery_earns_more_than_none() -> None:
    id = "fishing/us-stocks-v0"
    found = difficulty.find_constant(id, points=5, seasons=4, last=20)
    assert 0 < found["action"][0] < 1 and found["mean"] > read_choices()[id]["training_returns"]["none"]
