"""The leaderboard page: a table for each family, scores over all ids, and negative results."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from experiments.aggregates import bootstrap_strata, mean_of_all, performance_profile, probability_of_improvement
from experiments.observation_costs import OBSERVATION_COST
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.score import scale_return
from harvestgym.evaluate.statistics import format_mean, interquartile_mean
from harvestgym.registry import ids

from .store import BLIND, FORESIGHT, HIGH_BY_YEAR, IQM, LOW_BY_YEAR, TRACKS, TRIED, YEARS, LeaderboardRow

PAGE = "leaderboard.md"

PAGE_HEAD = Path(__file__).with_name("page_head.md")
"""The text above the tables."""

Cell = Callable[[LeaderboardRow], str]


def write_page(folder: Path, whole: Sequence[LeaderboardRow]) -> Path:
    """Write the page into a folder; return its path."""
    path = folder / PAGE
    path.write_text(make_page(whole), encoding="utf-8")
    return path


def _format_column(name: str, digits: int) -> Cell:
    return lambda row: f"{row.columns[name]:.{digits}f}" if name in row.columns else ""


def _format_return(row: LeaderboardRow) -> str:
    return format_mean(row.mean, row.low, row.high)


def _format_score(row: LeaderboardRow) -> str:
    return "" if row.score is None else f"{row.score:.2f}"


def _format_years(row: LeaderboardRow) -> str:
    if YEARS not in row.columns:
        return ""
    return f"{row.columns[LOW_BY_YEAR]:.2f} to {row.columns[HIGH_BY_YEAR]:.2f} ({row.columns[YEARS]:.0f} years)"


COMMON_COLUMNS: dict[str, Cell] = {
    "policy": lambda row: row.policy,
    "return (95 %)": _format_return,
    "CVaR 10 %": lambda row: "" if row.cvar10 is None else f"{row.cvar10:.3f}",
    "IQM": _format_column(IQM, 3),
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
            "observations": _format_column(OBSERVATION_COST, 2),
            "95 % by years": _format_years,
            "score": _format_score,
        },
    ),
    "fishing": (
        "Fisheries",
        {
            "catch per year": _format_column("mean catch per year", 4),
            "collapsed": _format_column("collapsed", 3),
            "score": _format_score,
        },
    ),
    "forager": ("Foragers", {"collected": _format_column("objects collected", 0), "score": _format_score}),
}


def make_table(whole: Sequence[LeaderboardRow]) -> Table:
    """Make a single table of all rows, with the columns for farms."""
    cells = {"id": lambda row: row.id} | COMMON_COLUMNS | FAMILY_COLUMNS["farm"][1] | SEASONS_COLUMN
    return Table("leaderboard", tuple(cells), [tuple(cell(row) for cell in cells.values()) for row in whole])


def _list_negative_results(whole: Sequence[LeaderboardRow]) -> list[str]:
    """List the ids on which a learned agent or the expert has a lower return than a simpler policy."""
    by = {(row.id, row.policy): row for row in whole}
    learned = dict.fromkeys(row.policy for row in whole if row.training)
    pairs = [*product(learned, ("none", "expert")), ("expert", "none"), ("expert", "random")]
    lines = []
    for one, other in pairs:
        both = [(mine, by.get((id, other))) for (id, policy), mine in by.items() if policy == one]
        short = [mine.id for mine, yours in both if yours is not None and mine.high < yours.low]
        text = f"- **{one}** earns less than **{other}** on {', '.join(short)}."
        lines += [textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False)] * bool(short)
    return ["## Negative results", "", "Where the intervals do not overlap:", "", *lines, ""] if lines else []


IDLE_SHARE = 0.25
"""Fraction of the expert's return that doing nothing should not exceed; an unfished stock is paid at the end."""


def _list_idle_ids(whole: Sequence[LeaderboardRow]) -> list[str]:
    """List the ids on which doing nothing earns more than `IDLE_SHARE` of what the expert earns."""
    by = {(row.id, row.policy): row.mean for row in whole}
    pairs = [(id, mean, by.get((id, "expert"), 0.0)) for (id, policy), mean in by.items() if policy == "none"]
    high = [f"{id} ({mean / expert:.0%})" for id, mean, expert in pairs if expert > 0 and mean > IDLE_SHARE * expert]
    if not high:
        return []
    text = f"Doing nothing earns more than {IDLE_SHARE:.0%} of what the expert earns on {', '.join(high)}."
    return [textwrap.fill(text, 120, break_on_hyphens=False), ""]


