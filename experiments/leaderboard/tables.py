"""Write TABLES.md: the scores on the core suite with their intervals, and the returns of every policy on every id.

python -m experiments.leaderboard.tables
"""

from __future__ import annotations

from pathlib import Path

from harvestgym.core.view.tables import Table
from tools.docs_blocks import DOCS

from .page import format_score, list_lines, make_score_table, make_table, read_results
from .store import read_rows

FILE = Path(__file__).with_name("TABLES.md")

HEAD = """# Leaderboard: tables

The details behind the leaderboard of the site; `python -m experiments.leaderboard.tables` writes them from
`docs/leaderboard.json` and the result files. Returns are in the unit of the id's reward, yields in kg and water in L;
CVaR is the mean of the worst tenth of the seasons, IQM the mean of the middle half.
"""


def make_page() -> str:
    """Return the page in Markdown."""
    scores = make_score_table(read_results(), format_score)
    names = [row[0].partition("]")[0].removeprefix("[") for row in scores.rows]
    plain = Table("", scores.columns, [(name, *row[1:]) for name, row in zip(names, scores.rows, strict=True)])
    lines = [HEAD, "## Scores on the suite, with 95 % intervals", "", *list_lines(plain), ""]
    return "\n".join([*lines, "## Returns on all ids", "", *list_lines(make_table(read_rows(DOCS))), ""])


if __name__ == "__main__":
    FILE.write_text(make_page(), encoding="utf-8")
