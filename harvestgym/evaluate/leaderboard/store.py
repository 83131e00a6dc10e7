"""The rows of the leaderboard: merged, stored as JSON and Parquet, and shown as a page."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.evaluate.observation_costs import OBSERVATION_COST
from harvestgym.evaluate.statistics import format_mean
from harvestgym.registry import ids

FILE, PAGE, TABLE = "leaderboard.json", "leaderboard.md", "leaderboard.parquet"
CEILING = "ceiling"
TRIED = "schedules tried"
"""The column with the number of schedules tried by the foresight planner in each season."""

PAGE_HEAD = Path(__file__).with_name("page_head.md")
"""The text above the tables of the page."""


@dataclass(frozen=True)
class LeaderboardRow:
    """A policy on an id.

    Attributes:
        mean, low, high: mean return and its 95 % confidence interval.
        cvar10: mean of the worst tenth of the returns; None for the foresight planner.
        score: 0 for no action, 1 for the expert; None without one of them.
        columns: means of the family's columns, and observation costs.
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
    """Merge rows: new rows replace old ones, other rows of the same id stay while its environment is unchanged.

    The environment has changed if the random policy has another return; then all old rows of the id are dropped. The
    row of the foresight planner, whose search starts from the expert, is also dropped if the expert has another return.
    Scores are computed again.
    """
    fresh, before = ({(row.id, row.policy): row for row in rows} for rows in (new, old))
    evaluated = {row.id for row in new}

    def is_unchanged(id: str, policy: str) -> bool:
        was, now = before.get((id, policy)), fresh.get((id, policy))
        return was is not None and now is not None and _has_same_return(was, now)

    def is_kept(row: LeaderboardRow) -> bool:
        witnesses = ("random", "expert") if row.policy == CEILING else ("random",)
        same = all(is_unchanged(row.id, witness) for witness in witnesses)
        return (row.id, row.policy) not in fresh and (row.id not in evaluated or same)

    whole = [*filter(is_kept, old), *new]
    order = {name: i for i, name in enumerate(("none", "random", "expert"))}
    whole.sort(key=lambda row: (row.id, row.policy == CEILING, order.get(row.policy, 9), row.policy))
    by_id = ((id, list(rows)) for id, rows in groupby(whole, lambda row: row.id))
    return [row for id, rows in by_id for row in (_score_rows(rows) if id in evaluated else rows)]


