"""Sentences about seasons, from the counts of their orders, of the expert's turns, and of what limited growth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym.cli import app
from harvestgym.core.rollout import Episodes
from harvestgym.evaluate.run import evaluate_id
from harvestgym.farm.entities.plant.state import GROWTH_FACTORS
from harvestgym.farm.family import explain, summary, watch
from harvestgym.farm.policies.expert_rules import ExpertMemory
from harvestgym.farm.view.words import say_cause
from tests.long_form import long

BEAN = "farm/bean-1x1-v0"
CAP = {"kind": "CostCap", "max_action_schedule_cost": 0.05}
CAPPED: dict[str, Any] = {"rules": {"further": {"cap": CAP}}, "scoring": {"intervention_costs": {}}}


@pytest.fixture(scope="module")
def env() -> Any:
    return harvestgym.make(BEAN, **CAPPED)


def seasons(**counts: Any) -> Episodes:
    """Return two seasons of 50 days with these counts."""
    info = {"day": np.asarray([50, 50])}
    arrays = {name.replace("limits", "Field-0/Plant-0/limiting_factor"): np.asarray(c) for name, c in counts.items()}
    return Episodes(*np.zeros((4, 2)), info=info, counts=arrays)  # pyright: ignore[reportArgumentType]


def test_orders_are_counted_by_outcome(env: Any) -> None:
    """Nothing on 90 days, two with and one without an effect, four refused by the cap and three by the farmer."""
    found = seasons(orders=[[40, 2, 1, 4, 3], [50, 0, 0, 0, 0]])
    assert {name: list(values) for name, values in summary(env, found).items()} == {
        "orders given": [10, 0], "orders refused": [7, 0], "orders without effect": [1, 0],
    }  # fmt: skip
    assert explain(env, found) == [
        "4 of 10 orders were refused by cap: the orders of a day may cost at most 0.05",
        "3 of 10 orders were refused by BasicFarmer-0: the farmer's daily limit is 1",
    ]


def test_a_policy_whose_every_order_is_refused_has_a_note(env: Any) -> None:
    (note,) = explain(env, seasons(orders=[[40, 0, 0, 10, 0], [40, 0, 0, 10, 0]]))
    assert note.startswith(
        "every order was refused by cap: the orders of a day may cost at most 0.05; an order costs 0"
    )


def test_rules_that_never_act_or_take_every_turn_are_named(env: Any) -> None:
    assert explain(env, seasons(orders=np.zeros((2, 5)), turns=[[50, 0, 3], [50, 0, 0]], left=np.zeros((2, 3)))) == [
        "rule 1 of the expert (Plant-0.harvest) gave the only order of every day",
        "rule 2 of the expert (Soil-0.watering_discrete) never acted",
    ]


def test_orders_that_do_not_fit_in_a_day_have_a_note() -> None:
    """`plot: each` on four plots with a schedule of one order a day, although the farmer may give 32."""
    pour = {"do": "Soil-0.watering_discrete", "plot": "each", "amount#L": 5}
    of: dict[str, Any] = {
        "fields": {"Field-0": {"shape": {"length#nb": 2, "width#nb": 2}}}, "expert": [pour | {"duration#min": 60}],
        "farmers": [{"kind": "BasicFarmer", "max_daily_interventions": 32}],
    }  # fmt: skip
    rules = [{"horizon#day": 20, "max_action_schedule_size": most} for most in (1, 4)]
    one, four = (evaluate_id(BEAN, "expert", 1, env=harvestgym.make(BEAN, **of, rules=given)) for given in rules)
    (note,) = [note for note in one.notes if "on the day they were due" in note]
    assert note.startswith("rule 1 of the expert (Soil-0.watering_discrete) did not give ")
    assert note.endswith("a day takes 1 of the orders (rules > max_action_schedule_size)")
    assert not any("on the day they were due" in note for note in four.notes)
    assert four.columns["orders given"] > one.columns["orders given"]


def test_limits_of_growth_are_shares(env: Any) -> None:
    limits = np.zeros((2, len(GROWTH_FACTORS)), int)
    limits[:, 0], limits[0, GROWTH_FACTORS.index("water")], limits[1, GROWTH_FACTORS.index("N")] = 30, 6, 2
    assert explain(env, seasons(orders=np.zeros((2, 5)), limits=limits)) == [
        "Bean: growth was slowed on 12 % of the days, mainly by too little water (75 %), too little nitrogen (25 %)"
    ]


def test_crowding_that_no_order_can_change_is_no_cause(env: Any) -> None:
    limits = np.zeros((1, len(GROWTH_FACTORS)), int)
    limits[0, GROWTH_FACTORS.index("crowding")] = 9
    assert explain(env, seasons(orders=np.zeros((1, 5)), limits=limits)) == []
    limits[0, GROWTH_FACTORS.index("water")] = 1
    (note,) = explain(env, seasons(orders=np.zeros((1, 5)), limits=limits))
    assert note.endswith("slowed on 10 % of the days (not counting crowding), mainly by too little water (100 %)")


def test_more_seasons_than_recorded_years_and_a_warmer_climate_have_a_note(env: Any) -> None:
    five = seasons(orders=np.zeros((2, 5)))._replace(length=np.zeros(5))  # pyright: ignore[reportArgumentType]
    replay = "5 seasons replay 4 recorded years: the interval says nothing about other years"
    assert explain(env, five) == [replay]
    for weather, notes in (("lille", []), ("dry", []), ({"extends": "seattle", "years": [2012, 2014]}, ["5 seasons "])):
        found = explain(harvestgym.make(BEAN, **CAPPED, entities={"Weather-0": weather}), five)
        assert [note[:10] for note in found] == notes
    warmer = harvestgym.make(BEAN, **CAPPED, entities={"Weather-0/warming#°C": 2})
    assert explain(warmer, five) == [
        replay,
        "yields in a warmer climate are probably too high (docs/crops.md, Limits of the model)",
    ]


def test_a_plant_without_fruit_died_when_ripe() -> None:
    assert say_cause("ripe: no fruit left") == "no fruit to harvest when ripe"


def test_seasons_that_were_not_counted_have_no_notes(env: Any) -> None:
    assert explain(env, seasons()) == [] and summary(env, seasons()) == {}
    assert ExpertMemory(*np.zeros((4, 1))).report() == {"turns": 0, "left": 0}  # pyright: ignore[reportArgumentType]


@long
def test_run_and_check_explain_a_farm_on_which_nothing_is_allowed(tmp_path: Path) -> None:
    """The default cost of an order is 1, which the cap does not allow."""
    found = evaluate_id(
        BEAN, "expert", 4, env=harvestgym.make(BEAN, **CAPPED | {"scoring": {"intervention_cost": 1.0}})
    )
    given, refused = (found.columns[f"orders {name}"] for name in ("given", "refused"))
    assert (given > 0).all() and (refused >= given - 1).all(), "only the harvest is free"
    assert any("refused by cap: the orders of a day may cost at most 0.05; an order costs" in n for n in found.notes)
    path = tmp_path / "capped.yaml"
    base = Path(harvestgym.__file__).parent / "farm" / "catalogue" / "bean-1x1-v0.yaml"
    for name in ("one-plot.yaml", base.name):
        (tmp_path / name).write_text(base.with_name(name).read_text(encoding="utf-8"), encoding="utf-8")
    path.write_text(f"extends: bean-1x1-v0\nrules: {{further: {{cap: {CAP}}}}}\nscoring: {{intervention_cost: 1}}\n")
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 0 and "expert: " in result.output and "refused by cap" in result.output


@long
def test_check_names_stopping_conditions_that_never_hold(tmp_path: Path) -> None:
    """Also the parts of one; a condition that holds is not named, and the seasons end as without the check."""
    path = tmp_path / "mine.yaml"
    never = "Plant-0.stage == ripe and Weather-0.day > 365"
    path.write_text(
        f"extends: {BEAN}\nrules:\n  terminal_conditions: [{never}, Soil-0.available_Water > 5000, Plant-0.size > 1]\n"
    )
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 0, result.output
    notes = [line.partition("`")[2] for line in result.output.splitlines() if "stopping condition" in line]
    assert notes == [
        f"{text}` never held in 10 seasons"
        for text in (
            "Plant-0.stage == ripe and Weather-0.day#int365 > 365", "Soil-0.available_Water#L > 5000",
            "Plant-0.stage == ripe", "Weather-0.day#int365 > 365",
        )
    ]  # fmt: skip
    mine: Any = harvestgym.make(str(path))
    watched, plain = (evaluate_id(BEAN, "expert", 2, env=env) for env in (watch(mine), mine))
    assert watched.lengths.tolist() == plain.lengths.tolist() and watch(mine) != mine
