"""The Farm of the paper: what it is made of, its reward, its ends, its file, what it prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import par
from harvestgym.farm import (
    BasicFarmer,
    BasicRule,
    BasicScore,
    Farm,
    Field,
    HourlyFarmer,
    Rule,
    Soil,
    Tally,
    Term,
    Weather,
)
from tests.farm.ponds import CUT, REED, SPRING, STAGE, WATER, farm, pond, pour
from tests.long_form import long

PLACE = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30}
OLD = BasicRule(free_observations=[(*WATER, [])], max_action_schedule_size=2, horizon=6)


def ending(*event: Any, **rules: Any) -> Farm:
    """Return a farm, a step a day, that ends with an event."""
    return Farm([pond()], rules=BasicRule(terminal_conditions=[[event]], **rules), mode="po")


def days(game: Farm) -> tuple[int, float, bool]:
    """Return how many days it lasted, what the last was worth, and whether it terminated."""
    game.reset(seed=0)
    for day in range(1, 400):
        _, gain, terminated, truncated, _ = game.farmgym_step([])
        if terminated or truncated:
            return day, gain, terminated
    raise AssertionError("it never ended")


def test_gymnasium_finds_nothing_wrong_with_it() -> None:
    game = farm()
    assert isinstance(game, gymnasium.Env) and game.unwrapped is game
    check_env(game, skip_render_check=True)  # made in Python, it has no spec to make again with a render mode


def test_pictures_and_films_need_no_render_mode(tmp_path: Path) -> None:
    game = farm("po")
    game.reset(seed=0)
    with pytest.raises(ConfigError, match=r"expected a recorded season, got none; try render\(\) after reset"):
        game.generate_gif(tmp_path / "none.gif")
    for _ in range(3):
        assert game.render().ndim == 3
        game.farmgym_step([])
    assert game.generate_gif(tmp_path / "season.gif").stat().st_size > 1000
    assert len(game.episode_log.record["reward"]) == 4


def test_the_reward_is_the_gross_gain_and_info_has_both() -> None:
    game = farm("po")
    game.reset(seed=0)
    for _ in range(4):
        _, gain, _, _, info = game.farmgym_step([pour(0, 0), pour(0, 1)])
        assert gain == info["gain"] and info["intervention cost"] == 1.0
        assert info["net"] == pytest.approx(gain - info["intervention cost"] - info["observation cost"])


def test_the_same_seed_is_the_same_season() -> None:
    def season(game: Farm, seed: int | None) -> list[Any]:
        first = game.reset(seed=seed)[0]["values"].tolist()
        return [first, *(game.farmgym_step([])[0][0][4].tolist() for _ in range(4))]

    game = farm()
    assert season(game, 3) == season(game, 3) != season(game, 4)
    seeded = [Farm([pond()], rules=OLD, seed=3) for _ in range(2)]
    runs = [[season(g, None), season(g, None)] for g in seeded]
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1], "the second season goes on where the first ended"


def test_a_mapping_is_a_python_function_or_a_name() -> None:
    for mapping in (
        "sum",
        jnp.sum,
        lambda x: x.sum(),
        lambda x: jnp.sum(x.value),
        lambda x: x[0, 0].value * 6 + 0 * x.sum(),
    ):
        game = ending((*WATER, []), mapping, "<", -1)
        assert game.model is not None, "it would be an error for a mapping that is called in Python"
    game = ending((*STAGE, [(0, 0)]), lambda x: x.value == "old", "==", True)
    assert days(game)[0] == days(ending((*STAGE, [(0, 0)]), id, "==", "old"))[0] == 3
    assert days(ending((*STAGE, [(0, 0)]), lambda x: x.value, "not in", ["young"]))[0] == 3


def test_a_condition_on_several_values_takes_a_list_a_tuple_or_a_set(tmp_path: Path) -> None:
    """And is written as a list, also if it is a pair of numbers, which in other places is a plot."""
    wanted = ending((*STAGE, [(0, 0)]), id, "in", ["old", "young"]).written
    for several in ({"young", "old"}, ("old", "young")):
        assert ending((*STAGE, [(0, 0)]), id, "in", several).written == wanted
    event, field = ((*WATER, [(0, 0)]), id, "in", (3, 4)), Field(PLACE, {"length#nb": 1, "width#nb": 1}, [SPRING])
    game = Farm([field], rules=BasicRule(terminal_conditions=[[event]]), mode="po")
    game.to_yaml(tmp_path / "pond.yaml")
    assert Farm.from_yaml(tmp_path / "pond.yaml").written == game.written


@long
def test_a_mapping_that_cannot_be_compiled_works_in_the_farm_only() -> None:
    game = ending((*STAGE, [(0, 0)]), lambda x: "grown" if x.value == "old" else "green", "in", ["grown"])
    plain = ending((*STAGE, [(0, 0)]), id, "==", "old")
    assert days(game) == days(plain) and days(game)[2]
    with pytest.raises(ConfigError, match=r"farm.model: expected terminal conditions that compile"):
        _ = game.model
    branching = ending((*WATER, []), lambda x: 1 if float(x.value.max()) < 5 else 0, "==", 1)
    assert days(branching)[0] < 20


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            ((*WATER, []), lambda x: x.valu, "==", 1),
            "expected a function of a value or an array, got '<lambda>', which",
        ),
        (((*WATER, []), "sum", "=>", 1), "available_Water#L: expected a known operator, got '=>'"),
        (((*WATER, []), "average", "==", 1), "expected a known mapping, got 'average'"),
        ((("Field-0", "Reed-0", "stge", []), id, "==", "old"), "expected a known variable, got 'stge'; try 'stage'"),
        (((*STAGE, [(0, 0), 1]), id, "==", "old"), "expected a key, '*' or a plot"),
        (((*STAGE, []), id, "==", "ancient"), "expected a known value, got 'ancient'"),
        (((*STAGE, []), id, "=="), "expected (observation, mapping, operator, value)"),
    ],
)
def test_a_wrong_condition_is_refused_in_words(event: Any, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        ending(*event)
    assert words in str(error.value), str(error.value)
    assert "terminal_conditions" in str(error.value)


def test_an_entity_is_a_class_a_name_or_made_already() -> None:
    shape = {"length#nb": 1, "width#nb": 1}
    forms = [
        (Weather, "montpellier"),
        ("weather", "lille"),
        ("Soil", {"extends": "clay", "depth#m": 0.5}),
        (Soil, "sand"),
        SPRING,
    ]
    field = Field(PLACE, shape, forms)
    assert [type(e).__name__ for e in field.entities] == ["Weather", "Weather", "Soil", "Soil", "Spring"]
    assert float(field.entities[2].depth) == 0.5  # type: ignore[attr-defined]
    for wrong, words in (
        (
            {"entities": [(Weather, "monpellier")]},
            "Weather set: expected a known name, got 'monpellier'; try 'montpellier'",
        ),
        ({"entities": [("Sol", "clay")]}, "entities: expected a known entity, got 'Sol'; try 'Soil'"),
        ({"entities": [3]}, "entities > 0: expected .kind, set."),
        ({"entities": []}, "entities: "),
        ({"shape": None}, "expected either shape or scale"),
        (
            {"shape": {"lenght#nb": 1, "width#nb": 1}},
            "shape > lenght#nb: expected a known key, got 'lenght#nb'; try 'length#nb'",
        ),
        ({"scale": shape}, "expected either shape or scale"),
        ({"localization": {"latitude#°": 91, "longitude#°": 0, "altitude#m": 0}}, "latitude#°: expected"),
    ):
        with pytest.raises(ConfigError, match=words):
            Field(**({"localization": PLACE, "shape": shape, "entities": [SPRING]} | wrong))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"fields": [3]}, "fields > 0: expected a Field, got 3"),
        ({"fields": []}, "fields: "),
        ({"farmers": [3]}, "farmers > 0: expected a Farmer, such as"),
        ({"farmers": ["BasicFarmer"]}, r"got 'BasicFarmer'; try BasicFarmer\(\), with `from harvestgym.farm import"),
        ({"farmers": BasicFarmer()}, "farmers: expected a list, "),
        ({"fields": pond()}, "fields: expected a list, "),
        ({"rules": {}}, "rules: expected an object of the class BasicRule"),
        ({"mode": "aomdp"}, "mode: expected 'fo', 'po' or 'ao'"),
    ],
)
def test_a_wrong_part_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Farm(**({"fields": [pond()]} | wrong))


class Calm(Rule):
    """No more than one order a day, whoever gives it."""

    def permits(self, orders: Any, prices: Any, context: Any) -> Any:
        return jnp.cumsum(orders.kind > 0) <= 1


class Thrift(Term):
    """So much for each day without watering."""

    bonus: Any = par("bonus", "worth of a dry day", low=0, default=1.0)

    def daily(self, context: Any) -> Any:
        return jnp.where(context.today["water#L"] > 0, 0.0, self.bonus)


def own(field: Field) -> Farm:
    rules = BasicRule(free_observations=[(*WATER, [])], max_action_schedule_size=2, further={"calm": Calm()}, horizon=6)
    scoring = BasicScore(stage=0, terms={"thrift": Thrift(bonus=3.0), "price": Tally(prices={"water#L": -0.5})})  # type: ignore[arg-type]
    return Farm([field], [HourlyFarmer()], scoring, rules, mode="po")


def test_rules_terms_and_farmers_of_one_s_own() -> None:
    game = own(pond())
    game.reset(seed=0)
    assert game.farmgym_step([])[1] == 3.0
    _, gain, _, _, info = game.farmgym_step([pour(0, 0, farmer="farmer-0"), pour(0, 1, farmer="farmer-0")])
    assert gain == -1.0 and info["accepted"].tolist() == [True, False]
    assert info["refused"] == [pour(0, 1, farmer="HourlyFarmer-0")]


def test_a_whole_farm_is_a_file(tmp_path: Path) -> None:
    game, path = own(Field(PLACE, {"length#nb": 2, "width#nb": 2}, [SPRING])), tmp_path / "own.yaml"
    game.to_yaml(path)
    back = Farm.from_yaml(path)
    assert back.written == game.written and back.model == game.model and back.name == "own"
    for g in (game, back):
        g.reset(seed=5)
        g.farmgym_step([pour(1, 1, farmer="farmer-0")])
    assert game.observations()[0][4].tolist() == back.observations()[0][4].tolist()
    again = tmp_path / "again.yaml"
    back.to_yaml(again)
    assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert harvestgym.make(str(path)) == back.model


def test_what_lives_in_python_only_is_not_written(tmp_path: Path) -> None:
    class Local(Term):
        """Worth nothing."""

    here = {"localization": PLACE, "shape": {"length#nb": 1, "width#nb": 1}}
    made = Field(**here, entities=[Weather.named("montpellier"), SPRING, REED])
    for game, words in (
        (
            ending((*WATER, []), lambda x: x.sum(), ">", 1),
            "terminal_conditions: expected formulas as strings, got a Python function",
        ),
        (Farm([pond()], scoring=BasicScore(terms={"mine": Local()})), "expected a class at the top of a module"),
        (Farm([made]), "expected a set from a file"),
    ):
        with pytest.raises(ConfigError, match=words):
            game.to_yaml(tmp_path / "no.yaml")
    assert not list(tmp_path.iterdir())


def test_a_catalogue_farm_speaks_too() -> None:
    """Any file of a farm can be played in words, in any mode; its context, if it has one, stays free to see."""
    from harvestgym.farm.family import CATALOGUE

    game = Farm.from_yaml(CATALOGUE / "bean-1x1-v0.yaml", mode="ao")
    assert game.written.mode == "ao" and len(game.language.paths) > 30
    assert ("Field-0", "Plant-0", "harvest") in {(*r.names, r.action.name) for r in game.model.actions.rows}


def test_print_is_a_page() -> None:
    text = str(farm())
    page = (
        "Farm 'farm': 2 x 3 plots, mode ao",
        "Spring-0",
        "Field-0/Spring-0/available_Water#L",
        "stage",
        "BasicFarmer",
    )
    for words in (*page, "Field-0 | Spring-0 | pour | 0.5 | plot: 6; amount#L: [0, 5]"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 110


def test_an_environment_continues_in_its_half_of_the_day() -> None:
    game = farm()
    game.reset(seed=0)
    game.farmgym_step([])
    noon = game.run_state
    game.farmgym_step([CUT])
    assert not game.acting
    game.run_state = noon
    assert game.acting and game.farmgym_step([CUT])[-1]["day"] == 1


def test_importing_the_names_loads_no_jax() -> None:
    import subprocess
    import sys

    code = "import sys, json, harvestgym.farm as f; dir(f); print(json.dumps('jax' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False
    assert harvestgym.farm.Farm is Farm
    with pytest.raises(AttributeError, match="has no attribute 'Frm'"):
        _ = harvestgym.farm.Frm  # type: ignore[attr-defined]
    assert np.all([hasattr(harvestgym.farm, name) for name in harvestgym.farm.__all__])
