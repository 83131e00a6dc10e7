"""The table on docs/difficulty.md: what policies of several kinds earn on each id of the core suite.

python -m experiments.difficulty     # from the results of the adversary, the training runs and the leaderboard
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.leaderboard.store import BLIND, FORESIGHT, read_rows
from experiments.search.found import LEARNERS, read_choices
from experiments.training.results import RESULTS, Store
from harvestgym.core.view.tables import Table
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import read_anchors
from tools.docs_blocks import DOCS, body, put

KINDS = {
    "not observing": ("calendar",),
    "rules": ("thresholds", "relative", "tree"),
    "learned": ("linear", "network", *LEARNERS),
    "expert": ("expert",),
}
"""Columns, and the finds whose best return they show."""


def make_table(folder: Path = DOCS) -> Table:
    """Return the table; scores are 0 for doing nothing (foragers: a return of 0) and 1 for the best known policy."""
    planned = {(row.id, row.policy): row.mean for row in read_rows(folder) if row.policy in (BLIND, FORESIGHT)}
    chosen, rows = read_choices(), []
    for id in splits.list_suite():
        if id not in chosen:
            continue
        blind, foresight = (_score_on_test(id, planned.get((id, name))) for name in (BLIND, FORESIGHT))
        scores = _list_scores(id, chosen[id])
        scores["not observing"] += blind
        shown = [f"{max(values):z.2f}" if values else "" for values in [*scores.values(), foresight]]
        best = chosen[id]["form"]
        means = (f"{chosen[id][name][best]:.4g}" for name in ("training_returns", "worst_tenth"))
        rows.append((id.partition("/")[2], *shown, *means))
    return Table("Scores", ("id", *KINDS, "foresight", "best known", "worst tenth"), rows)


def _list_scores(id: str, choice: dict[str, Any]) -> dict[str, list[float]]:
    """Return the scores in training seasons by column."""
    returns = choice["training_returns"]
    low, high = returns.get("none", 0.0), returns[choice["form"]]
    found = {
        column: [returns[name] for name in returns if name.partition("-")[0] in kind] for column, kind in KINDS.items()
    }
    for name in LEARNERS:
        if f"{name}-{choice['seed']}" not in returns:  # no find; its agents ran in other training seasons
            found["learned"] += [run["train"] for run in Store(RESULTS).read(id, name).values()]
    return {column: [(value - low) / (high - low) for value in values] for column, values in found.items()}


def _score_on_test(id: str, mean: float | None) -> list[float]:
    """Return the score of a mean return in test seasons, in a list; an empty one if there is none."""
    anchor = read_anchors()[id]
    nothing, best = anchor.nothing.mean(), anchor.best.mean()
    return [] if mean is None else [float((mean - nothing) / (best - nothing))]


def main() -> None:
    """Write the table into the page."""
    put("difficulty.md", "scores", body(make_table())[2:])


if __name__ == "__main__":
    main()
