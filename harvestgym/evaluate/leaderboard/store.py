"""The rows of the leaderboard: kept as JSON and as a Parquet table, told as a page."""

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

from harvestgym.core.tables import Table
from harvestgym.registry import ids

FILE, PAGE, TABLE = "leaderboard.json", "leaderboard.md", "leaderboard.parquet"
CEILING = "ceiling"
LOOKS = "observation cost"
"""The column of what observations cost."""

TRIED = "schedules tried"
"""The column of how many schedules a ceiling is the best of, in each season."""

HEAD = """# Leaderboard

Made by `harvestgym leaderboard --out docs`; do not edit.

What each policy makes of each id on the test side of the [held-out protocol](heldout.md): years of the weather, sites,
soils and seeds that no training sees.

- **none** does nothing, **random** draws from the action space, **expert** is the rule that comes with the id.
- **ppo** is the agent of `examples/ppo.py` ([training](training.md)), trained once on the training side with the same
  settings everywhere, for 3.3 million days; for 8.2 million where looking costs, for 2.1 million on twelve plots and
  for 1.0 million there with four orders a day. Where there are several orders a day it begins with 0.4 of them, and
  on `bean-clay-weeds-3x4-v0` ends by leaving the farm alone, no more. The rows of `full-10x10-v0` and
  `pollination-3x4-v0` were trained before it began so: it gave nearly as many orders as chance does, and on
  `full-10x10-v0` that is where it stayed.
- **ceiling** is the best that a planner found who knew each season beforehand, its weather, pests and luck, searching
  over schedules of interventions from the expert's own. It says how much is left above the expert, and it is the find
  of a search, a lower bound of what such foresight is worth: more may be possible, and none of it is promised to those
  who have to look and guess. Its mean is the expert's over all seasons plus the mean gain over the seasons planned, in
  none of which it makes less than the expert. "16, best of 2,928" is the best of 2,928 schedules in each of 16 seasons:
  the larger the farm, the fewer were tried, and the lower the bound. Where the score is 1.00 the search found next to
  nothing, which says more of a short search than of the farm.

The columns:

- **return**: the sum of the rewards of a season, in the points of the id's score, which its page lists (on farms mostly
  1 for a kilogram harvested, less what orders, water and products cost), as a mean over the seasons with its 95 %
  confidence interval. Means that differ by less than their intervals are not told apart.
- **CVaR 10 %**: the mean of the worst tenth of the seasons.
- **yield**, **water** and **looks** of farms: kilograms harvested, litres used and points paid for observations, in a
  season and on all plots together. **catch per year** of fisheries is in the unit of the stock, mostly its capacity;
  **collapsed** is the share of episodes that ended with the stock gone. **collected** counts a forager's objects.
- **score** of farms: 0 for doing nothing, 1 for the expert, so that a negative one is worse than to have stayed at
  home; none where the two are no further apart than 0.001.
- **seasons**: 1,000, and 100 where plots times steps of a season are more than 4,000; of a ceiling those planned.

Rows are added with `harvestgym leaderboard --ids ID --policy NAME=file.py:function --planned 0 --out docs`, where the
function is given the id, on whose training side it may train, and the environment of the test side, and returns a
`Policy`. The other rows of the id are kept as long as the game is the same, which is to say that the random policy
makes what it made, and its ceiling as long as the expert does so too. The same rows, with more columns, are in
`leaderboard.json` and `leaderboard.parquet` beside this page.
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
    return [row for id, rows in by_id for row in (_scored(rows) if id in played else rows)]


def _scored(of_id: Sequence[Row]) -> list[Row]:
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
    """The table as JSON, as a page and, with the extra `data`, as Parquet; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, page, table = (folder / name for name in (FILE, PAGE, TABLE))
    told = [_rounded(asdict(row)) for row in whole]
    kept.write_text(json.dumps({"rows": told}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(_page(whole), encoding="utf-8")
    if find_spec("pyarrow") is None:
        return [kept, page]
    _write_parquet(told, table)
    return [kept, page, table]


def _write_parquet(told: Sequence[dict[str, Any]], path: Path) -> None:
    """A row for each id and policy, a column for each number; null where a family or a policy has none."""
    import pyarrow
    import pyarrow.parquet

    flat = [{name: value for name, value in row.items() if name != "columns"} | row["columns"] for row in told]
    names = dict.fromkeys(name for row in flat for name in row)
    pyarrow.parquet.write_table(pyarrow.table({name: [row.get(name) for row in flat] for name in names}), path)


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


def _seasons(row: Row) -> str:
    return f"{row.seasons}, best of {row.columns[TRIED]:,.0f}" if TRIED in row.columns else f"{row.seasons}"


SEASONS: dict[str, Cell] = {"seasons": _seasons}
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


FALLS = (("ppo", "none"), ("ppo", "expert"), ("expert", "none"), ("expert", "random"))
"""Of whom it is told where he makes less than whom."""


def _falls(whole: Sequence[Row]) -> list[str]:
    """Which policies fall short of what they should do better than, on which ids."""
    by = {(row.id, row.policy): row for row in whole}
    lines = []
    for one, other in FALLS:
        pairs = [(mine, by.get((id, other))) for (id, policy), mine in by.items() if policy == one]
        short = [mine.id for mine, yours in pairs if yours is not None and mine.high < yours.low]
        told = f"- **{one}** makes less than **{other}** on {', '.join(short)}."
        lines += [textwrap.fill(told, 120, subsequent_indent="  ", break_on_hyphens=False)] * bool(short)
    return ["## Negative results", "", "Where the intervals do not meet:", "", *lines, ""] if lines else []


def _page(whole: Sequence[Row]) -> str:
    lines = [HEAD, *_falls(whole)]
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
