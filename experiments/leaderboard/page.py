"""The leaderboard page: the core suite with its anchors, and the scores of every result file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from experiments.observation_costs import OBSERVATION_COST
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.statistics import ConfidenceInterval, format_mean
from harvestgym.evaluate.suite import RETURN, SuiteResult, read_anchors

from .store import FORESIGHT, HIGH_BY_YEAR, IQM, LOW_BY_YEAR, TRIED, YEARS, LeaderboardRow

PAGE = "leaderboard.md"

PAGE_HEAD, PAGE_END = (Path(__file__).with_name(f"page_{part}.md") for part in ("head", "end"))
"""The texts above and below the tables."""

RESULTS = Path(__file__).parents[1] / "results" / "suite"
"""The result files of `harvestgym suite --out`, one for each policy of the page."""

SCORES = """A score is 0 for doing nothing (for a forager: a return of 0) and 1 for the best known policy, in the same
seasons. A policy that breaks a limit of an id scores at most 0. After ± stands half of the 95 % interval, by bootstrap
over weather years, seasons and the seeds of trained agents. Trained agents are means of five seeds; an empty cell: not
trained on this id. The [tables](../experiments/leaderboard/TABLES.md) have the intervals, and the returns on all 50
ids."""

RETURNS = """Mean returns over the test seasons. Their unit is that of the id's reward: on [farms](farm.md#rewards),
weighted kilograms and stages minus costs; in [fisheries](fishing.md), mostly the catch; for [foragers](forager.md), the
sum of what the food pays."""

Cell = Callable[[LeaderboardRow], str]


def write_page(folder: Path, whole: Sequence[LeaderboardRow]) -> Path:
    """Write the page into a folder; return its path."""
    path = folder / PAGE
    path.write_text(make_page(whole, read_results()), encoding="utf-8")
    return path


def read_suite_result(path: Path) -> SuiteResult:
    """Read a file of `SuiteResult.write`; raise ConfigError if its test side is not that of this version."""
    data = json.loads(path.read_text(encoding="utf-8"))
    if data["digest"] != splits.digest():
        raise ConfigError(f"{path}: expected results on the test side {splits.digest()}, got {data['digest']}")
    suite = {id: (RETURN, *item.limits) for id, item in splits.list_suite().items() if id in data}
    played = {id: {name: np.asarray(data[id][name]) for name in names} for id, names in suite.items()}
    return SuiteResult(data["policy"], data["version"], data["digest"], played, data["failures"])


def read_results() -> list[SuiteResult]:
    """Read the result files."""
    return [read_suite_result(file) for file in sorted(RESULTS.glob("*.json"))]


def make_page(whole: Sequence[LeaderboardRow], results: Sequence[SuiteResult]) -> str:
    """Return the page in Markdown, from the rows of all ids and the results on the core suite."""
    head, end = (file.read_text(encoding="utf-8") for file in (PAGE_HEAD, PAGE_END))
    tables = (
        ("## Scores", SCORES, make_score_table(results, format_error)),
        ("## The suite", RETURNS, make_suite_table(whole)),
    )
    body = [line for title, text, table in tables for line in (title, "", text, "", *list_lines(table), "")]
    return "\n".join([head, *body, end.replace("DIGEST", splits.digest())])


def make_suite_table(whole: Sequence[LeaderboardRow]) -> Table:
    """Make the table of the suite's ids: what each tests, and the mean returns between which scores are computed."""
    foresight = {row.id: row for row in whole if row.policy == FORESIGHT}
    rows = []
    for id, item in splits.list_suite().items():
        anchor = read_anchors()[id]
        nothing, expert, best = (f"{mean:z.4g}" for mean in (anchor.nothing.mean(), anchor.expert, anchor.best.mean()))
        above = f"{foresight[id].mean:z.4g}" if id in foresight else ""
        rows.append((link_id(id), item.tests, nothing, expert, f"{best} ({anchor.policy})", above))
    columns = ("id", "tests", "nothing", "expert", "best known", "foresight")
    return Table("The suite", columns, rows)


def format_score(score: ConfidenceInterval | None) -> str:
    """Format a score with its interval, with two digits; None is empty."""
    return "" if score is None else f"{score.value:z.2f} ({score.low:z.2f} to {score.high:z.2f})"


def format_error(score: ConfidenceInterval | None) -> str:
    """Format a score with half the width of its interval; None is empty."""
    return "" if score is None else f"{score.value:z.2f}±{(score.high - score.low) / 2:.2f}"


def make_score_table(
    results: Sequence[SuiteResult], say: Callable[[ConfidenceInterval | None], str] = format_score
) -> Table:
    """Make the table of scores with a column for each policy, the best total first; `say` formats a score."""
    ordered = sorted(results, key=lambda result: -(result.total.value if result.total else float("-inf")))
    scores = [result.scores for result in ordered]
    rows = [(link_id(id), *(say(of.get(id)) for of in scores)) for id in splits.list_suite()]
    totals = ("interquartile mean", *(say(result.total) for result in ordered))
    return Table("Scores", ("id", *(result.policy.partition(",")[0] for result in ordered)), [*rows, totals])


def link_id(id: str) -> str:
    """Return a link to the page of an id."""
    return f"[{id}]({id}.md)"


def list_lines(table: Table) -> list[str]:
    """Return a table as lines of Markdown, with numbers aligned to the right."""
    right = [all(cell[:1] in "-0123456789" for cell in column) for column in zip(*table.rows, strict=True)]
    rows = [table.columns, ["---:" if numbers else "---" for numbers in right], *table.rows]
    return [f"| {' | '.join(row)} |" for row in rows]


# The table that the command prints.


def _format_column(name: str, digits: int) -> Cell:
    return lambda row: f"{row.columns[name]:z.{digits}f}" if name in row.columns else ""


def _format_years(row: LeaderboardRow) -> str:
    if YEARS not in row.columns:
        return ""
    return f"{row.columns[LOW_BY_YEAR]:z.2f} to {row.columns[HIGH_BY_YEAR]:z.2f} ({row.columns[YEARS]:.0f} years)"


def _format_seasons(row: LeaderboardRow) -> str:
    return f"{row.seasons}, best of {row.columns[TRIED]:,.0f}" if TRIED in row.columns else f"{row.seasons}"


COLUMNS: dict[str, Cell] = {
    "id": lambda row: row.id,
    "policy": lambda row: row.policy,
    "return (95 %)": lambda row: format_mean(row.mean, row.low, row.high),
    "CVaR 10 %": lambda row: "" if row.cvar10 is None else f"{row.cvar10:z.3f}",
    "IQM": _format_column(IQM, 3),
    "yield, kg": _format_column("yield kg", 2),
    "water, L": _format_column("water used L", 0),
    "observations": _format_column(OBSERVATION_COST, 2),
    "95 % by years": _format_years,
    "score": lambda row: "" if row.score is None else f"{row.score:z.2f}",
    "seasons": _format_seasons,
}


def make_table(whole: Sequence[LeaderboardRow]) -> Table:
    """Make a table of rows of any ids."""
    return Table("leaderboard", tuple(COLUMNS), [tuple(cell(row) for cell in COLUMNS.values()) for row in whole])
