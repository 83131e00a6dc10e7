"""The page of the leaderboard: the suite with its anchors, the scores of the result files, and the command's table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.leaderboard import page
from experiments.leaderboard.store import FORESIGHT, HIGH_BY_YEAR, LOW_BY_YEAR, TRIED, YEARS, merge_rows
from experiments.observation_costs import OBSERVATION_COST
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import SuiteResult, read_anchors
from tests.experiments.leaderboard.test_store import FARM, make_row, make_table

SUITE = splits.list_suite()
STOCKS = "fishing/us-stocks-v0"


def make_result(policy: str, share: float, ids: tuple[str, ...] = tuple(SUITE)) -> SuiteResult:
    """Return the result of a policy that earns a share of the best known policy's gain over nothing in each season."""
    seasons = {}
    for id in ids:
        anchor = read_anchors()[id]
        seasons[id] = {"return": (1 - share) * anchor.nothing + share * anchor.best}
        seasons[id] |= {name: np.zeros(len(anchor.best)) for name in SUITE[id].limits}
    return SuiteResult(policy, "0", splits.digest(), seasons, {})


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    made, path = make_result("half", 0.5, (STOCKS,)), tmp_path / "half.json"
    made.write(path)
    back = page.read_suite_result(path)
    assert back.scores == made.scores and back.to_table() == made.to_table() and back.version == made.version
    path.write_text(path.read_text().replace(splits.digest(), "0" * 64))
    with pytest.raises(ConfigError, match="expected results on the test side"):
        page.read_suite_result(path)


def test_the_suite_table_has_the_anchors_and_foresight() -> None:
    table = page.make_suite_table([make_row(STOCKS, FORESIGHT, 1234.5)])
    assert [row[0] for row in table.rows] == [page.link_id(id) for id in SUITE]
    cells = dict(zip(table.columns, table.rows[list(SUITE).index(STOCKS)], strict=True))
    assert cells["nothing"] == f"{read_anchors()[STOCKS].nothing.mean():.4g}" and cells["foresight"] == "1234"
    assert all(row[-1] == "" for row in table.rows if row[0] != page.link_id(STOCKS))


def test_scores_are_columns_and_the_best_total_comes_first() -> None:
    table = page.make_score_table(
        [make_result("half", 0.5), make_result("some", 0.25, (STOCKS,)), make_result("all", 1)]
    )
    assert table.columns == ("id", "all", "half", "some")
    by_id = {row[0]: row[1:] for row in table.rows}
    assert by_id[page.link_id(STOCKS)] == ("1.00 (1.00 to 1.00)", "0.50 (0.50 to 0.50)", "0.25 (0.25 to 0.25)")
    assert by_id["interquartile mean"] == ("1.00 (1.00 to 1.00)", "0.50 (0.50 to 0.50)", "")
    assert by_id[page.link_id("farm/rotation-v0")][2] == "", "a policy that did not play an id has no score on it"


def test_the_page_has_the_digest_of_the_test_side_and_both_tables() -> None:
    text = page.make_page([], [make_result("half", 0.5)])
    assert splits.digest() in text and "DIGEST" not in text
    tables = [line for line in text.splitlines() if line.startswith("| [farm/rotation-v0]")]
    assert len(tables) == 2
    assert len(text.splitlines()) < 100, "three screens"


def test_the_table_of_the_command_has_a_cell_for_every_column() -> None:
    cost = {OBSERVATION_COST: 0.25, "yield kg": 2.0}
    rows = merge_rows([], [replace(row, columns=cost) for row in make_table()])
    table = page.make_table(rows)
    assert {len(row) for row in table.rows} == {len(table.columns)} and len(table.rows) == len(rows)
    [expert] = [row for row in table.rows if row[1] == "expert"]
    cells = dict(zip(table.columns, expert, strict=True))
    assert cells["return (95 %)"] == "5.000 (4.900 to 5.100)" and cells["score"] == "1.00"
    assert cells["yield, kg"] == "2.00" and cells["observations"] == "0.25" and cells["water, L"] == ""


def test_the_number_of_tried_schedules_stands_with_the_seasons() -> None:
    row = replace(make_row(FARM, FORESIGHT, 7.0), seasons=16, cvar10=None, columns={TRIED: 2928.0})
    cells = dict(zip(page.make_table([row]).columns, page.make_table([row]).rows[0], strict=True))
    assert cells["seasons"] == "16, best of 2,928" and cells["CVaR 10 %"] == ""


def test_the_interval_by_years_stands_with_the_number_of_years() -> None:
    columns = {YEARS: 2.0, LOW_BY_YEAR: 1.0, HIGH_BY_YEAR: 9.0}
    table = page.make_table([replace(make_row(FARM, "expert", 5.0), columns=columns)])
    assert dict(zip(table.columns, table.rows[0], strict=True))["95 % by years"] == "1.00 to 9.00 (2 years)"
