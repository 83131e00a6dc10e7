"""The table of what each id tests: scores between nothing and the best known policy."""

from __future__ import annotations

from experiments import difficulty
from experiments.search.found import read_choices
from harvestgym.evaluate import splits


def test_scores_are_1_for_the_best_known_policy_and_less_for_others() -> None:
    table = difficulty.make_table()
    chosen = read_choices()
    ids = [id for id in splits.list_suite() if id in chosen]
    for id, row in zip(ids, table.rows, strict=True):
        assert id.endswith(f"/{row[0]}")
        scores = [float(cell) for cell in row[1 : 1 + len(difficulty.KINDS)] if cell]
        assert max(scores) <= 1, row
        if chosen[id]["form"] == "expert":
            assert row[table.columns.index("expert")] == "1.00"
