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
