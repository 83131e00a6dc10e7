"""Put the results of the random rule searches into docs/heldout.md.

python -m experiments.make_scores    # after experiments.rule_search --out
"""

from __future__ import annotations

import json

from harvestgym.core.view.tables import Table
from tools.docs_blocks import DOCS, body, put

RESULTS = DOCS.parent / "experiments" / "results" / "rule-search.json"
COLUMNS = ("id", "best of 400 rules", "its return", "expert", "gain", "standard error")


def make_search_table() -> Table:
    """Return the table of the stored random searches, with a row for each id."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    rows = [(one["id"], one["rule"], f"{one['rule_mean']:.4g}", f"{one['expert_mean']:.4g}", f"{one['gain']:+.1%}",
             f"{one['error']:.1%}") for one in found]  # fmt: skip
    return Table("random search", COLUMNS, rows)


if __name__ == "__main__":
    put("heldout.md", "rule-search", body(make_search_table())[2:])
