"""The leaderboard as a sweep: all policies of an id are one case, and each season of the planner is a case."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from harvestgym.core.loading import load_object
from harvestgym.evaluate import splits
from harvestgym.sweep.batches import BATCH_ROWS
from harvestgym.sweep.cases import SweepCase, list_user_files
from harvestgym.sweep.result_folder import Columns

from .foresight import Search
from .run import (
    PLANNED_SEASONS,
    PLANNED_TOGETHER,
    can_plan,
    check_planned,
    choose_search,
    make_planned_row,
    make_policy_rows,
    plan_seasons,
)
from .store import TRIED, LeaderboardRow

ROW, POLICY, MEAN = "row", "policy", "mean return"
RETURN, EXPERT = "return", "expert return"

SearchNumbers = tuple[int, int, int] | None
"""Trials, generations and elites of a search; by default, searches are shorter for larger farms."""


class PolicyRowsCase(SweepCase):
    """The rows of an id other than foresight; see `run.make_policy_rows`.

    Attributes:
        entrants: additional policies by name, each as `file.py:function` or `module:function`.
        planned: number of seasons for the blind schedule.
        search: length of its search.
    """

    runner: ClassVar[str] = "experiments.leaderboard.cases:run_policy_rows_cases"

    id: str
    seasons: int | None = Field(default=None, ge=2)
    entrants: dict[str, str] = {}
    planned: int = Field(default=PLANNED_SEASONS, ge=0)
    search: SearchNumbers = None
    split: str = "test"

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "split": self.split}

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.id, *self.entrants.values())


class ForesightCase(SweepCase):
    """A season planned with foresight; see `run.plan_seasons`.

    Attributes:
        season: number of the season in the split.
        search: length of the search.
    """

    runner: ClassVar[str] = "experiments.leaderboard.cases:run_foresight_cases"

    id: str
    season: int = Field(ge=0)
    search: SearchNumbers = None
    split: str = "test"

    @property
    def batch_key(self) -> Hashable:
        return self.id, self.search, self.split

    @property
    def size(self) -> int:
        return BATCH_ROWS // PLANNED_TOGETHER

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "split": self.split, "season": self.season}

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.id)


def list_cases(
    ids: Sequence[str],
    seasons: int | None,
    entrants: Mapping[str, str],
    planned: int,
    search: SearchNumbers = None,
    split: str = "test",
) -> list[SweepCase]:
    """List the cases of some ids; raises ConfigError for a single planned season, which gives no interval."""
    given = {"seasons": seasons, "entrants": dict(entrants), "planned": check_planned(planned)}
    common = {"search": search, "split": split}
    cases: list[SweepCase] = [PolicyRowsCase.model_validate({"id": id} | given | common) for id in ids]
    plannable = [id for id in ids if planned and can_plan(id, splits.make(id, split))]
    return cases + [
        ForesightCase.model_validate({"id": id, "season": season} | common)
        for id in plannable for season in range(planned)
    ]  # fmt: skip


def run_policy_rows_cases(cases: Sequence[PolicyRowsCase]) -> list[dict[str, np.ndarray]]:
    """Return the rows of each case as JSON text, with their policies and means."""
    return [_run_policy_rows(case) for case in cases]


def _run_policy_rows(case: PolicyRowsCase) -> dict[str, np.ndarray]:
    entrants = {name: load_object(target) for name, target in case.entrants.items()}
    rows = make_policy_rows(case.id, case.seasons, entrants, case.planned, _find_search(case), case.split)
    return {
        POLICY: np.asarray([row.policy for row in rows]), MEAN: np.asarray([row.mean for row in rows]),
        ROW: np.asarray([json.dumps(asdict(row)) for row in rows]),
    }  # fmt: skip


def run_foresight_cases(cases: Sequence[ForesightCase]) -> list[dict[str, np.ndarray]]:
    """Compute the returns of the plan and of the expert in the season of each case."""
    first = cases[0]
    search = _find_search(first) or choose_search(splits.make(first.id, first.split))
    found = plan_seasons(first.id, [case.season for case in cases], search, first.split)
    return [{RETURN: found.returns[[i]], EXPERT: found.expert[[i]], TRIED: found.tried[[i]]} for i in range(len(cases))]


def _find_search(case: PolicyRowsCase | ForesightCase) -> Search | None:
    return None if case.search is None else Search(*case.search)


def collect_rows(done: Mapping[SweepCase, Columns], cases: Sequence[SweepCase]) -> list[LeaderboardRow]:
    """Return the rows of finished cases; an id gets its foresight row once all its planned seasons are finished."""
    rows = [LeaderboardRow(**json.loads(text)) for case, columns in done.items()
            if isinstance(case, PolicyRowsCase) for text in columns[ROW]]  # fmt: skip
    planned: dict[str, list[ForesightCase]] = {}
    for case in cases:
        if isinstance(case, ForesightCase):
            planned.setdefault(case.id, []).append(case)
    for expert in [row for row in rows if row.policy == "expert"]:
        seasons = planned.get(expert.id, [])
        if seasons and all(case in done for case in seasons):
            gain = np.concatenate([done[case][RETURN] - done[case][EXPERT] for case in seasons])
            rows.append(make_planned_row(expert, gain, int(done[seasons[0]][TRIED][0])))
    return rows
