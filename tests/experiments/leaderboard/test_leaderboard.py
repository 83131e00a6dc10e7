"""The leaderboard as a whole: all policies of an id from nothing to foresight, and the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.leaderboard import page, store
from experiments.leaderboard.__main__ import app
from experiments.leaderboard.cases import collect_rows, list_cases
from experiments.leaderboard.foresight import Search
from experiments.observation_costs import OBSERVATION_COST
from harvestgym import registry
from harvestgym.core.policy import constant_policy
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate import splits
from harvestgym.sweep.engine import collect
from tests.evaluate.reeds import DAYS, LOOK

QUICK = Search(trials=8, generations=6, elites=2)


@pytest.fixture
def id() -> Iterator[str]:
    """Yield the reeds, on which looking costs, as a registered id for the time of a test."""
    name = "test/reeds-v0"
    registry.register(name, "tests.evaluate.reeds:reeds", mode="ao")
    yield name
    registry.unregister(name)


def enter_one_day(id: str, env: Any) -> Any:
    assert splits.make(id, "train").action_space == env.action_space
    return TimeLimit(env, 1), constant_policy({"order": 0, "request": np.ones(1, np.int32)})


def enter_nothing(id: str, env: Any) -> None:
    """Return no policy, for any id."""


def test_nothing_is_0_the_expert_1_and_foresight_more(id: str) -> None:
    entrants = {"one day": f"{__name__}:enter_one_day", "absent": f"{__name__}:enter_nothing"}
    cases = list_cases([id], 60, entrants, 4, tuple(QUICK))
    done = dict(zip(cases, collect(cases), strict=True))
    whole = store.merge_rows([], collect_rows(done, cases))
    found = {row.policy: row for row in whole}
    assert set(found) == {"none", "random", "expert", "blind", "foresight", "one day"}
    assert found["none"].score == 0 and found["expert"].score == 1 and (found["foresight"].score or 0) > 1
    for row in found.values():
        assert row.low <= row.mean <= row.high and (row.cvar10 is None or row.cvar10 <= row.mean)
    assert found["expert"].seasons == 60 and found["foresight"].seasons == 4
    assert found["foresight"].columns[store.TRIED] == QUICK.tried, "the farm has no rules with numbers to draw"
    assert found["expert"].columns["yield kg"] > found["none"].columns["yield kg"] == 0
    assert found["expert"].columns[OBSERVATION_COST] == pytest.approx(DAYS / 2 * LOOK, rel=1e-4)
    assert found["one day"].columns[OBSERVATION_COST] == pytest.approx(LOOK, rel=1e-4)


def test_the_command_writes_the_page_and_the_file(tmp_path: Path) -> None:
    id = "fishing/logistic-levels-v0"
    args = ["--ids", id, "--seasons", "50", "--planned", "0", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    kept = json.loads((tmp_path / store.FILE).read_text(encoding="utf-8"))["rows"]
    assert [r["policy"] for r in kept] == ["none", "random", "expert", "optimum"]
    assert np.isfinite([r["mean"] for r in kept]).all() and (tmp_path / page.PAGE).is_file()
    wrong = CliRunner().invoke(app, ["--ids", "fishing/logistic-level-v0"])
    assert wrong.exit_code == 2 and "try 'fishing/logistic-levels-v0'" in wrong.output


@pytest.mark.parametrize(
    ("args", "words"),
    [(("--out", "pyproject.toml"), "--out: expected a folder, got the file pyproject.toml"),
     (("--policy", "mine"), "--policy: expected NAME=file.py:function"),
     (("--policy", "mine=nomodule:f"), "got the unknown module 'nomodule'"),
     (("--policy", "mine=mine.py"), "got 'mine.py'")],
)  # fmt: skip
def test_a_user_error_is_printed_in_one_line(args: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(app, [*args])
    assert result.exit_code == 2 and words in result.output and "Traceback" not in result.output
