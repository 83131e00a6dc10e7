"""Tables of a farm: the cost of every action, the price of every observation, and the rules that forbid actions."""

from __future__ import annotations

from typing import Any

import harvestgym
from harvestgym.core.view.tables import Table
from harvestgym.farm.build.compile import build
from harvestgym.farm.family import describe
from harvestgym.farm.schema import farm_spec
from harvestgym.farm.view.describe import context_table, rules_table


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


def test_defaults_of_the_score_are_marked() -> None:
    env = farm_spec({"fields": harvestgym.make("farm/bean-1x1-v0").spec.model_dump(by_alias=True)["fields"]}, "mine")
    rows = {row[0]: row[1:] for row in rules_table(build(env)).rows}
    assert rows["score: stage (default)"] == ("1.0", "points when a plant moves to its next stage")
    assert {"score: intervention_cost (default)", "score: yield (default)"} <= set(rows) and "score: stage" not in rows
    known = {row[0] for row in tables("farm/bean-1x1-v0")["Rules and reward"].rows}
    assert {"score: stage", "score: intervention_cost", "expert: 2 watering_discrete: amount#L"} <= known


def test_a_soil_says_how_much_water_and_nitrogen_a_plot_holds() -> None:
    """Clay of 0.5 m holds 360 and 220 L/m3 at field capacity and at the wilting point."""
    rows = {row[1]: row[3] for row in tables("farm/bean-1x1-v0")["Entities"].rows}
    water = "A plot holds 180 L at field capacity, 110 L when wilting"
    assert rows["Soil-0"].endswith(f"{water}, and starts with 12 to 20 g/m2 of nitrogen.")


def test_the_entries_of_a_context_are_numbered_to_the_end_of_the_observation() -> None:
    env: Any = harvestgym.make("farm/contexts-1x1-v0")
    numbers = [
        int(part.split()[0]) for row in context_table(env).rows for part in row[2].split(", ") if part[0].isdigit()
    ]
    assert numbers == list(range(len(env.plan.labels), env.observation_space.shape[0]))
