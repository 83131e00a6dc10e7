"""Mistakes in a farm file: each is an error with its path and the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.farm.paper.observation_items import write_variable
from harvestgym.farm.weather_data.table import read_table

ID = "farm/bean-1x1-v0"
INF, NAN = float("inf"), float("nan")
WATER = "Soil-0.available_Water#L"


MISTAKES = f"""
extends: {ID}
rules:
  free_observations: [Soil-0.availabl, Plant-0.stge]
  terminal_conditions: Plant-0.globl_stage == dead
  interventions: {{Field-0: {{Soil-0: {{wtering_discrete: {{amount#L: [1]}}}}}}}}
scoring:
  intervention_costs: {{Field-0: {{Soyl-0: {{watering_discrete: 1}}}}}}
expert: [{{do: Plant-0.harvst, when: Plant-0.stage == ripe}}]
"""


def soil(**changes: Any) -> dict[str, Any]:
    return {"entities": {"Soil-0": {"extends": "clay", **changes}}}


def weather(**changes: Any) -> dict[str, Any]:
    return {"entities": {"Weather-0": {"extends": "seattle", **changes}}}


def init(**values: Any) -> dict[str, Any]:
    return {"rules": {"init": {"Field-0": {"Weather-0": values}}}}


def ends(*conditions: Any) -> dict[str, Any]:
    return {"rules": {"terminal_conditions": list(conditions)}}


def expert(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"expert": list(rules)}


NUMBERS = [
    (soil(**{"depth#m": INF}), "fields > Field-0: Soil (extends clay): 1 mistake\n  depth#m: expected a finite number"),
    (soil(**{"depth#m": NAN}), "depth#m: expected a finite number, got nan"),
    (soil(**{"depth#m": 101}), "depth#m: expected a number from 0.01 to 100, got 101"),
    (soil(**{"wilting_point#L.m-3": 1e39}), "wilting_point#L.m-3: expected a number from 1 to 1000, got 1e+39"),
    (soil(**{"wilting_point#L.m-3": 0.14}), "from 1 to 1000, got 0.14, which looks like m3/m3; try 140"),
    (soil(**{"max_water_capacity#L.m-3": 0.3}), "from 1 to 1000, got 0.3, which looks like m3/m3; try 300"),
    (soil(survival={"cide": {"low": 1e9}}), "cide > low: expected a number from -1e+06 to 1e+06, or an infinite one"),
    (soil(survival={"cide": {"sensitivity": INF}}), "survival > cide > sensitivity: expected a finite number"),
    (soil(survival={"cide": {"low": 3, "high": 1}}), "survival > cide > low: expected at most high (1), got 3"),
    (soil(survival={"cide": {"low": INF, "high": INF}}), "cide > low: expected a number, or -.inf for no bound"),
    (soil(survival={"cide": {"high": -INF}}), "survival > cide > high: expected a number, or .inf for no bound"),
    (soil(**{"wilting_point#L.m-3": 900}), "wilting_point#L.m-3: expected less than max_water_capacity#L.m-3 (360)"),
    (soil(start={"water_max#%": 0.1}), "start > water_min#%: expected at most water_max#% (0.1)"),
    (soil(start={"K_max#g.m-2": 0}), "start > K_min#g.m-2: expected at most K_max#g.m-2 (0)"),
    ({"scoring": {"yield": NAN}}, "scoring > yield: expected a finite number, got nan"),
    ({"fields": {"Field-0": {"localization": {"latitude#°": NAN}}}}, "localization > latitude#°: expected a finite"),
    (soil(**{"depth#m": "0.4"}), "depth#m: expected a number without quotes, got '0.4'"),
    ({"rules": {"horizon#day": 2**40}}, "rules > horizon#day: expected less than or equal to 2147483647"),
]  # fmt: skip
WEATHER = [
    (weather(sit="lille"), "Weather (extends seattle): 1 mistake\n  sit: expected a known key, got 'sit'; try 'site'"),
    (weather(rain_hevy=1), "rain_hevy: expected a known key, got 'rain_hevy'; try 'rain_heavy#mm'"),
    (weather(generate="yes"), "generate: expected a valid boolean, got 'yes'"),
    (weather(rain="mmm"), "rain: expected 'auto', 'mm' or 'occurrence', got 'mmm'"),
    (weather(rain="mm"), "expected a `table`, or a `site` without `columns`, `fill` or `rain`, got none"),
    (weather(**{"station_altitude#m": NAN}), "station_altitude#m: expected a finite number"),
    (weather(table=5), "table: expected the path of a weather file, or a data frame, got 5"),
    (init(**{"day#int365": "(1)"}), "day#int365: expected an interval (low, high), in quotes if inside {…}, got '(1)'"),
    ({"rules": {"init": {"Field-0": {"Soil-0": {"available_Water#L": 500}}}}}, "Soil-0 > available_Water#L: expected "
     "a number from 0 to 180, got 500"),
    ({"rules": {"init": {"Field-0": {"Plant-0": {"size#cm": "(10, 61)"}}}}}, "Plant-0 > size#cm: expected a number "
     "from 0 to 60, got 61"),
]  # fmt: skip
PARTS = [
    ({"fields": {"Field-0": {"shape": {"length#nb": 1000, "width#nb": 1000}}}, "rules": {"interventions": None}},
     "rules > interventions: expected at most 10,000,000 actions, got "),
    ({"rules": {"init": {"Field-0": {"Plant-0": {"stage": ["seed"], "fruits_per_plant#nb": 3}}}}}, "Plant-0 > "
     "fruits_per_plant#nb: expected 0 in the stage seed, got 3; try the stage fruit"),
    ({"context": {"every": [], "draws": {"Field-0/Soil-0": ["sand", "clay"]}}}, "every: expected episode, step, "),
    ({"rules": {"interventions": {"Field-0": {"Soil-0": {"watering_discrete": {"plot": []}}}}}}, "watering_discrete > "
     "plot: expected at least one plot, got none"),
    (ends("Plant-0.global_stage == 3.7"), "global_stage: expected one of none, "),
    (ends("Weather-0.day > 400"), "expected a number from 1 to 365, got 400"),
    ({"entities": ["Weather-0"]}, "entities: expected a mapping such as {'Weather-0': 'lille'}, got ['Weather-0']"),
    ({"entities": {5: "lille"}}, "entities: expected a known entity, got '5'"),
    ({"entities": {"Soil-0": 5}}, "entities > 1 > 1: expected a string, or a mapping {name: value}, got 5"),
    ({"entities": {"Soil-0": {"extends": ["clay"]}}}, "Soil set: expected a known name, got ['clay']; try 'clay'"),
    ({"farmers": ["Basic"]}, "farmers > 0: expected a mapping, got 'Basic'; try {'kind': 'Basic'}"),
    ({"rules": [1]}, "rules: expected a mapping {name: value}, got [1]"),
    ({"fields": {"Field-0": {"entities": [["Weather", "seattle"], ["Plant", "bean"]]}}},
     "fields > Field-0: Plant-0: expected one Ground on its field, got 0; try adding a Soil to its"),
    ({"fields": {"Field-0": {"entities": [["Soil", "clay"], ["Plant", "bean"]]}}}, "got 0; try adding a Weather to"),
]  # fmt: skip
CONDITIONS = [
    ({"scoring": {"constraints": {"nitrate": {"tally": "leached_M#g", "limit": 2}}}}, "scoring > constraints > "
     "nitrate: tally: expected a known name, got 'leached_M#g'; try 'leached_N#g'"),
    ({"scoring": {"constraints": {"nitrate": {"tally": "leached_N#g", "limit": 0}}}}, "constraints > nitrate > limit: "
     "expected greater than or equal to 0.000001, got 0"),
    ({"scoring": {"constraint": {}}}, "scoring > constraint: expected a known key, got 'constraint'; try "
     "'constraints'"),
    ({"scoring": {"terms": {"yield": {"kind": "Tally", "prices": {"water#L": 0}}}}}, "scoring > terms > yield: "
     "expected a new name, got a built-in term"),
    ({"rules": {"interventions": {"field-0": {"Soil-0": {}}, "FIELD-0": {"Soil-0": {}}}}, "expert": []},
     "interventions > FIELD-0: expected one spelling, got two"),
    (expert({"do": "Soil-0.water_discrete", "amount": 1, "amount#L": 1}),
     "expert > 0 > amount#L: expected one spelling, got two"),
    (init(**{"day": [3], "Day": [3]}), "rules > init > Field-0 > Weather-0 > Day: expected one spelling, got two"),
    (init(day="29 Feb"), "Weather-0 > day#int365: expected a day of a 365-day year, got '29 Feb'"),
    (init(day="(1 June, 31 June)"), "day#int365: expected a day of a 365-day year, got '31 June'"),
    (init(**{"consecutive_dry#day": "1 May"}), "consecutive_dry#day: expected a whole number without quotes, got"),
    (ends("Weather-0.day > '31 April'"), "Weather-0.day#int365: expected a day of a 365-day year, got '31 April'"),
    ({"scoring": {"intervention_costs": {"Field-0": {"Soil-0": {"water_discrete": 1, "watering_discrete": 1}}}}},
     "intervention_costs > Field-0 > Soil-0 > watering_discrete: expected one spelling, got two"),
    (ends([]), "rules > terminal_conditions > 0: expected a string such as 'Plant-0.stage == ripe', got []"),
    (ends(3), "rules > terminal_conditions > 0: expected a string such as 'Plant-0.stage == ripe', got 3"),
    (ends("Plant-0.stage = ripe"), "terminal_conditions > 0: character 15 of 'Plant-0.stage = ripe': expected a "
     "formula, got '='; try '=='"),
    (ends("sum(Plant-0.stage) >"), "character 21 of 'sum(Plant-0.stage) >': expected a formula, got the end"),
    (ends("avg(Plant-0.stage) > 3"), "expected a known function, got 'avg'; try one of abs, max, mean, min, sum"),
    (ends("Plant-0.stage in [[ripe]]"), "character 19 of 'Plant-0.stage in [[ripe]]': expected a value in the list"),
    (ends("Plant-0.stage in []"), "character 18 of 'Plant-0.stage in []': expected a value in the list, got '[]'"),
    (ends("Plant-0.stage == [ripe]"), "expected a single value, got '[ripe]'"),
    (ends("Plant-0.global_stage == True"), "global_stage: expected one of none, "),
    (ends("2 > 1 and Plant-0.globl_stage == ripe"), "rules > terminal_conditions: character 11 of '2 > 1 and "
     "Plant-0.globl_stage == ripe' > Field-0 > Plant-0: expected a known variable, got 'globl_stage'; try "
     "'global_stage'"),
    (ends("Plat-0.stage == ripe"), "character 1 of 'Plat-0.stage == ripe': expected a known entity, got 'Plat-0'; try "
     "'Plant-0'"),
    (ends("Plant-0.stage == rip"), "expected a known value, got 'rip'; try 'ripe'"),
    (ends("stage == ripe"), "character 1 of 'stage == ripe': expected a number or a variable, got 'stage'; try "
     "'Plant-0.stage'"),
    (ends("Weather-0.wind > 3"), "expected one variable, got Weather-0.wind; try one of Weather-0.wind/speed#km.h-1, "),
    (ends("Plant-0.stage[0, 1] == ripe"), "expected a plot (x, y) with 0 <= x < 1 and 0 <= y < 1, got (0, 1)"),
    (ends("Weather-0.forecast/rain > Weather-0.day + Weather-0.forecast/rain[5]"), "expected an index from [0] to [4]"),
    (ends("Weather-0.forecast/rain[0, 1] > 0"), "> forecast/rain: expected an index from [0] to [4], got (0, 1)"),
    (ends("Weather-0.forecast/rian[0] > 0"), "forecast: expected a known variable, got 'rian'; try 'rain'"),
    (ends("Weather-0.day[0] > 0"), "> day#int365: expected no index here, got 0"),
    (ends("Weather-0.forecast[0] > 0"), "> forecast: expected a variable before an index, got a group of variables"),
    ({"rules": {"free_observations": ["Weather-0.forecast/rain[0]"]}}, "got 'Weather-0.forecast/rain[0]'; try it "
     "without the index"),
    ({"rules": {"free_observations": [["Field-0", "Soil-0", "depth", []]]}}, "observations > 0: expected a string"),
    ({"rules": {"free_observations": [f"{WATER}[0, 3]"]}}, "expected a plot (x, y) with 0 <= x < 1 and 0 <= y < 1"),
    (expert({"do": "Soil-0.waterin"}), "expert > 0 > do > Soil-0: expected a known action, got 'waterin'; "
     "try 'watering_discrete'; try correcting the rule, or removing the expert with `expert: []`"),
    (expert({"when": "Plant-0.age_seed > 1", "do": "Plant-0.harvest"}), "expert > 0: expected an observed variable"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "words"), NUMBERS + WEATHER + PARTS + CONDITIONS)
def test_a_mistake_is_refused_in_words(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        harvestgym.make(ID, **changes)
    assert words in str(error.value), f"{words!r} is not in {error.value}"


def test_the_mistakes_of_a_file_are_listed_together(tmp_path: Path) -> None:
    """Names in all parts are checked, and before them the entities."""
    path = tmp_path / "mine.yaml"
    path.write_text(MISTAKES, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        harvestgym.make(str(path))
    first, *lines = str(error.value).splitlines()
    assert first == "mine.yaml: 6 mistakes"
    hints = ("availabl", "stge", "globl_stage", "wtering_discrete", "Soyl-0", "harvst")
    assert all(sum(f"'{hint}'" in line for line in lines) == 1 for hint in hints)
    with pytest.raises(ConfigError) as error:
        harvestgym.make(ID, entities={"Weather-0": "lile", "Soil-0": "lom"})
    assert "try 'lille'" in str(error.value) and "try 'loam'" in str(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        soil(survival={"cide": {"low": -INF, "high": INF}}),
        init(**{"consecutive_dry#day": [3]}),
        ends("sum(2 * Plant-0.stage - 1) > 5", "not Plant-0.stage == ripe", "1 < mean(Plant-0.stage) <= 4.4"),
        ends("sum(Plant-0.stage == ripe) / 2 > 0.5 and abs(Plant-0.size - 3) < Plant-0.fruit_weight[0, 0]"),
        {"rules": {"free_observations": [f"{WATER}[0, 0]"]}, "expert": []},
    ],
)
def test_what_looks_like_a_mistake_and_is_none(changes: dict[str, Any]) -> None:
    harvestgym.make(ID, **changes)


def test_yes_and_no_are_values_of_a_truth() -> None:
    from harvestgym.core.checks import check_value
    from harvestgym.core.pytree import Meta

    truth = Meta("var", ("wet",), "whether it is wet", "bool", 0, 1)
    assert [check_value(truth, given, "") for given in (True, False, 1, 0)] == [1.0, 0.0, 1.0, 0.0]


def test_a_plot_as_text_is_that_plot() -> None:
    seen = [("Field-0", "Soil-0", "available_Water#L", [plot]) for plot in ("(0, 0)", [0, 0], (0, 0))]
    assert {write_variable(each, "") for each in seen} == {f"Field-0.{WATER}[0, 0]"}


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: path.write_bytes("Tmin,Tmax,T,RH,U,Rain\n1,9,5,80,2,0\n°".encode("latin-1")), "expected UTF-8"),
        (lambda path: path.write_text('Tmin,Tmax\n"' + "x" * 200_000), "expected a CSV file"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, write: Callable[[Path], Any], words: str) -> None:
    write(tmp_path / "mine.csv")
    with pytest.raises(ConfigError, match=words):
        read_table(tmp_path / "mine.csv")


@pytest.mark.parametrize("key", ["horizon", "horizon#day"])
def test_a_key_of_the_rules_may_lack_its_unit(key: str) -> None:
    """The catalogue file writes `horizon#day`."""
    assert int(harvestgym.make(ID, rules={key: 10}).params.horizon) == 10


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("horizon", "rules={'horizon#day': ...}"),
        ("observation_cost", "scoring={'observation_cost': ...}"),
        ("modus", "'mode'"),
    ],
)
def test_a_keyword_that_belongs_to_a_part_says_so(keyword: str, hint: str) -> None:
    with pytest.raises(TypeError) as error:
        harvestgym.make(ID, **{keyword: 1})
    assert str(error.value) == f"make() got an unexpected keyword argument {keyword!r}; try {hint}"


def test_entities_outside_a_field_are_shown_their_place(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: farm/bean-1x1-v0\nentities: {Weather-0: lille}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"try fields > Field-0 > entities, or make\(FILE, entities="):
        harvestgym.make(str(tmp_path / "mine.yaml"))
