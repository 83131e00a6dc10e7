"""The leaderboard as cases: the rows of `make_policy_rows` and foresight, from any engine, after any interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments.leaderboard.__main__ import app
from experiments.leaderboard.cases import ForesightCase, PolicyRowsCase, collect_rows, list_cases
from experiments.leaderboard.foresight import Search
from experiments.leaderboard.run import make_policy_rows
from experiments.leaderboard.store import FORESIGHT, read_rows
from harvestgym.core.errors import ConfigError
from harvestgym.sweep.cases import SweepCase
from harvestgym.sweep.engine import collect

LEVELS, LOGISTIC = "fishing/logistic-levels-v0", "fishing/logistic-v0"
SEASONS, PLANNED, SEARCH = 50, 4, (4, 2, 2)
AGENT = "from harvestgym.evaluate.run import policy_named\ndef enter(id, env): return policy_named(id, env, 'expert')\n"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[SweepCase]:
    agent = tmp_path_factory.mktemp("agent") / "agent.py"
    agent.write_text(AGENT)
    return list_cases([LEVELS], SEASONS, {"mine": f"{agent}:enter"}, PLANNED, SEARCH)


def test_cases_give_the_rows_of_the_function(cases: list[SweepCase], tmp_path: Path) -> None:
    expected = make_policy_rows(LEVELS, SEASONS, planned=PLANNED, search=Search(*SEARCH))
    done = dict(zip(cases, collect(cases, tmp_path), strict=True))
    rows = {row.policy: row for row in collect_rows(done, cases)}
    assert [rows[row.policy] for row in expected] == expected
    assert set(rows) - {row.policy for row in expected} == {"mine", FORESIGHT}
    assert rows["mine"].mean == pytest.approx(rows["expert"].mean, rel=1e-5)
    assert done[cases[0]]["policy"].tolist() == [policy for policy in rows if policy != FORESIGHT]
    done.pop(cases[-1])
    assert FORESIGHT not in {row.policy for row in collect_rows(done, cases)}, "a season is missing"


def test_a_season_has_the_same_plan_alone(cases: list[SweepCase]) -> None:
    together, alone = collect(cases[1:]), collect(cases[-1:])
    assert [columns["return"].tolist() for columns in alone] == [together[-1]["return"].tolist()]


def test_an_id_and_each_planned_season_are_cases() -> None:
    rows = [PolicyRowsCase(id=id, seasons=7, planned=2) for id in (LEVELS, LOGISTIC)]
    assert list_cases([LEVELS, LOGISTIC], 7, {}, 2) == [*rows, *(ForesightCase(id=LEVELS, season=i) for i in range(2))]
    with pytest.raises(ConfigError, match="planned: expected two or more seasons"):
        list_cases([LEVELS], None, {}, 1)


def test_the_files_of_entrants_belong_to_the_case(cases: list[SweepCase]) -> None:
    case = cases[0]
    digest = case.digest
    case.files[0].write_text(AGENT.replace("expert", "random"))
    assert SweepCase.from_text(case.text).digest != digest


def test_a_board_resumes_and_lists_what_failed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def enter(id, env): raise ValueError('no agent')\n")
    given = ["--ids", LOGISTIC, "--seasons", "20", "--planned", "0", "--work", str(tmp_path / "work")]
    assert CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out")]).exit_code == 0
    before = read_rows(tmp_path / "out")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("*.parquet")}
    assert len(files) == 1 and CliRunner().invoke(app, [*given, "--out", str(tmp_path / "again")]).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("*.parquet")} == files
    assert read_rows(tmp_path / "again") == before
    done = CliRunner().invoke(app, [*given, "--policy", f"mine={tmp_path}/agent.py:enter"])
    assert done.exit_code == 1 and "failed: id fishing/logistic-v0" in done.output and "no agent" in done.output
