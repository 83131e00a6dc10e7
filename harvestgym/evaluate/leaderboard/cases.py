"""The leaderboard as cases of a sweep: an id with its entrants is a case, and its rows are the result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from harvestgym.core.loading import load_object
from harvestgym.sweep import SweepCase
from harvestgym.sweep.user_files import list_user_files

from .foresight import Search
from .run import PLANNED_SEASONS, check_planned, make_rows
from .store import LeaderboardRow

ROW, POLICY, MEAN = "row", "policy", "mean return"


class LeaderboardCase(SweepCase):
    """The rows of an id, see `run.make_rows`.

    Attributes:
        entrants: further policies, `file.py:function` or `module:function` by name.
        search: trials, generations and elites of the searches.
    """

    runner: ClassVar[str] = "harvestgym.evaluate.leaderboard.cases:run_leaderboard_cases"

    id: str
    seasons: int | None = Field(default=None, ge=2)
    entrants: dict[str, str] = {}
    planned: int = Field(default=PLANNED_SEASONS, ge=0)
    search: tuple[int, int, int] | None = None
    split: str = "test"

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "split": self.split}

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.id, *self.entrants.values())


def list_cases(
    ids: Sequence[str], seasons: int | None, entrants: Mapping[str, str], planned: int
) -> list[LeaderboardCase]:
    """List the cases of some ids; ConfigError for one planned season, which has no interval."""
    given = {"seasons": seasons, "entrants": dict(entrants), "planned": check_planned(planned)}
    return [LeaderboardCase.model_validate({"id": id} | given) for id in ids]


def run_leaderboard_cases(cases: Sequence[LeaderboardCase]) -> list[dict[str, np.ndarray]]:
    """Return the rows of each case, as JSON text and by policy and mean."""
    return [_run_case(case) for case in cases]


def _run_case(case: LeaderboardCase) -> dict[str, np.ndarray]:
    entrants = {name: load_object(target) for name, target in case.entrants.items()}
    search = None if case.search is None else Search(*case.search)
    rows = make_rows(case.id, case.seasons, entrants, case.planned, search, case.split)
    texts = [json.dumps(asdict(row)) for row in rows]
    return {
        POLICY: np.asarray([row.policy for row in rows]), MEAN: np.asarray([row.mean for row in rows]),
        ROW: np.asarray(texts),
    }  # fmt: skip


def read_rows_of_case(columns: Mapping[str, np.ndarray]) -> list[LeaderboardRow]:
    """Read the rows in the columns of a case."""
    return [LeaderboardRow(**json.loads(text)) for text in columns[ROW]]
