"""The rows of the leaderboard: kept as JSON, told as a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..core.describe import Table
from ..registry import ids

FILE, PAGE = "leaderboard.json", "leaderboard.md"
CEILING = "ceiling"
LOOKS = "observation cost"
"""The column of what observations cost."""

HEAD = """# Leaderboard

Made by `harvestgym leaderboard --out docs`; do not edit.

What each policy makes of each id on the test side of the [held-out protocol](heldout.md): years of the weather, sites,
soils and seeds that no training sees. The interval is the 95 % confidence interval of the mean return; CVaR 10 % is the
mean of the worst tenth of the seasons.

- **none** does nothing, **random** draws from the action space, **expert** is the rule that comes with the id.
- **ppo** is the agent of `examples/ppo.py` ([training](training.md)), trained once on the training side with the same
  settings everywhere, for 3.3 million days; for 8.2 million where looking costs, for 2.1 million on twelve plots and
  for 1.0 million there with four orders a day.
- **ceiling** is the best that a planner found who knew each season beforehand, its weather, pests and luck, searching
  over schedules of interventions from the expert's own. It says how much is left above the expert, and it is the find
  of a search, a lower bound of what such foresight is worth: more may be possible, and none of it is promised to those
  who have to look and guess. Its mean is the expert's over all seasons plus the mean gain over the seasons planned,
  whose number is given. The larger the farm, the shorter the search and the lower the bound: 60 generations of 48
  schedules on a plot for a season, 13 on five plots or for three years, 5 on twelve plots.
- **score** is 0 for doing nothing and 1 for the expert; none where the two are no further apart than 0.001.

Seasons are 1,000, and 100 where plots times steps of a season are more than 4,000. Means that differ by less than their
intervals are not told apart.

Rows are added with `harvestgym leaderboard --ids ID --policy NAME=file.py:function --planned 0 --out docs`, where the
function is given the id, on whose training side it may train, and the environment of the test side, and returns a
`Policy`. The other rows of the id are kept as long as the game is the same, which is to say that the random policy
makes what it made, and its ceiling as long as the expert does so too.
"""


@dataclass(frozen=True)
class Row:
    """A policy on an id.

    Attributes:
        mean, low, high: mean return and its 95 % confidence interval.
        cvar10: mean of the worst tenth of the returns; None of a ceiling.
        score: 0 for doing nothing, 1 for the expert; None where there is neither.
        columns: means of the family's own columns, and what observations cost.
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


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """All rows: of a policy played anew the new one; others of its id as long as the game is the same, scored anew.

    The game has changed if chance no longer makes what it made; old rows then say nothing of it. A ceiling, which is
    searched from what the expert does, goes as well if the expert no longer makes what it made.
    """
    fresh, before = ({(row.id, row.policy): row for row in rows} for rows in (new, old))
    played = {row.id for row in new}

    def again(id: str, policy: str) -> bool:
        was, now = before.get((id, policy)), fresh.get((id, policy))
        return was is not None and now is not None and _same(was, now)

    def holds(row: Row) -> bool:
        witnesses = ("random", "expert") if row.policy == CEILING else ("random",)
        same = all(again(row.id, witness) for witness in witnesses)
        return (row.id, row.policy) not in fresh and (row.id not in played or same)

    whole = [*filter(holds, old), *new]
    order = {name: i for i, name in enumerate(("none", "random", "expert"))}
    whole.sort(key=lambda row: (row.id, row.policy == CEILING, order.get(row.policy, 9), row.policy))
    by_id = ((id, list(rows)) for id, rows in groupby(whole, lambda row: row.id))
    return [row for id, rows in by_id for row in (scored(rows) if id in played else rows)]


def scored(of_id: Sequence[Row]) -> list[Row]:
    """The rows of an id with their scores, where doing nothing and the expert are far enough apart to tell."""
    mean = {row.policy: row.mean for row in of_id}
    none, expert = mean.get("none"), mean.get("expert")
    if none is None or expert is None or expert - none < 1e-3:
        return list(of_id)
    return [replace(row, score=(row.mean - none) / (expert - none)) for row in of_id]


def _same(was: Row, now: Row) -> bool:
    return was.seasons == now.seasons and bool(np.isclose(was.mean, now.mean, rtol=1e-4, atol=1e-5))


def read(folder: Path) -> list[Row]:
    """The rows kept in a folder; none if there is no table yet."""
    path = folder / FILE
    return [Row(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]] if path.is_file() else []


def write(folder: Path, whole: Sequence[Row]) -> list[Path]:
    """The table as JSON and as a page; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / FILE, folder / PAGE
    told = {"rows": [_rounded(asdict(row)) for row in whole]}
    table.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(_page(whole), encoding="utf-8")
    return [table, page]


def _rounded(value: Any) -> Any:
    """Numbers with the six digits that a float32 has."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


Cell = Callable[[Row], str]


def _number(name: str, digits: int) -> Cell:
    return lambda row: f"{row.columns[name]:.{digits}f}" if name in row.columns else ""


def _return(row: Row) -> str:
    return f"{row.mean:.3f} ({row.low:.3f} to {row.high:.3f})"


COMMON: dict[str, Cell] = {
    "policy": lambda row: row.policy,
    "return (95 %)": _return,
    "CVaR 10 %": lambda row: "" if row.cvar10 is None else f"{row.cvar10:.3f}",
}
SEASONS: dict[str, Cell] = {"seasons": lambda row: str(row.seasons)}
FAMILIES: dict[str, tuple[str, dict[str, Cell]]] = {
    "farm": (
        "Farms",
        {
            "yield, kg": _number("yield kg", 2),
            "water, L": _number("water used L", 0),
            "looks": _number(LOOKS, 2),
            "score": lambda row: "" if row.score is None else f"{row.score:.2f}",
        },
    ),
    "fishing": (
        "Fisheries",
        {"catch per year": _number("mean catch per year", 4), "collapsed": _number("collapsed", 3)},
    ),
    "forager": ("Foragers", {"collected": _number("collected#count", 0)}),
}


def table(whole: Sequence[Row]) -> Table:
    """The rows as texts, with what all families have in common."""
    cells = {"id": lambda row: row.id} | COMMON | FAMILIES["farm"][1] | SEASONS
    return Table("leaderboard", tuple(cells), [tuple(cell(row) for cell in cells.values()) for row in whole])


def _page(whole: Sequence[Row]) -> str:
    lines = [HEAD]
    for family, (title, own) in FAMILIES.items():
        mine = [row for row in whole if row.id.partition("/")[0] == family]
        if mine:
            lines += [f"## {title}", "", *_table(mine, COMMON | own | SEASONS), ""]
    farms = {row.id for row in whole if row.id.startswith("farm/")}
    by_policy = {name: {row.id for row in whole if row.policy == name} for name in ("ppo", CEILING)}
    absent = {"rows": set(ids()) - {row.id for row in whole}} | {
        f"a row of {name}": farms - having for name, having in by_policy.items() if having
    }
    lines += [f"Without {what} yet: {', '.join(sorted(lack))}.\n" for what, lack in absent.items() if lack]
    return "\n".join(lines)


def _table(mine: Sequence[Row], cells: dict[str, Cell]) -> list[str]:
    lines = [_line(["id", *cells]), _line(["---", "---", *["---:"] * (len(cells) - 1)])]
    last = ""
    for row in mine:
        name = "" if row.id == last else f"[{row.id.partition('/')[2]}]({row.id}.md)"
        lines.append(_line([name, *(cell(row) for cell in cells.values())]))
        last = row.id
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
