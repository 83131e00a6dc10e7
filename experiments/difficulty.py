"""The table on docs/difficulty.md: what policies of several kinds earn on each id of the core suite.

python -m experiments.difficulty     # from the results of the adversary, the training runs and the leaderboard

It also searches the best constant action of each fishery in training seasons (`results/constant-actions.json`), and
plays it in the seasons in which the best known policies were chosen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.adversary import CHOICE_SEED
from experiments.leaderboard.store import BLIND, FORESIGHT, read_rows
from experiments.search.found import LEARNERS, read_choices
from experiments.test_side import RESULTS as ALL_RESULTS
from experiments.training.results import RESULTS, Store
from harvestgym.core.policy import constant_policy
from harvestgym.core.view.tables import Table
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, run_episodes
from harvestgym.evaluate.suite import format_lines, read_anchors, round_number
from harvestgym.registry import spec
from tools.docs_blocks import DOCS, body, put

CONSTANTS = ALL_RESULTS / "constant-actions.json"

KINDS = {
    "not observing": ("calendar", "constant"),
    "rules": ("thresholds", "relative", "tree"),
    "learned": ("linear", "network", *LEARNERS),
    "expert": ("expert",),
}
"""Columns, and the finds whose best return they show."""


def make_table(folder: Path = DOCS) -> Table:
    """Return the table; scores are 0 for doing nothing (foragers: a return of 0) and 1 for the best known policy."""
    planned = {(row.id, row.policy): row.mean for row in read_rows(folder) if row.policy in (BLIND, FORESIGHT)}
    chosen, constants, rows = read_choices(), json.loads(CONSTANTS.read_text(encoding="utf-8")), []
    for id in splits.list_suite():
        if id not in chosen:
            continue
        blind, foresight = (_score_on_test(id, planned.get((id, name))) for name in (BLIND, FORESIGHT))
        same = {"constant": constants[id]["mean"]} if id in constants else {}
        scores = _list_scores(id, chosen[id], same)
        scores["not observing"] += blind
        shown = [f"{max(values):z.2f}" if values else "" for values in [*scores.values(), foresight]]
        best = chosen[id]["form"]
        means = (f"{chosen[id][name][best]:.4g}" for name in ("training_returns", "worst_tenth"))
        rows.append((id.partition("/")[2], *shown, *means))
    return Table("Scores", ("id", *KINDS, "foresight", "best known", "worst tenth"), rows)


def _list_scores(id: str, choice: dict[str, Any], more: dict[str, float]) -> dict[str, list[float]]:
    """Return the scores in training seasons by column; `more` are the returns of other policies."""
    returns = choice["training_returns"] | more
    low, high = returns.get("none", 0.0), returns[choice["form"]]
    found = {
        column: [returns[name] for name in returns if name.partition("-")[0] in kind] for column, kind in KINDS.items()
    }
    for name in (*LEARNERS, "evolution"):
        if f"{name}-{choice['seed']}" not in returns:  # no find; its agents ran in other training seasons
            found["learned"] += [run["train"] for run in Store(RESULTS).read(id, name).values()]
    return {column: [(value - low) / (high - low) for value in values] for column, values in found.items()}


def _score_on_test(id: str, mean: float | None) -> list[float]:
    """Return the score of a mean return in test seasons, in a list; an empty one if there is none."""
    anchor = read_anchors()[id]
    nothing, best = anchor.nothing.mean(), anchor.best.mean()
    return [] if mean is None else [float((mean - nothing) / (best - nothing))]


def find_constant(id: str, points: int, seasons: int, last: int) -> dict[str, Any]:
    """Find the best constant action of a fishery in training seasons, on three grids that become finer.

    Args:
        id: the fishery.
        points: number of values for each part of the action on a grid.
        seasons: number of seasons in which each action is tried.
        last: number of other training seasons that evaluate the best one.
    """
    with splits.sealed():
        side = splits.split(id, "train")
        env = side.make()
        size, width = (env.action_space.shape or (1,))[0], 1.0

        def play(action: np.ndarray, count: int, seed: int) -> float:
            return float(run_episodes(env, constant_policy(action), count, seed, horizon(env)).returns.mean())

        best = np.zeros(size, np.float32)
        for _ in range(3):
            axes = [np.linspace(max(at - width, -1), min(at + width, 1), points, dtype=np.float32) for at in best]
            grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, size)
            best = grid[np.argmax([play(action, seasons, side.seed(0)) for action in grid])]
            width *= 2 / (points - 1)
        mean = play(best, last, side.seed(CHOICE_SEED))
    inside: Any = unwrapped(env)
    wanted = np.asarray(inside.units.wanted(best))
    return {"action": [round_number(value) for value in wanted], "mean": round_number(mean), "seasons": last}


def main() -> None:
    """Find the constant actions, and write the table into the page."""
    suite = splits.list_suite()
    fisheries = [id for id in suite if spec(id).family == "fishing"]
    found = {id: find_constant(id, points=13, seasons=100, last=suite[id].seasons) for id in fisheries}
    CONSTANTS.write_text(format_lines(found), encoding="utf-8")
    put("difficulty.md", "scores", body(make_table())[2:])


if __name__ == "__main__":
    main()
