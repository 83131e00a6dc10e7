"""Farm-Gym's files are read as they are: what is kept, what changes, what is lost, and what is an error."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.farm import Farm, NotConverted
from harvestgym.farm.paper.farm_gym.folder import find_farm_file, read_any_farm, read_farm_gym
from harvestgym.farm.spelling import Interval
from tests.farm.paper.farm_gym.folders import ACTIONS, FARM, INIT, SCORE, SIDE_FILES, write_folder

FREE = "plain_actions.yaml > observations > Free > Field-0"
MINE = "plain_actions.yaml > observations > BasicFarmer-0 > Field-0"
ACTS = "plain_actions.yaml > interventions > BasicFarmer-0 > Field-0"

LOST = f"""
plain.yaml > Farm > Field-0 > entities > 0: lille3 becomes lille here, without its 60 % of constant rain
plain.yaml > author: has no counterpart here
plain_init.yaml > Terminal > 2 > 0: cannot be computed; Farm-Gym counts it as true
plain_init.yaml > Terminal > 3 > 0: cannot be computed; Farm-Gym counts it as true
plain_init.yaml > Initial > Field-0 > Soil-0 > depth#m: has no counterpart here
{FREE} > Weather-0 > clouds#%: is sun_exposure#int5 here
{FREE} > Weather-0 > forecast > humidity#%: has no counterpart here for single days
{FREE} > Weather-0 > forecast > clouds#%: has no counterpart here
{MINE} > Bees-0: there is no such entity on the farm
{MINE} > Soil-0 > amount_cide#g > pests: has no counterpart here
{MINE} > Soil-0 > amount_cide#g > weeds: has no counterpart here
plain_actions.yaml > observations > Nobody-0: there is no such farmer on the farm
{ACTS} > Plant-0 > prune: has no counterpart here
{ACTS} > Cide-0 > scatter > amount#kg: only 0 to 0.02 exist here
plain_score.yaml > reward-mix > weight_biodiversitycounts: has no counterpart here
""".strip().splitlines()


def test_a_folder_is_read_as_it_is_and_each_loss_is_a_warning(tmp_path: Path) -> None:
    path = write_folder(tmp_path, **SIDE_FILES)
    with pytest.warns(NotConverted) as reported:
        spec = read_any_farm(path)
    said = [str(warning.message) for warning in reported]
    assert len(said) == len(LOST) == len(set(said))
    for loss in LOST:
        assert [line for line in said if line.startswith(f"{tmp_path}/{loss}")], (loss, said)
    assert spec.mode == "po" and dict(spec.farmers[0].model_extra or {}) == {
        "max_daily_interventions": 2, "max_daily_observations": 3,
    }  # fmt: skip
    rules, init = spec.rules, spec.rules.init["Field-0"]
    assert init["Weather-0"] == {"year#nb": [2], "day#int365": [100]}
    assert set(init["Soil-0"]) == {"available_Water#L"}
    assert init["Plant-0"] == {"stage": ["grow"], "population#nb": [1]}
    assert rules.terminal_conditions == [
        "Field-0.Weather-0.day#int365 >= 301",
        "Field-0.Plant-0.global_stage in [harvested, ripe] and sum(Field-0.Plant-0.harvest_weight#kg) > 1",
        "mean(Field-0.Plant-0.size#cm) >= 40",
    ]
    assert rules.horizon == 365 and rules.max_action_schedule_size == 2
    assert rules.free_observations == [
        f"Field-0.{name}"
        for name in ("Weather-0.day#int365", "Weather-0.sun_exposure#int5", "Weather-0.rain/amount#mm",
                     "Weather-0.forecast/humidity_index#%", "Plant-0.stage", "Plant-0.stage[1, 0]")
    ]  # fmt: skip
    assert rules.interventions == {"Field-0": {
        "Soil-0": {"watering_discrete": {"plot": ["(0, 0)", "(1, 0)"], "amount#L": [0, 6, 12], "duration#min": [30]}},
        "Plant-0": {"harvest": None},
        "Cide-0": {"scatter": {"plot": ["(1, 0)"], "amount#kg": Interval(low=0, high=0.02)}},
    }}  # fmt: skip
    score = spec.scoring
    assert (score.stage, score.harvest, score.resource, score.observation_cost) == (0.003, 1.0, 0.001, 0.001)
    assert score.intervention_costs == {
        "Field-0": {"Soil-0": {"watering_discrete": 0.005}, "Plant-0": {"harvest": 0.001}}
    }
    assert score.observation_costs == {
        "Field-0": {"Weather-0": {"day#int365": 0.001, "sun_exposure#int5": 0.002, "wind": 0.001}}
    }


def test_without_its_side_files_it_is_what_farm_gym_generates(tmp_path: Path) -> None:
    data, report = read_farm_gym(write_folder(tmp_path, FARM.replace("lille3", "lille").replace("author: me\n", "")))
    assert report.lost == [f"{ACTS} > Cide-0 > scatter > amount#kg: only 0 to 0.02 exist here"]
    rules = data["rules"]
    assert rules["init"]["Field-0"]["Weather-0"] == {"day#int365": 1}, "day 0 there"
    assert rules["init"]["Field-0"]["Soil-0"]["available_Water#L"] == 1.0
    assert rules["init"]["Field-0"]["Plant-0"] == {"stage": "none"}, "nothing is sown"
    assert rules["terminal_conditions"] == [
        "Field-0.Weather-0.day#int365 >= 361",
        "Field-0.Plant-0.global_stage == dead",
    ]
    assert rules["free_observations"] == ["Field-0.Weather-0.day#int365", "Field-0.Weather-0.air_temperature"]
    assert "observations" not in rules, "all of them"
    assert rules["interventions"]["Field-0"]["Soil-0"]["watering_discrete"]["amount#L"] == [*range(16)]
    assert (data["scoring"]["stage"], data["scoring"]["yield"]) == (0.001, 1)


def test_lists_of_values_are_drawn_for_each_plot(tmp_path: Path) -> None:
    init = read_farm_gym(write_folder(tmp_path, **SIDE_FILES))[0]["rules"]["init"]["Field-0"]
    assert init["Soil-0"]["available_Water#L"] == {"each": [100.0, 150.0]}


def test_a_game_that_ends_on_no_day_ends_after_a_year(tmp_path: Path) -> None:
    ends = INIT.partition("Terminal")[0] + "Terminal: []\n"
    _, report = read_farm_gym(write_folder(tmp_path, init=ends))
    assert "plain_init.yaml > Terminal: an episode without an end is truncated after 365 days here" in report.lost


def test_larger_weights_and_a_harvest_paid_every_day(tmp_path: Path) -> None:
    mix = "reward-mix: {weight_harvest: 1, weight_stagetransition: 4}\nfinal-reward-mix: {weight_harvest: 2}\n"
    data, report = read_farm_gym(write_folder(tmp_path, score=mix))
    assert data["scoring"]["yield"] == 1 and data["scoring"]["stage"] == 4 / 2000
    assert data["scoring"]["terms"] == {"harvest_today": {"kind": "Tally", "prices": {"harvest#kg": 0.5}}}
    assert "a harvest is rewarded once" in report.lost[-1]


def test_a_weather_table_next_to_the_farm_is_its_weather(tmp_path: Path) -> None:
    (tmp_path / "weather_data").mkdir()
    text = "Tmin,Tmax,T,RH,U,Rain\n" + "10,20,15,60,2,1.5\n" * 365
    (tmp_path / "weather_data" / "valley.csv").write_text(text, encoding="utf-8")
    path = write_folder(tmp_path, FARM.replace("lille3", "valley"))
    with pytest.warns(NotConverted):
        entity = read_any_farm(path).fields["Field-0"].entities[0]
    assert entity == ("Weather", {"table": str(tmp_path / "weather_data" / "valley.csv")})


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"farm": FARM.replace("POMDP", "FOMDP")}, "interaction_mode: expected 'POMDP' or 'AOMDP', got 'FOMDP'"),
    ({"farm": FARM.replace("score: score.yaml\n", "")}, "plain.yaml: 1 mistake\n  score: expected a value"),
    ({"farm": FARM.replace("actions.yaml", "../actions.yaml")}, "actions: expected to match pattern"),
    ({"farm": FARM.replace("Soil: clay", "Soil: caly")}, "expected a known name, got 'caly'; try 'clay'"),
    ({"farm": FARM.replace("Plant: bean", "Plants: bean")}, "Farm: entities: expected a known entity, got 'Plants'"),
    ({"farm": FARM.replace("length#nb: 2", "length#nb: two")}, "shape > length#nb: expected a number, without quotes"),
    ({"farm": FARM.replace("max_daily_observations: 3", "x: 3")}, "max_daily_observations: expected a value"),
    ({"farm": FARM.replace("type: basic", "type: robot")}, "type: expected 'basic', got 'robot'"),
    ({"init": INIT.replace("Initial:", "Start:")}, "plain_init.yaml: 1 mistake\n  Initial: expected a value"),
    ({"init": INIT.replace("Plant-0:", "Plant-1:")}, "Initial > Field-0: expected a known entity, got 'Plant-1'"),
    ({"init": INIT.replace("day#int365: 99", "day#int365: '(3, 9)'")}, "day#int365: expected a day from 0 to 364"),
    ({"init": INIT.replace('"mean"', '"max"')}, "Terminal > 4 > 0 > function: expected 'value', 'sum' or"),
    ({"init": INIT.replace('">", ref_value: 1', '"=>", ref_value: 1')}, "Terminal > 1 > 1 > operator: expected '=='"),
    ({"init": INIT.replace(", ref_value: 40", "")}, "Terminal > 4 > 0 > ref_value: expected a value"),
    ({"actions": ACTIONS.replace("  max_action_schedule_size: 2\n", "")}, "max_action_schedule_size: expected a value"),
    ({"actions": ACTIONS.replace("interventions:", "orders:")}, "interventions: expected a value, got nothing"),
    ({"actions": ACTIONS.replace("amount#kg: (0, 10)", "amount#kg: (0)")}, "scatter > amount#kg: expected an interval"),
    ({"score": SCORE.replace("harvest: 1, ", "harvest: much, ")}, "Plant-0 > harvest: expected a number, without"),
    ({"score": SCORE.replace("harvest: 1.", "harvest: yes")}, "weight_harvest: expected a number, not yes/no"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "says"), MISTAKES, ids=lambda case: case[:40] if isinstance(case, str) else "")
def test_mistakes_are_errors_with_their_path(tmp_path: Path, files: dict[str, str], says: str) -> None:
    path = write_folder(tmp_path, **{**SIDE_FILES, **files})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConverted)
        with pytest.raises(ConfigError, match=re.escape(says)):
            read_any_farm(path)


def test_a_folder_with_several_farms_asks_which(tmp_path: Path) -> None:
    path = write_folder(tmp_path, **SIDE_FILES)
    assert find_farm_file(tmp_path) == find_farm_file(path) == path
    (tmp_path / "other.yaml").write_text(FARM, encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"expected one farm file of Farm-Gym, with a key Farm, got 2; try one of .*other"
    ):
        find_farm_file(tmp_path)
    with pytest.raises(ConfigError, match="expected a folder or a farm file of Farm-Gym, with a key Farm, got neither"):
        find_farm_file(tmp_path / "plain_init.yaml")


def test_it_is_made_and_played_wherever_a_farm_is(tmp_path: Path) -> None:
    """One plot, in the structure of other tests, so that it compiles once."""
    text = (
        FARM.replace("length#nb: 2", "length#nb: 1").replace("lille3", "lille").replace("      - Cide: pesticide\n", "")
    )
    path = write_folder(tmp_path, text.replace("author: me\n", ""))
    env = harvestgym.make(str(path), mode="ao")
    assert env.spec.mode == "ao" and env.spec.rules.horizon == 365  # pyright: ignore[reportAttributeAccessIssue]
    game = Farm.from_yaml(path)
    assert game.model.schedule == 5 and game.written.mode == "po"
    with pytest.raises(TypeError, match="unexpected keyword argument 'soil'"):
        harvestgym.make(str(path), soil="sand")
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["interaction_mode"] == "POMDP", "left as it was"


def test_farmers_may_have_interventions_of_their_own(tmp_path: Path) -> None:
    second = FARM.replace("day_path", "  Farmer-1:\n    type: basic\n    parameters: {max_daily_interventions: 1, "
                          "max_daily_observations: 1}\nday_path")  # fmt: skip
    both = ACTIONS + (
        "  BasicFarmer-1:\n    Field-0:\n      Plant-0:\n        harvest:\n"
        "      Soil-0:\n        water_discrete: {amount#L: [1]}\n"
    )
    data, report = read_farm_gym(write_folder(tmp_path, second, actions=both))
    allowed = data["rules"]["interventions"]["Field-0"]
    assert len(data["farmers"]) == 2 and allowed["Plant-0"] == {"harvest": None}
    assert allowed["Cide-0"]["scatter"]["farmer"] == ["BasicFarmer-0"]
    lost = [line for line in report.lost if line.endswith("every farmer has these limits here")]
    assert [line.split(" > ")[-1].partition(":")[0] for line in lost] == ["watering_discrete"]


def test_a_set_that_was_added_to_farm_gym_is_an_error_that_lists_ours(tmp_path: Path) -> None:
    for kind, known in (("Soil: clay", "clay, loam, sand, silt"), ("Cide: pesticide", "herbicide.*pesticide")):
        name = kind.partition(":")[0]
        with pytest.raises(ConfigError, match=f"{name} set: expected a known name, got 'mine'; try one of {known}"):
            read_any_farm(write_folder(tmp_path, FARM.replace(kind, f"{name}: mine")))