LEVELS = (0.0, 0.5, 1.0)
"""Scores of the performance profile."""

LEAST_IDS = 5
"""Minimum number of scored ids for a comparison of a policy over all of them."""


def make_score_table(whole: Sequence[LeaderboardRow], family: str = "farm") -> Table:
    """Make the table of scores over a family's ids, with a row for each policy with at least `LEAST_IDS` scored ids."""
    scored = [row for row in whole if row.id.startswith(f"{family}/") and row.score is not None]
    rows = []
    for policy in dict.fromkeys(row.policy for row in scored):
        strata = {row.id: _score_runs(row, scored) for row in scored if row.policy == policy}
        if len(strata) >= LEAST_IDS:
            rows.append((policy, str(len(strata)), *_compare_scores([*strata.values()])))
    above = (f"above {level:g}" for level in LEVELS)
    columns = ("policy", "ids", "interquartile mean", *above, "better than expert")
    return Table("Scores over all ids", columns, rows)


def _score_runs(row: LeaderboardRow, scored: Sequence[LeaderboardRow]) -> list[float]:
    """Return the scores of a row's training runs; for a rule, its single score."""
    if not row.runs:
        return [row.score or 0.0]
    means = {r.policy: r.mean for r in scored if r.id == row.id}
    return [scale_return(run, means) or 0.0 for run in row.runs]


def _compare_scores(strata: list[list[float]]) -> tuple[str, ...]:
    """Return the cells of a policy; an interval requires several training runs on at least one id."""
    mean = interquartile_mean(strata)
    text = f"{mean:.2f}"
    if any(len(runs) > 1 for runs in strata):
        found = bootstrap_strata(strata)
        text = f"{mean:.2f} ({found.low:.2f} to {found.high:.2f})"
    better = probability_of_improvement(strata, [[1.0]] * len(strata))
    return (text, *(f"{share:.0%}" for share in performance_profile(strata, LEVELS)), f"{better:.0%}")


def _format_learned_score(row: LeaderboardRow, whole: Sequence[LeaderboardRow]) -> str:
    """Return the score of a learned agent, with its interval over training runs."""
    if row.score is None:
        return ""
    return str(bootstrap_strata([_score_runs(row, whole)], mean_of_all))


def _list_learned_agents(whole: Sequence[LeaderboardRow]) -> list[str]:
    """Return a table for each track with learned agents: their scores and costs."""
    lines = []
    for track, meaning in TRACKS.items():
        cells: dict[str, Cell] = {
            "agent": lambda row: row.policy,
            "score (95 %)": lambda row: _format_learned_score(row, whole),
            "return (95 %)": _format_return,
            "training runs": lambda row: str(len(row.runs)),
            "steps": lambda row: f"{row.training['steps']:,}",
            "minutes": lambda row: f"{row.training['seconds'] / 60:.1f}",
            "parameters": lambda row: f"{row.training['parameters']:,}",
            "command": lambda row: f"`{row.training['command']}`",
        }
        mine = [row for row in whole if row.training.get("track") == track]
        if mine:
            lines += [f"### Track: {track}, {meaning}", "", *_table(mine, cells), ""]
    return ["## Learned agents", "", *lines] if lines else []


def make_page(whole: Sequence[LeaderboardRow]) -> str:
    """Return the page in Markdown."""
    lines = [PAGE_HEAD.read_text(encoding="utf-8"), *_list_negative_results(whole), *_list_idle_ids(whole)]
    scores = make_score_table(whole)
    if scores.rows:
        aligned = _line(["---", *["---:"] * (len(scores.columns) - 1)])
        lines += [f"## {scores.title}", "", _line(scores.columns), aligned, *map(_line, scores.rows), ""]
    lines += _list_learned_agents(whole)
    for family, (title, own) in FAMILY_COLUMNS.items():
        mine = [row for row in whole if row.id.partition("/")[0] == family]
        if mine:
            lines += [f"## {title}", "", *_table(mine, COMMON_COLUMNS | own | SEASONS_COLUMN), ""]
    farms = {row.id for row in whole if row.id.startswith("farm/")}
    by_policy = {name: {row.id for row in whole if row.policy == name} for name in (BLIND, FORESIGHT)}
    absent = {"rows": set(ids()) - {row.id for row in whole}} | {
        f"a row of {name}": farms - having for name, having in by_policy.items() if having
    }
    lines += [f"Ids without {what} so far: {', '.join(sorted(lack))}.\n" for what, lack in absent.items() if lack]
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
