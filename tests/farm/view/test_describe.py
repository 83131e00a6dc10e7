"""Tables of a farm: the cost of every action, the price of every observation, and the rules that forbid actions."""

from __future__ import annotations

from typing import Any

import harvestgym
from harvestgym.core.view.tables import Table
from harvestgym.farm.family import describe


def tables(id: str, **changes: Any) -> dict[str, Table]:
    return {table.title: table for table in describe(harvestgym.make(id, **changes))}  # pyright: ignore[reportArgumentType]


def test_every_action_has_its_cost_and_every_observation_its_price() -> None:
    found = tables("farm/paid-looks-1x1-v0")
    actions = found["Actions (0 does nothing)"]
    assert [row[actions.columns.index("cost")] for row in actions.rows] == ["0.005", "0", "0.005"]
    assert {price for _, price in found["Observations on request"].rows} == {"0.003"}


def test_default_costs_and_further_rules_are_listed() -> None:
    cap = {"kind": "CostCap", "max_action_schedule_cost": 0.05}
    changes = {"rules": {"further": {"cap": cap}}, "scoring": {"intervention_cost": 0.0}}
    rows = {row[0]: row[1] for row in tables("farm/bean-1x1-v0", **changes)["Rules and reward"].rows}
    assert rows["score: intervention_cost"] == "0.0" and "0.05" in rows["rule cap"]
