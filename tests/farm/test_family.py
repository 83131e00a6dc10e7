"""The arguments of `make` of a farm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import harvestgym
from harvestgym.cli.new import write_copy
from harvestgym.core.config import merge
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.run import evaluate_id, evaluate_together
from harvestgym.farm import Farm
from harvestgym.farm.family import CATALOGUE, explain_policy, list_notes, policies
from harvestgym.farm.policies.expert_rules import list_harvest_rules
from harvestgym.farm.spelling import merge_farms
from tests.long_form import long, some

BEAN, CLIMATES = "farm/bean-1x1-v0", "farm/two-climates-v0"


def find_depth(env: Any, field: int = 0) -> float:
    return float(env.params.fields[field].entities[1].depth)


@pytest.mark.parametrize("path", ["Soil-0/depth#m", "Field-0/Soil-0/depth#m"])
def test_entities_take_a_single_parameter(path: str) -> None:
    env = harvestgym.make(BEAN, entities={path: 0.55})
    assert find_depth(env) == pytest.approx(0.55) != find_depth(harvestgym.make(BEAN))
    assert env == harvestgym.make(BEAN), "a number is no structure"


def test_a_parameter_changes_the_set_that_is_given_with_it() -> None:
    env = harvestgym.make(BEAN, entities={"Soil-0/depth#m": 0.55, "Soil-0": "sand"})
    sand = harvestgym.make(BEAN, entities={"Soil-0": "sand"})
    assert find_depth(env) == pytest.approx(0.55)
    mine, theirs = (made.params.fields[0].entities[1].wilting_point for made in (env, sand))
    assert mine == theirs != harvestgym.make(BEAN).params.fields[0].entities[1].wilting_point


def write_farm(folder: Path, more: str = "", soil: str = "clay") -> Path:
    """Write a copy of the beans on clay with other entities."""
    path = folder / "my-farm.yaml"
    write_copy(path, "farm", BEAN)
    text = path.read_text(encoding="utf-8").replace("[Soil, clay]", f"[Soil, {soil}]")
    path.write_text(text.replace("    - [Plant, bean]\n", f"    - [Plant, bean]\n{more}"), encoding="utf-8")
    return path


@long
def test_a_crop_that_nothing_sows_is_said_to_be_never_sown(tmp_path: Path) -> None:
    path = str(write_farm(tmp_path, "    - [Plant, corn]\n"))
    columns = evaluate_id(path, "none", 2).columns
    assert set(columns["Plant-1 cause of death"].ravel()) == {"never sown"}
    assert "never sown" not in columns["Plant-0 cause of death"]
    assert list_notes(harvestgym.make(path)) == [
        "Field-0/Plant-1 is never sown: it has no stage in rules > init, and there is no intervention `sow`"
    ]
    sown = {"interventions": {"Field-0": {"Plant-1": {"sow": None}}}}
    assert list_notes(harvestgym.make(path, rules=sown)) == []
    assert list_notes(harvestgym.make(path, rules={"init": {"Field-0": {"Plant-1": {"stage": "seed"}}}})) == []


@pytest.mark.parametrize("id", some(harvestgym.ids("farm"), "full-10x10-v0", "rotation-v0", "two-climates-v0"))
def test_every_crop_of_the_catalogue_can_be_sown(id: str) -> None:
    assert list_notes(harvestgym.make(id)) == []


def test_a_rule_for_more_or_less_water_than_crops_can_extract_is_noted() -> None:
    """Sand holds 60 L at field capacity: a rule for clay would water it every day."""
    sandy = harvestgym.make("farm/corn-1x1-v0", entities={"Soil-0": "sand"})
    (bloom, grow), none = explain_policy(sandy, "expert"), explain_policy(sandy, "none")
    where = "rule 2 of the expert (Soil-0.watering_discrete): `Soil-0.available_Water#L < 141.6` is almost always"
    assert bloom == f"{where} true, because a plot holds 22.5 L (wilting point) to 60 L (field capacity)" and not none
    assert grow.startswith("rule 3 ")
    assert evaluate_id("farm/corn-1x1-v0", "expert", 2, env=sandy).notes[-2:] == (bloom, grow)
    assert explain_policy(harvestgym.make("farm/corn-1x1-v0", soil="sand"), "expert") == []


@pytest.mark.parametrize(
    ("when", "noted"),
    [
        ("mean(Soil-0.available_Water#L) < 60", "always"),
        ("60 <= Soil-0.available_Water#L", "never"),
        ("23 > Soil-0.available_Water#L[0, 0]", ""),
        ("Soil-0.available_Water#L <= 22.5 and Plant-0.stage == grow", "never"),
        ("Soil-0.available_Water#L > 20", "always"),
        ("sum(Soil-0.available_Water#L) < 145", ""),
        ("2 * Soil-0.available_Water#L < 100", ""),
        ("Weather-0.day#int365 > 200", ""),
    ],
)
def test_only_amounts_of_soil_water_are_compared_with_its_limits(when: str, noted: str) -> None:
    rule = {"when": when, "do": "Plant-0.harvest"}
    env = harvestgym.make("farm/corn-1x1-v0", entities={"Soil-0": "sand"}, expert=[rule])
    assert [note.partition("almost ")[2].partition(" ")[0] for note in explain_policy(env, "expert")] == noted.split()


def test_entries_without_effect_are_noted() -> None:
    place = {"own_weather": True}
    looks = {"observations": ["Plant-0.stage"]}
    env = harvestgym.make(BEAN, fields={"Field-0": place}, scoring={"bio": 0.5, "soil": 0.5}, rules=looks)
    assert list_notes(env) == [
        "scoring > bio has no effect: the farm has no birds#nb, pollinators#nb, weeds#nb, pests#nb",
        "rules > observations has no effect: observations are requested in mode 'ao' only, not in 'po'",
        "fields > Field-0 > own_weather has no effect: no other field has the same weather",
    ]


def test_a_name_of_several_entries_is_refused() -> None:
    base = {"scatter": {"amount#kg": [1], "amount#L": [1]}}
    with pytest.raises(ConfigError, match="amount: expected the name of one entry, got amount#kg and amount#L"):
        merge_farms(base, {"scatter": {"amount": [2]}})


@pytest.mark.parametrize("make", [harvestgym.make, Farm.from_yaml])
def test_a_mistake_in_a_set_names_the_file(make: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^my-farm.yaml: 1 mistake\n  fields > Field-0: Soil set: .*try 'clay'$"):
        make(str(write_farm(tmp_path, soil="clai")))


@pytest.mark.parametrize(
    ("id", "path", "words"),
    [
        (BEAN, "Soil-0/deepth#m", "expected a known key, got 'deepth#m'; try 'depth#m'"),
        (BEAN, "Soil-1/depth#m", "expected a known entity, got 'Soil-1'; try 'Soil-0'"),
        (BEAN, "Field-1/Soil-0", "expected a known field, got 'Field-1'; try 'Field-0'"),
        (CLIMATES, "Soil-0/depth#m", "entities: expected a field, got none"),
    ],
)
def test_a_wrong_path_is_refused(id: str, path: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        harvestgym.make(id, entities={path: 0.5})


def test_a_preset_stands_for_arguments_and_those_that_are_given_win() -> None:
    sand = harvestgym.make(BEAN, soil="sand")
    assert sand.spec.fields["Field-0"].entities[1] == ("Soil", "sand")
    assert sand.spec.expert[1].when != harvestgym.make(BEAN, entities={"Soil-0": "sand"}).spec.expert[1].when
    mixed = harvestgym.make(BEAN, soil="sand", entities={"Soil-0": "loam", "Weather-0": "lille"}, mode="fo")
    assert mixed.spec.fields["Field-0"].entities[:2] == [("Weather", "lille"), ("Soil", "loam")]
    assert mixed.spec.mode == "fo" and mixed.spec.expert == sand.spec.expert
    assert harvestgym.make(BEAN, soil="clay").spec == harvestgym.make(BEAN).spec


def test_a_preset_in_a_file_is_refused_with_the_keyword_of_make(tmp_path: Path) -> None:
    path = tmp_path / "farm.yaml"
    path.write_text(f"extends: {BEAN}\nsoil: sand\n")
    with pytest.raises(ConfigError, match=r"soil: expected no such entry, got one; try make\(FILE, soil='sand'\)"):
        harvestgym.make(str(path))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"soil": "snad"}, "soil: expected a known name, got 'snad'; try 'sand'"),
        ({"soli": "sand"}, "'soli'; try 'soil'"),
        ({"soil": 3}, "got 3"),
    ],
)
def test_an_unknown_preset_is_refused_with_the_nearest_one(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        harvestgym.make(BEAN, **given)


def test_presets_of_a_file_that_are_no_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "farm.yaml"
    path.write_text(
        (CATALOGUE / "bean-1x1-v0.yaml").read_text().replace("clay: {}", "clay: 3").replace("extends: one-plot\n", "")
    )
    with pytest.raises(ConfigError, match="presets > soil > clay: expected a mapping"):
        harvestgym.make(str(path))


def test_of_two_presets_the_later_of_the_file_wins(tmp_path: Path) -> None:
    """In any process: the order of a set of words changes with the seed of its hashes."""
    path = tmp_path / "farm.yaml"
    text = (CATALOGUE / "bean-1x1-v0.yaml").read_text().replace("extends: one-plot\n", "")
    base = yaml.safe_load((CATALOGUE / "one-plot.yaml").read_text())
    data = merge(base, yaml.safe_load(text)) | {
        "presets": {"late": {"yes": {"mode": "po"}}, "seen": {"all": {"mode": "fo"}}}
    }
    path.write_text(yaml.safe_dump(data, allow_unicode=True))
    assert harvestgym.make(str(path), seen="all", late="yes").spec.mode == "fo"


@long
def test_the_policy_harvest_only_harvests_what_is_ripe() -> None:
    """Beans are sown at the start: they yield less than the expert's, which are watered, and more than nothing."""
    found = evaluate_together(BEAN, ("none", "harvest", "expert"), 4)
    none, harvest, expert = (found[name].columns["yield kg"].mean() for name in found)
    assert none == 0 < harvest < expert
    assert (found["harvest"].columns["orders given"] == 1).all() and not found["harvest"].columns["water used L"].any()


