"""The page of the leaderboard: tables of families, scores over all ids, negative results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.leaderboard import page
from experiments.leaderboard.store import (
    FORESIGHT,
    HIGH_BY_YEAR,
    LOW_BY_YEAR,
    TRACKS,
    TRIED,
    YEARS,
    LeaderboardRow,
    merge_rows,
)
from experiments.observation_costs import OBSERVATION_COST
from tests.experiments.leaderboard.test_store import FARM, FISHERY, HALF_WIDTH, make_row, make_table


def train(rows: list[LeaderboardRow], track: str) -> list[LeaderboardRow]:
    """Return the rows; those of `ppo` are of three training runs around their mean."""
    about = {
        "track": track,
        "steps": 999_424,
        "seconds": 90.0,
        "parameters": 1234,
        "command": "python train.py",
    }
    return [
        replace(row, runs=[row.mean - 1, row.mean, row.mean + 1], training=about) if row.policy == "ppo" else row
        for row in rows
    ]


@pytest.mark.parametrize("track", TRACKS)
def test_learned_agents_are_listed_by_track_with_what_they_cost(track: str) -> None:
    """A return of 3 is the score 0.5, of 2 and 4 it is 0.25 and 0.75."""
    text = page.make_page(merge_rows([], train(make_table(), track)))
    section = text.split("## Learned agents")[1].split("\n## ")[0]
    assert [line for line in section.splitlines() if line[:3] == "###"] == [f"### Track: {track}, {TRACKS[track]}"]
    cells = [cell.strip() for cell in section.strip().splitlines()[-1].strip("|").split("|")]
    assert cells[1] == "ppo" and cells[2] == "0.5 (0.25 to 0.75)"
    assert cells[4:] == ["3", "999,424", "1.5", "1,234", "`python train.py`"]
    assert "## Learned agents" not in page.make_page(merge_rows([], make_table()))


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


def test_the_page_has_the_tables_of_the_families_that_have_rows() -> None:
    rows = merge_rows([], [*make_table(), *make_table(FISHERY)])
    text = page.make_page(rows)
    assert text.startswith(page.PAGE_HEAD.read_text(encoding="utf-8"))
    assert "## Farms" in text and "## Fisheries" in text and "## Foragers" not in text
    lines = [line for line in text.splitlines() if line.startswith("| [a-v0]")]
    assert len(lines) == 1, "an id is named in its first row only"
    widths = {line.count("|") for line in text.split("## Farms")[1].split("##")[0].splitlines() if line[:1] == "|"}
    assert len(widths) == 1, "all rows of a table have the same columns"
    others = [make_row(FARM, "blind", 2.0), make_row("farm/c-v0", "expert", 5.0)]
    assert "a row of blind" not in text
    assert "Ids without a row of blind so far: farm/c-v0." in page.make_page([*rows, *others])


def test_negative_results_need_intervals_apart() -> None:
    """`ppo` is worse than nothing on one farm, and not distinguishable from it on the other."""
    apart, near = make_table(ppo=1.0 - 3 * HALF_WIDTH), make_table("farm/d-v0", ppo=1.0 - HALF_WIDTH)
    text = page.make_page(merge_rows([], train([*apart, *near], "steps")))
    assert "- **ppo** earns less than **none** on farm/a-v0.\n" in text
    assert "- **ppo** earns less than **expert** on farm/a-v0, farm/d-v0.\n" in text


def test_the_interval_by_years_stands_with_the_number_of_years() -> None:
    columns = {YEARS: 2.0, LOW_BY_YEAR: 1.0, HIGH_BY_YEAR: 9.0}
    table = page.make_table([replace(make_row(FARM, "expert", 5.0), columns=columns)])
    assert dict(zip(table.columns, table.rows[0], strict=True))["95 % by years"] == "1.00 to 9.00 (2 years)"


def test_ids_on_which_doing_nothing_pays_are_listed() -> None:
    """`none` earns 1 of 5 on one farm, which is 20 %, and 1.3 of 5 on the other."""
    text = page.make_page(merge_rows([], [*make_table(), *make_table("farm/d-v0", none=1.3)]))
    assert "Doing nothing earns more than 25% of what the expert earns on farm/d-v0 (26%)." in text


def test_scores_over_all_ids_are_computed_from_the_rows() -> None:
    """`ppo` has the scores 0.5, 0.5, 0.5, 1.5, 1.5: the middle half is 0.5, 0.5, 1.5; 2 of 5 are above the expert."""
    names = [f"farm/{letter}-v0" for letter in "abcde"]
    means = [3.0, 3.0, 3.0, 7.0, 7.0]
    rows = merge_rows([], [row for id, mean in zip(names, means, strict=True) for row in make_table(id, ppo=mean)])
    table = page.make_score_table(rows)
    [cells] = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "ppo"]
    assert cells["ids"] == "5" and cells["interquartile mean"] == f"{(0.5 + 0.5 + 1.5) / 3:.2f}"
    assert (cells["above 0"], cells["above 0.5"], cells["above 1"]) == ("100%", "40%", "40%")
    assert cells["better than expert"] == "40%"
    assert page.make_score_table(rows[:-1] if rows[-1].id == names[-1] else rows).rows, "other policies stay"


def test_few_ids_are_not_compared() -> None:
    assert page.make_score_table(merge_rows([], make_table())).rows == []


def test_several_training_runs_give_an_interval_over_ids() -> None:
    names = [f"farm/{letter}-v0" for letter in "abcde"]
    rows = [row for id in names for row in make_table(id)]
    rows = [replace(row, runs=[2.0, 3.0, 4.0]) if row.policy == "ppo" else row for row in rows]
    [cells] = [row for row in page.make_score_table(merge_rows([], rows)).rows if row[0] == "ppo"]
    mean, low, _, high = cells[2].replace("(", "").replace(")", "").split()
    assert float(low) < float(mean) < float(high) and float(mean) == pytest.approx(0.5)
