"""The tables of docs/reality-years.md, from the results of `years`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harvestgym.core.view.tables import Table
from tools.docs_blocks import DOCS as DOCS
from tools.docs_blocks import body, put

PAGE = "reality-years.md"
PLACES = {"maricopa": "Maricopa, 2012 to 2020", "lirf": "LIRF, 2022 and 2023"}
COLUMNS = (
    "id", "nothing", "expert", "tuned there", "expert / tuned there", "worst tenth", "travelling / tuned there",
    "worst tenth",
)  # fmt: skip
AIM = 0.9
"""The share of the return of the rule tuned on a place that a travelling rule should earn."""

NONE = "–"


def write(results: Path) -> None:
    """Write the table of each place into the page."""
    found = json.loads(results.read_text(encoding="utf-8"))["ids"]
    for name, title in PLACES.items():
        put(PAGE, name, body(make_table(title, {id: one["places"][name] for id, one in found.items()})))


def make_table(title: str, found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make the table of a place, with a row for each id; an id with the aim reached has a `*`."""
    return Table(title, COLUMNS, [_make_row(id, rules) for id, rules in found.items()])


def count_reached(found: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the ids whose travelling rule reaches the aim."""
    return sum(reaches_aim(rules) for rules in found.values())


def reaches_aim(rules: Mapping[str, Any]) -> bool:
    """Return whether the travelling rule earns the share of the rule tuned on the place, which must earn something."""
    ratio = rules["travelling"]["of own"]["mean"] if "travelling" in rules else None
    return ratio is not None and ratio["value"] >= AIM


def _make_row(id: str, rules: Mapping[str, Any]) -> tuple[str, ...]:
    means = (f"{rules[name]['mean']:.3g}" for name in ("none", "expert", "own"))
    ratios = [_show_ratios(rules[name]["of own"]) if name in rules else ("", "") for name in ("expert", "travelling")]
    (mean, worst), (travelling, worst_travelling) = ratios
    return (id, *means, mean, worst, travelling + " *" * reaches_aim(rules), worst_travelling)


def _show_ratios(ratios: Mapping[str, Mapping[str, float] | None]) -> list[str]:
    return [NONE if one is None else _show_ratio(one) for one in (ratios["mean"], ratios["worst tenth"])]


def _show_ratio(ratio: Mapping[str, float]) -> str:
    value, low, high = (f"{ratio[end]:.{2 * (abs(ratio[end]) < 10)}f}" for end in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