@long
def test_yields_are_shown_for_each_crop_and_square_metre() -> None:
    columns = evaluate_id("farm/polyculture-3x4-v0", "expert", 2).columns
    each = columns["Plant-0 yield kg/m2"] + columns["Plant-1 yield kg/m2"]
    assert columns["yield kg"] == pytest.approx(12 * each, rel=1e-5) and each.all(), "a field of 12 m2"
    assert list_rules("farm/polyculture-3x4-v0") == ["Plant-0.micro_harvest each", "Plant-1.micro_harvest each"]


def test_a_whole_field_is_harvested_as_soon_as_a_plot_is_ripe() -> None:
    env: Any = harvestgym.make(BEAN, expert=[])
    (rule,) = list_harvest_rules(env)
    assert rule.when == ["max(Plant-0.stage == ripe)"] and rule.do == "Plant-0.harvest"
    assert set(policies(env)) == {"harvest"}
    unseen: Any = harvestgym.make(BEAN, rules={"free_observations": ["Weather-0.day"]}, expert=[])
    assert not policies(unseen) and not policies(harvestgym.make(BEAN, interface="map"))


def list_rules(id: str) -> list[str]:
    env: Any = harvestgym.make(id)
    return [f"{rule.do} {rule.plot}" for rule in list_harvest_rules(env)]
