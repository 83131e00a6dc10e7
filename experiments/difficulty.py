"""The table on docs/difficulty.md: what policies that use less information earn on each id of the core suite.

python -m experiments.difficulty     # from the results of the adversary, the suite's anchors and the leaderboard
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from experiments.leaderboard.store import FORESIGHT, read_rows
from experiments.search.found import read_choices
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import read_anchors
from tools.docs_blocks import DOCS, body, put

KINDS = {
    "calendar": ("calendar",),
    "seen now": ("thresholds",),
    "memory": ("relative", "tree"),
    "learned": ("linear", "network", "ppo"),
    "expert": ("expert",),
}
"""Columns, and the policies whose best return they show."""


def make_table(folder: Path = DOCS) -> Table:
    """Return the table; scores are 0 for nothing (foragers: a return of 0) and 1 for the best known policy."""
    foresight = {row.id: row.mean for row in read_rows(folder) if row.policy == FORESIGHT}
    rows = []
    for id, choice in _list_choices():
        *scores, best = _list_scores(choice)
        rows.append((id.partition("/")[2], *scores, _score_foresight(id, foresight), best))
    return Table("Scores", ("id", *KINDS, "worst tenth", "foresight", "best known"), rows)


def _list_choices() -> list[tuple[str, Mapping[str, Mapping[str, float]]]]:
    chosen = read_choices()
    return [(id, chosen[id]) for id in splits.list_suite() if id in chosen]


def _list_scores(choice: Mapping[str, Mapping[str, float]]) -> list[str]:
    returns, best = choice["training_returns"], str(choice["form"])
    low, high = returns.get("none", 0.0), returns[best]
    score = lambda value: f"{(value - low) / (high - low):.2f}"  # noqa: E731
    found = [[returns[name] for name in returns if name.partition("-")[0] in kind] for kind in KINDS.values()]
    worst = score(choice["worst_tenth"][best])
    return [
        *(score(max(values)) if values else "" for values in found),
        worst,
        f"{high:.4g} ({best.partition('-')[0]})",
    ]


def _score_foresight(id: str, foresight: Mapping[str, float]) -> str:
    if id not in foresight:
        return ""
    anchor = read_anchors()[id]
    nothing, best = anchor.nothing.mean(), anchor.best.mean()
    return f"{(foresight[id] - nothing) / (best - nothing):.2f}"


def main() -> None:
    """Write the table into the page."""
    put("difficulty.md", "scores", body(make_table())[2:])


if __name__ == "__main__":
    main()