def _score_rows(of_id: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Score the rows of an id, if the returns of no action and of the expert differ enough."""
    mean = {row.policy: row.mean for row in of_id}
    none, expert = mean.get("none"), mean.get("expert")
    if none is None or expert is None or expert - none < 1e-3:
        return list(of_id)
    return [replace(row, score=(row.mean - none) / (expert - none)) for row in of_id]


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
    """Write the table as JSON, as a page and, with the extra `data`, as Parquet; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, page, table = (folder / name for name in (FILE, PAGE, TABLE))
    values = [_round_numbers(asdict(row)) for row in whole]
    kept.write_text(json.dumps({"rows": values}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(_page(whole), encoding="utf-8")
    if find_spec("pyarrow") is None:
        return [kept, page]
    _write_parquet(values, table)
    return [kept, page, table]


def _write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write a row for each id and policy, a column for each number; null where a family or a policy has none."""
    import pyarrow
    import pyarrow.parquet

    flat = [{name: value for name, value in row.items() if name != "columns"} | row["columns"] for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    pyarrow.parquet.write_table(pyarrow.table({name: [row.get(name) for row in flat] for name in names}), path)


def _round_numbers(value: Any) -> Any:
    """Round numbers to six digits, the precision of float32."""
    if isinstance(value, dict):
        return {name: _round_numbers(part) for name, part in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


Cell = Callable[[LeaderboardRow], str]


def _format_column(name: str, digits: int) -> Cell:
    return lambda row: f"{row.columns[name]:.{digits}f}" if name in row.columns else ""


def _format_return(row: LeaderboardRow) -> str:
    return format_mean(row.mean, row.low, row.high)


COMMON_COLUMNS: dict[str, Cell] = {
    "policy": lambda row: row.policy,
    "return (95 %)": _format_return,
    "CVaR 10 %": lambda row: "" if row.cvar10 is None else f"{row.cvar10:.3f}",
}


def _format_seasons(row: LeaderboardRow) -> str:
    return f"{row.seasons}, best of {row.columns[TRIED]:,.0f}" if TRIED in row.columns else f"{row.seasons}"


SEASONS_COLUMN: dict[str, Cell] = {"seasons": _format_seasons}
FAMILY_COLUMNS: dict[str, tuple[str, dict[str, Cell]]] = {
    "farm": (
        "Farms",
        {
            "yield, kg": _format_column("yield kg", 2),
            "water, L": _format_column("water used L", 0),
            "looks": _format_column(OBSERVATION_COST, 2),
            "score": lambda row: "" if row.score is None else f"{row.score:.2f}",
        },
    ),
    "fishing": (
        "Fisheries",
        {"catch per year": _format_column("mean catch per year", 4), "collapsed": _format_column("collapsed", 3)},
    ),
    "forager": ("Foragers", {"collected": _format_column("objects collected", 0)}),
}


def make_table(whole: Sequence[LeaderboardRow]) -> Table:
    """Make one table of all rows, with the columns of farms."""
    cells = {"id": lambda row: row.id} | COMMON_COLUMNS | FAMILY_COLUMNS["farm"][1] | SEASONS_COLUMN
    return Table("leaderboard", tuple(cells), [tuple(cell(row) for cell in cells.values()) for row in whole])


COMPARISONS = (("ppo", "none"), ("ppo", "expert"), ("expert", "none"), ("expert", "random"))
"""Pairs of policies for the negative results: ids on which the first has a lower return than the second."""


def _list_negative_results(whole: Sequence[LeaderboardRow]) -> list[str]:
    """List the ids on which a policy has a lower return than a simpler one."""
    by = {(row.id, row.policy): row for row in whole}
    lines = []
    for one, other in COMPARISONS:
        pairs = [(mine, by.get((id, other))) for (id, policy), mine in by.items() if policy == one]
        short = [mine.id for mine, yours in pairs if yours is not None and mine.high < yours.low]
        text = f"- **{one}** earns less than **{other}** on {', '.join(short)}."
        lines += [textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False)] * bool(short)
    return ["## Negative results", "", "Where the intervals do not overlap:", "", *lines, ""] if lines else []


def _page(whole: Sequence[LeaderboardRow]) -> str:
    lines = [PAGE_HEAD.read_text(encoding="utf-8"), *_list_negative_results(whole)]
    for family, (title, own) in FAMILY_COLUMNS.items():
        mine = [row for row in whole if row.id.partition("/")[0] == family]
        if mine:
            lines += [f"## {title}", "", *_table(mine, COMMON_COLUMNS | own | SEASONS_COLUMN), ""]
    farms = {row.id for row in whole if row.id.startswith("farm/")}
    by_policy = {name: {row.id for row in whole if row.policy == name} for name in ("ppo", CEILING)}
    absent = {"rows": set(ids()) - {row.id for row in whole}} | {
        f"a row of {name}": farms - having for name, having in by_policy.items() if having
    }
    lines += [f"Without {what} yet: {', '.join(sorted(lack))}.\n" for what, lack in absent.items() if lack]
    return "\n".join(lines)


def _table(mine: Sequence[LeaderboardRow], cells: dict[str, Cell]) -> list[str]:
    lines = [_line(["id", *cells]), _line(["---", "---", *["---:"] * (len(cells) - 1)])]
    last = ""
    for row in mine:
        name = "" if row.id == last else f"[{row.id.partition('/')[2]}]({row.id}.md)"
        lines.append(_line([name, *(cell(row) for cell in cells.values())]))
        last = row.id
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
