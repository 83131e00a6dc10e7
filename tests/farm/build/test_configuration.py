"""Configuration files: generated whole when named and missing, read strictly when there, the same both ways."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.farm import BasicRule, BasicScore, Farm, FilesWritten
from harvestgym.farm.paper.files import Source, read_actions, read_init, read_score
from harvestgym.farm.schema import farm_spec
from tests.farm.ponds import CUT, WATER, farm, pond

NAMES = ("init", "actions", "score")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def from_files(prefix: str = "game0", mode: str = "ao", **rules: Any) -> Farm:
    rule = BasicRule(f"{prefix}_init.yaml", f"{prefix}_actions.yaml", [(*WATER, [])], **rules)
    return Farm([pond()], rules=rule, scoring=BasicScore(f"{prefix}_score.yaml"), mode=mode)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_generated_once_and_change_nothing(folder: Path) -> None:
    with pytest.warns(FilesWritten, match="game0_init.yaml, game0_actions.yaml, game0_score.yaml") as reported:
        first = from_files()
    assert len(reported) == 1
    texts = {path: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert sorted(path.name for path in texts) == [f"game0_{name}.yaml" for name in sorted(NAMES)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = from_files()
    assert {path: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts
    plain = farm(max_action_schedule_size=1, horizon=360)
    for game in (first, again):
        assert game.model.actions == plain.model.actions and game.language.paths == plain.language.paths
        assert game.model.starts == () and game.action_space == plain.action_space
    np.testing.assert_array_equal(again.params.score.observation_costs, np.ones(len(plain.model.variables)))


def test_every_entry_is_there(folder: Path) -> None:
    with pytest.warns(FilesWritten):
        game = from_files()
    init, actions, score = (yaml_io.read_file(folder / f"game0_{name}.yaml") for name in NAMES)
    keys = {(*v.where, v.key) for v in game.model.variables}
    assert {(f, e, k) for f, of in init.items() for e, below in of.items() for k in below} == keys
    rows = {(*row.names, row.action.name) for row in game.model.actions.rows}
    listed = actions["interventions"]
    assert {(f, e, k) for f, of in listed.items() for e, below in of.items() for k in below} == rows
    assert listed["Field-0"]["Spring-0"]["pour"]["plot"][:2] == ["(0, 0)", "(0, 1)"]
    assert listed["Field-0"]["Spring-0"]["pour"]["amount#L"] == "(0.0, 5.0)"
    assert actions["observations"]["Field-0"]["Reed-0"]["stage"][:2] == ["*", "(0, 0)"]
    assert actions["params"] == {"max_action_schedule_size": 1}
    lines = (folder / "game0_actions.yaml").read_text(encoding="utf-8").splitlines()
    plots = "['*', '(0, 0)', '(0, 1)', '(0, 2)', '(1, 0)', '(1, 1)', '(1, 2)']"
    assert "      cut:" in lines and f"      stage: {plots}" in lines
    assert "      cut: 1.0" in (folder / "game0_score.yaml").read_text(encoding="utf-8").splitlines(), "a line each"
    costs = score["observation_costs"]
    assert {(f, e, k) for f, of in costs.items() for e, below in of.items() for k in below} == keys
    assert {"stage", "bio", "resource", "soil", "yield", "plant"} < set(score)


def test_a_file_that_is_edited_is_followed(folder: Path) -> None:
    write(folder, "game0_init.yaml", "Field-0: {Spring-0: {available_Water#L: [3, 3.0]}, Reed-0: {stage: old}}")
    write(folder, "game0_actions.yaml", "interventions: {field-0: {reed-0: {cut: }}}\nobservations:\n"
          "  Field-0: {Reed-0: {colour: '*', stage: ['(0, 1)']}}\nparams: {max_action_schedule_size: 2}\n")  # fmt: skip
    write(folder, "cost.yaml", "intervention_cost: 0.125\nobservation_costs: {Field-0: {Reed-0: {colour: 2}}}")
    write(folder, "reward.yaml", "yield: 0.5\nstage: 0\n")
    rules = BasicRule("game0_init.yaml", "game0_actions.yaml")
    game = Farm(
        [pond()], rules=rules, scoring=BasicScore(cost_configuration="cost.yaml", reward_configuration="reward.yaml")
    )
    game.reset(seed=0)
    assert (np.asarray(game.run_state.state.fields[0][0].water) == 3).all()
    assert [(ask.key, ask.plot) for ask in game.language.paths] == [("colour", None), ("stage", (0, 1))]
    game.step(((0, 0), (1, 0)))
    info = game.farmgym_step([CUT])[-1]
    assert info["intervention cost"] == 0.125
    assert float(game.params.score.weights[3]) == 0.5
    info = game.farmgym_step([("farmer-0", "Field-0", "Reed-0", "colour", [])])[-1]
    assert info["observation cost"] == 2 * 6


def test_a_block_that_is_empty_allows_nothing(folder: Path) -> None:
    write(folder, "a.yaml", "interventions:\nobservations: {Field-0: {Reed-0: {stage: }}}")
    game = Farm([pond()], rules=BasicRule(actions_configuration="a.yaml"))
    assert len(game.action_space) == 1  # type: ignore[arg-type]
    write(folder, "a.yaml", "interventions:\nobservations:\n")
    with pytest.raises(ConfigError, match="expected an action"):
        Farm([pond()], rules=BasicRule(actions_configuration="a.yaml"))


def test_nothing_is_written_that_was_not_asked_for(folder: Path) -> None:
    farm()
    with pytest.raises(ConfigError, match="expected an existing folder"):
        Farm([pond()], rules=BasicRule("nowhere/init.yaml"))
    with pytest.raises(ConfigError, match="expected a known operator"):
        Farm([pond()], rules=BasicRule("init.yaml", terminal_conditions=[[((*WATER, []), "sum", "=>", 1)]]))
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("init", "", "game0_init.yaml: expected a mapping, got an empty file"),
        ("init", "Field-0:\n\tReed-0: {}", "YAML is indented with spaces, never tabs"),
        ("init", "Field-0: {}\nField-0: {}", "expected key 'Field-0' once, got it on lines 1 and 2"),
        ("init", "[1, 2]", "game0_init.yaml: expected a mapping, got [1, 2]"),
        ("init", "Field-0: {Reed-0: {stge: old}}", "Reed-0: expected a known variable, got 'stge'"),
        ("init", "Field-0: {Reed-0: {stage: ancient}}", "Field-0 > Reed-0 > stage: expected a known value"),
        ("init", "Field-0: {Reed-0: {stage: no}}", "game0_init.yaml > Field-0 > Reed-0 > stage: expected one of young"),
        ("init", "Field-0: {Reed-0: 3}", "game0_init.yaml > Field-0 > Reed-0: expected a mapping, got 3"),
        ("init", "Field-0: {Plant-0: {stage: seed}}", "Field-0: expected a known entity, got 'Plant-0'; try one of"),
        ("init", "Field-1: {Reed-0: {}}", "game0_init.yaml: expected a known field, got 'Field-1'; try 'Field-0'"),
        ("init", "Field-0: {Reed-0: {stage: old}, reed-0: {}}", "expected one spelling, got two"),
        ("init", "Field-0: {Reed-0: {stage: old, Stage: young}}", "Reed-0 > Stage: expected one spelling, got two"),
        ("init", "Field-0: {Spring-0: {available_Water#L: (1, 2)}}", "(low, high), in quotes if inside {…}"),
        ("actions", "intervention: {}", "actions.yaml: expected a known block, got 'intervention'; try 'inter"),
        ("actions", "interventions: {Field-0: {Reed-0: {cutt: }}}", "a known action, got 'cutt'; try 'cut'"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {amout: [1]}}}}", "pour: expected a known parameter"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {plot: ['(9, 0)']}}}}", "0 <= x < 2"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {amount#L: '(1, 9)'}}}}", "from 0 to 5, got 9"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {amount#L: no}}}}", "got False"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {plot: ['(0, 1)', [0, 1]]}}}}", "got (0, 1) twice"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {amount#L: [1, 1.0]}}}}", "got 1.0 twice"),
        ("actions", "interventions: {Field-0: {Spring-0: {pour: {plot: [(0, 1)]}}}}", "expected a plot in quotes"),
        ("actions", "observations: {Field-0: {Reed-0: {stage: ['(0, 9)']}}}", "0 <= y < 3"),
        ("actions", "observations: {Field-0: {Reed-0: {stage: [(0, 1)]}}}", "inside […], got '(0'"),
        ("actions", "observations: {Field-0: {Reed-0: {stage: {x: }}}}", "expected no further key, got 'x'"),
        ("actions", "params: {max_schedule: 3}", "try 'max_action_schedule_size'"),
        ("actions", "params: {max_action_schedule_size: 2.5}", "actions.yaml: 1 mistake\n  max_action_schedule_size: "),
        ("score", "yeild: 1", "game0_score.yaml: expected a known entry, got 'yeild'; try 'yield'"),
        ("score", "yield: 1e1", "score.yaml: 1 mistake\n  yield: expected less than or equal to 1, got 10.0"),
        ("score", "stage: '1e-3'", "stage: expected a number, without quotes, got '1e-3'"),
        ("score", "yield: no", "yield: expected a number, not yes/no/true/false, got False"),
        ("score", "intervention_costs: {Field-0: {Reed-0: {cut: yes}}}", "cut: expected a number, not yes/no"),
        ("score", "intervention_costs: {Field-0: {Reed-0: {cut: 1, Cut: 2}}}", "Reed-0 > Cut: expected one spelling"),
        ("score", "intervention_costs: {Field-0: {Reed-0: {cutt: 1}}}", "a known action, got 'cutt'; try 'cut'"),
        ("score", "observation_costs: {Field-0: {Reed-0: {size: 1}}}", "expected a known variable, got 'size'"),
    ],
)  # fmt: skip
def test_a_file_with_a_mistake_is_refused_with_its_name(folder: Path, name: str, text: str, words: str) -> None:
    write(folder, f"game0_{name}.yaml", text)
    with pytest.raises(ConfigError) as error:
        from_files()
    assert words in str(error.value), str(error.value)
    assert [path.name for path in folder.iterdir()] == [f"game0_{name}.yaml"], "nothing is generated then"


def test_a_folder_is_no_file(folder: Path) -> None:
    (folder / "game0_init.yaml").mkdir()
    with pytest.raises(ConfigError, match="game0_init.yaml: expected a file, got a folder"):
        from_files()


def test_what_the_files_say_can_be_given_as_values() -> None:
    rules = BasicRule(
        init={"Field-0": {"Reed-0": {"stage": "old"}}},
        interventions={"Field-0": {"Reed-0": {"cut": None}}},
        observations={"Field-0": {"Reed-0": {"stage": ["*"]}}},
        max_action_schedule_cost=2.5,
        horizon=4,
    )
    game = Farm([pond()], rules=rules, scoring=BasicScore(intervention_cost=2, yield_=0.25))
    assert game.written.rules.horizon == 4 and len(game.action_space) == 2  # type: ignore[arg-type]
    assert float(game.params.rules["max_action_schedule_cost"].most) == 2.5  # type: ignore[attr-defined]
    for wrong, words in (
        (lambda: BasicScore(yeild=1), "BasicScore: expected a known entry, got 'yeild'; try 'yield'"),
        (lambda: BasicRule("a.yaml", init={}), "init: expected a file or a value, got both"),
        (lambda: BasicScore("a.yaml", "b.yaml"), "the score: expected a file or a value, got both"),
    ):
        with pytest.raises(ConfigError, match=words):
            wrong()


CANONICAL = """
fields: {Field-0: {localization: {latitude#°: 43.6, longitude#°: 3.9, altitude#m: 30}, shape: {length#nb: 1,
  width#nb: 1}, entities: [[Weather, seattle], [Soil, clay], [Plant, bean]]}}
mode: ao
rules:
  init: {Field-0: {Weather-0: {day#int365: [3]}, Plant-0: {stage: seed}}}
  interventions:
    Field-0: {Soil-0: {watering_discrete: {plot: ['(0, 0)'], amount#L: [1]}}, Plant-0: {sow: null, harvest: null}}
  free_observations: [Weather-0.rain/amount#mm, Plant-0.stage]
  observations: [Soil-0.available_Water#L, Weather-0.wind/speed#km.h-1]
  terminal_conditions: Plant-0.global_stage not in [seed]
scoring:
  intervention_costs: {Field-0: {Soil-0: {watering_discrete: 2}}}
  observation_costs: {Field-0: {Weather-0: {rain/amount#mm: 3}}}
expert:
- {when: Soil-0.available_Water#L < 9, do: Soil-0.watering_discrete, plot: [0, 0], amount#L: 1, duration#min: 60}
- {when: Soil-0.available_Water#L > 9, observe: Soil-0.available_Water#L}
"""
SPELLED = {
    "watering_discrete": "water_discrete", "sow": "sowing", "harvest:": "harvesting:", "Soil-0": "soil-0",
    "Weather-0:": "weather-0:", "Plant-0": "plant-0", "[Weather-0": "[Field-0.weather-0",
    "day#int365": "day", "amount#L": "amount", "available_Water#L": "available_water",
    "when: soil": "when: Field-0.soil", "wind/speed#km.h-1": "wind/Speed", "duration#min": "Duration",
    "plot: ['(0, 0)']": "plot: '(0, 0)'",
}  # fmt: skip
"""Spellings of some words of that file."""


def test_a_range_is_a_pair_and_a_list_is_a_list_in_python_too() -> None:
    """As the paper writes `(1, 10)`; and one plot needs no list around it."""
    for given, wanted in (
        ((3, 5), "(3, 5)"),
        (np.asarray([3, 4]), [3, 4]),
        (range(3, 5), [3, 4]),
        ((3, 4, 5), [3, 4, 5]),
    ):
        start = {"Field-0": {"Spring-0": {"available_Water#L": given}}}
        limits = {"Field-0": {"Spring-0": {"pour": {"plot": (1, 2), "amount#L": (1, 2.5)}}}}
        game = Farm([pond()], rules=BasicRule(init=start, interventions=limits))
        rules = game.written.rules.model_dump()
        assert rules["init"]["Field-0"]["Spring-0"]["available_Water#L"] == wanted
        assert rules["interventions"]["Field-0"]["Spring-0"]["pour"] == {"plot": ["(1, 2)"], "amount#L": "(1, 2.5)"}
        assert game.model.actions.rows[0].plots == ((1, 2),)


def test_a_farm_file_in_other_spellings_is_the_same_farm(folder: Path) -> None:
    text = CANONICAL
    for word, spelled in SPELLED.items():
        assert word in text
        text = text.replace(word, spelled)
    mine, same = (Farm.from_yaml(write(folder, f"{i}.yaml", t)) for i, t in enumerate((text, CANONICAL)))
    assert mine.written == same.written == farm_spec(yaml_io.parse(CANONICAL), "farm")
    for i, game in enumerate((mine, same)):
        game.to_yaml(f"again-{i}.yaml")
    texts = [Path(f"again-{i}.yaml").read_text(encoding="utf-8") for i in range(2)]
    assert texts[0] == texts[1], "what is written does not keep the spelling of the file that was read"
    assert Farm.from_yaml("again-0.yaml").written == same.written
    assert mine.model.actions == same.model.actions and mine.model.plan == same.model.plan
    assert mine.language.paths == same.language.paths and mine.model.stops == same.model.stops
    jax.tree.map(np.testing.assert_array_equal, mine.params, same.params)


def test_what_is_read_is_what_was_written() -> None:
    """Through the texts themselves: nothing is lost of any block."""
    rules, scoring = BasicRule("i.yaml", "a.yaml"), BasicScore("s.yaml", bio=0.5)
    names = farm().language.names
    texts = rules.missing(names) | scoring.missing(names)
    data = {str(path): yaml_io.parse(text) for path, text in texts.items()}
    init = read_init(data["i.yaml"], "")["Field-0"]
    assert {value for of_entity in init.values() for value in of_entity.values()} == {None}, (
        "all is left to the entities"
    )
    whole = read_actions(data["a.yaml"], names, "")
    again = read_actions({name: whole[name] for name in ("interventions", "observations")}, names, "")
    assert (
        whole == again | {"max_action_schedule_size": 1}
        and len(whole["observations"]) == len(farm().language.paths) + 7
    )
    assert read_score(data["s.yaml"], tuple(data["s.yaml"]), "")["bio"] == 0.5
    assert Source(None, None).missing("text") == {}
