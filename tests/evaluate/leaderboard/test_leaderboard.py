"""The leaderboard: scores from nothing to the expert, rows that are kept while the game is the same, the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core.policy import constant_policy
from harvestgym.core.wrappers import TimeLimit
from harvestgym.evaluate import splits
from harvestgym.evaluate.leaderboard import page, store
from harvestgym.evaluate.leaderboard.cases import collect_rows, list_cases
from harvestgym.evaluate.leaderboard.foresight import Search
from harvestgym.evaluate.leaderboard.run import expand_ids
from harvestgym.evaluate.observation_costs import OBSERVATION_COST
from harvestgym.sweep import collect
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
    assert found["foresight"].columns[store.TRIED] == QUICK.trials * (QUICK.generations + 1)
    assert found["expert"].columns["yield kg"] > found["none"].columns["yield kg"] == 0
    assert found["expert"].columns[OBSERVATION_COST] == pytest.approx(DAYS / 2 * LOOK, rel=1e-4)
    assert found["one day"].columns[OBSERVATION_COST] == pytest.approx(LOOK, rel=1e-4)


def row(id: str, policy: str, mean: float = 1.0, **more: Any) -> store.LeaderboardRow:
    return store.LeaderboardRow(id, policy, 100, mean, mean - 0.1, mean + 0.1, 0.5, **more)


def test_rows_are_kept_while_the_game_is_the_same() -> None:
    """Chance is the witness of the game, and the expert that of the search that began with what it does."""
    old = [row("farm/a-v0", name, mean) for name, mean in (("none", 0.0), ("random", 0.2), ("expert", 1.0))]
    old += [
        row("farm/a-v0", "ppo", 2.0, score=2.0),
        row("farm/a-v0", store.FORESIGHT, 3.0),
        row("fishing/b-v0", "expert"),
    ]

    def left(expert: float, random: float, *more: store.LeaderboardRow) -> dict[str, store.LeaderboardRow]:
        means = {"none": 0.0, "random": random, "expert": expert}
        whole = store.merge_rows(old, [*(row("farm/a-v0", name, mean) for name, mean in means.items()), *more])
        assert whole[-1].id == "fishing/b-v0"
        return {each.policy: each for each in whole[:-1]}

    same = left(1.0, 0.2)
    assert list(same) == ["none", "random", "expert", "ppo", store.FORESIGHT] and same["ppo"].score == 2.0
    wiser = left(1.6, 0.2)
    assert list(wiser) == ["none", "random", "expert", "ppo"] and wiser["ppo"].score == pytest.approx(1.25)
    assert list(left(1.0, 0.3)) == ["none", "random", "expert"], "of another game, the agent's row says nothing"
    assert left(1.0, 0.2, row("farm/a-v0", "ppo", 3.0))["ppo"].mean == 3.0


def test_file_and_page_have_the_rows(tmp_path: Path) -> None:
    whole = [row("farm/a-v0", "expert", columns={"yield kg": 1.234}), row("fishing/b-v0", "random", 2.0)]
    store.write_rows(tmp_path, [replace(whole[0], score=1.0), whole[1]])
    assert store.read_rows(tmp_path)[1] == whole[1] and store.read_rows(tmp_path / "none") == []
    text = page.make_page([replace(whole[0], score=1.0), whole[1]])
    assert "| [a-v0](farm/a-v0.md) | expert | 1.000 (0.900 to 1.100) | 0.500 |  | 1.23 |" in text
    assert "## Fisheries" in text and "## Foragers" not in text and "a row of blind" not in text
    text = page.make_page([*whole, row("farm/a-v0", "blind"), row("farm/c-v0", "expert")])
    assert "Without a row of blind yet: farm/c-v0." in text and "Negative results" not in text


def test_the_parquet_has_a_row_for_each_id_and_policy(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    whole = [row("farm/a-v0", "none", columns={"yield kg": 0.0}), row("fishing/b-v0", "expert", columns={"AAV": 0.5})]
    assert [path.name for path in store.write_rows(tmp_path, whole)] == [store.FILE, store.TABLE]
    found = parquet.read_table(tmp_path / store.TABLE).to_pydict()
    assert found["id"] == ["farm/a-v0", "fishing/b-v0"] and found["policy"] == ["none", "expert"]
    assert found["yield kg"] == [0.0, None] and found["AAV"] == [None, 0.5] and "columns" not in found


def test_chosen_expands_the_names_of_families() -> None:
    assert expand_ids(["fishing/may-v0"]) == ["fishing/may-v0"] and expand_ids(["farm"]) == registry.ids("farm")


def test_the_command_writes_the_page_and_the_file(tmp_path: Path) -> None:
    id = "fishing/logistic-levels-v0"
    args = ["leaderboard", "--ids", id, "--seasons", "50", "--planned", "0", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    kept = json.loads((tmp_path / store.FILE).read_text(encoding="utf-8"))["rows"]
    assert [r["policy"] for r in kept] == ["none", "random", "expert", "optimum"]
    assert np.isfinite([r["mean"] for r in kept]).all() and (tmp_path / page.PAGE).is_file()
    wrong = CliRunner().invoke(app, ["leaderboard", "--ids", "fishing/logistic-level-v0"])
    assert wrong.exit_code == 2 and "try 'fishing/logistic-levels-v0'" in wrong.output
