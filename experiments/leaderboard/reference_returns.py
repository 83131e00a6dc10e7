"""Extract the reference points from the leaderboard: `python -m experiments.leaderboard.reference_returns`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harvestgym.evaluate.score import REFERENCE_RETURNS, ReferenceReturn

from .store import LAST, ORDER, LeaderboardRow, read_rows

DOCS = Path(__file__).parents[2] / "docs"


def make_text(rows: Sequence[LeaderboardRow]) -> str:
    """Return the text of the package's file: one line per id, with the rows that are not agents."""
    points: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.policy in (*ORDER, *LAST):
            point = {name: getattr(row, name) for name in ReferenceReturn._fields}
            points.setdefault(row.id, {})[row.policy] = point
    return "{\n" + ",\n".join(f" {json.dumps(id)}: {json.dumps(of_id)}" for id, of_id in points.items()) + "\n}\n"


if __name__ == "__main__":
    REFERENCE_RETURNS.write_text(make_text(read_rows(DOCS)), encoding="utf-8")
    print(f"wrote {REFERENCE_RETURNS}")
