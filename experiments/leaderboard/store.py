"""The rows of the leaderboard: merged, scored, and stored as JSON and Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.evaluate.score import scale_return

FILE, TABLE = "leaderboard.json", "leaderboard.parquet"

BLIND, OPTIMUM, ORACLE, FORESIGHT = "blind", "optimum", "oracle", "foresight"
"""References that know less or more than an agent: nothing, the horizon, current rewards, the random events."""

BEST = "best"
"""The best known policy of an id, if it is not the expert."""

ORDER = ("none", "random", "expert", BEST)
LAST = (BLIND, OPTIMUM, ORACLE, FORESIGHT)
TRIED = "schedules tried"
"""The column with the number of schedules tried by the foresight planner in each season."""

IQM, YEARS, LOW_BY_YEAR, HIGH_BY_YEAR = "interquartile mean", "weather years", "low by year", "high by year"
"""Columns for the interquartile mean and for the interval of the mean, clustered by weather year."""


@dataclass(frozen=True)
class LeaderboardRow:
    """The result of a policy on an id.

    Attributes:
        mean, low, high: mean return and its 95 % confidence interval.
        cvar10: mean of the worst tenth of the returns; None for the foresight planner.
        score: 0 for no action, 1 for the expert; None if either is missing.
        columns: means of the family's columns, observation costs, the interquartile mean, and the interval by weather
            year.
    """

    id: str
    policy: str
    seasons: int
    mean: float
    low: float
    high: float
    cvar10: float | None
    score: float | None = None
    columns: dict[str, float] = field(default_factory=dict)


def merge_rows(old: Sequence[LeaderboardRow], new: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Merge rows: new rows replace old ones, and other rows of the same id are kept if its environment is unchanged.

    If the return of the random policy differs, the environment has changed, and all old rows of the id are dropped. A
    row of the best known policy is dropped if there is no new one, as the expert then is the best. The planners' search
    starts from the expert, so their rows are also dropped if the expert's return differs. All scores are recomputed.
    """
    fresh, before = ({(row.id, row.policy): row for row in rows} for rows in (new, old))
    evaluated = {row.id for row in new}

    def is_unchanged(id: str, policy: str) -> bool:
        was, now = before.get((id, policy)), fresh.get((id, policy))
        return was is not None and now is not None and _has_same_return(was, now)

    def is_kept(row: LeaderboardRow) -> bool:
        witnesses = ("random", "expert") if row.policy in (BLIND, FORESIGHT) else ("random",)
        same = all(is_unchanged(row.id, witness) for witness in witnesses)
        return (row.id, row.policy) not in fresh and (row.id not in evaluated or (same and row.policy != BEST))

    whole = [*filter(is_kept, old), *new]
    whole.sort(key=lambda row: (row.id, _rank_policy(row.policy), row.policy))
    by_id = ((id, list(rows)) for id, rows in groupby(whole, lambda row: row.id))
    return [row for id, rows in by_id for row in (_score_rows(rows) if id in evaluated else rows)]


def _rank_policy(policy: str) -> int:
    """Return the position of a policy in a table: the baselines come first, the references last."""
    if policy in ORDER:
        return ORDER.index(policy)
    return len(ORDER) + (1 + LAST.index(policy) if policy in LAST else 0)


def _score_rows(of_id: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return the rows of an id with their scores."""
    means = {row.policy: row.mean for row in of_id}
    return [replace(row, score=scale_return(row.mean, means)) for row in of_id]


def _has_same_return(was: LeaderboardRow, now: LeaderboardRow) -> bool:
    return was.seasons == now.seasons and bool(np.isclose(was.mean, now.mean, rtol=1e-4, atol=1e-5))


def read_rows(folder: Path) -> list[LeaderboardRow]:
    """Read the rows stored in a folder; none if there is no table yet."""
    path = folder / FILE
    return (
        [LeaderboardRow(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
        if path.is_file()
        else []
    )


def write_rows(folder: Path, whole: Sequence[LeaderboardRow]) -> list[Path]:
    """Write the rows as JSON and, with the extra `data`, as Parquet; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, table = folder / FILE, folder / TABLE
    values = [_round_numbers(asdict(row)) for row in whole]
    kept.write_text(json.dumps({"rows": values}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if find_spec("pyarrow") is None:
        return [kept]
    _write_parquet(values, table)
    return [kept, table]


def _write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write a row for each id and policy, with a column for each number; null where it does not apply."""
    import pyarrow
    import pyarrow.parquet

    flat = [{name: value for name, value in row.items() if name != "columns"} | row["columns"] for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    pyarrow.parquet.write_table(pyarrow.table({name: [row.get(name) for row in flat] for name in names}), path)


def _round_numbers(value: Any) -> Any:
    """Round numbers to six digits, the precision of float32."""
    if isinstance(value, dict):
        return {name: _round_numbers(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_round_numbers(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
