"""The leaderboard as cases: the rows of `make_rows`, from any engine, after any interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.leaderboard.cases import LeaderboardCase, list_cases, read_rows_of_case
from harvestgym.evaluate.leaderboard.foresight import Search
from harvestgym.evaluate.leaderboard.run import make_rows
from harvestgym.evaluate.leaderboard.store import read_rows
from harvestgym.sweep import SweepCase, collect

LEVELS, LOGISTIC = "fishing/logistic-levels-v0", "fishing/logistic-v0"
SEASONS, PLANNED, SEARCH = 50, 4, (4, 2, 2)
AGENT = "from harvestgym.evaluate.run import policy_named\ndef enter(id, env): return policy_named(id, env, 'expert')\n"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> LeaderboardCase:
    agent = tmp_path_factory.mktemp("agent") / "agent.py"
    agent.write_text(AGENT)
    entrants = {"mine": f"{agent}:enter"}
    return LeaderboardCase(id=LEVELS, seasons=SEASONS, entrants=entrants, planned=PLANNED, search=SEARCH)


def test_a_case_gives_the_rows_of_the_function(case: LeaderboardCase, tmp_path: Path) -> None:
    expected = make_rows(LEVELS, SEASONS, planned=PLANNED, search=Search(*SEARCH))
    (columns,) = collect([case], tmp_path)
    rows = {row.policy: row for row in read_rows_of_case(columns)}
    assert [rows[row.policy] for row in expected] == expected
    assert set(rows) - {row.policy for row in expected} == {"mine"}
    assert rows["mine"].mean == pytest.approx(rows["expert"].mean, rel=1e-5)
    assert columns["policy"].tolist() == list(rows)


def test_an_id_is_a_case() -> None:
    assert list_cases([LEVELS, LOGISTIC], 7, {}, 0) == [
        LeaderboardCase(id=id, seasons=7, planned=0) for id in (LEVELS, LOGISTIC)
    ]
    with pytest.raises(ConfigError, match="planned: expected two or more seasons"):
        list_cases([LEVELS], None, {}, 1)


def test_the_files_of_entrants_belong_to_the_case(case: LeaderboardCase) -> None:
    digest = case.digest
    case.files[0].write_text(AGENT.replace("expert", "random"))
    assert SweepCase.from_text(case.text).digest != digest


def test_a_board_resumes_and_lists_what_failed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def enter(id, env): raise ValueError('no agent')\n")
    given = ["leaderboard", "--ids", LOGISTIC, "--seasons", "20", "--planned", "0", "--work", str(tmp_path / "work")]
    assert CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out")]).exit_code == 0
    before = read_rows(tmp_path / "out")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("*.parquet")}
    assert len(files) == 1 and CliRunner().invoke(app, [*given, "--out", str(tmp_path / "again")]).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "work").glob("*.parquet")} == files
    assert read_rows(tmp_path / "again") == before
    done = CliRunner().invoke(app, [*given, "--policy", f"mine={tmp_path}/agent.py:enter"])
    assert done.exit_code == 1 and "failed: id fishing/logistic-v0" in done.output and "no agent" in done.output
