"""The snippets of section 3 of the paper, as printed, in its order, with their import lines added.

Not run, and why:
- the loop of section 2 as printed: `step` gives five values (Gymnasium), not four; else the loop below is the same;
- `self.variables["wind"] = {…Range…}` (3.1): inside an entity a variable is declared with `var()`, see docs/entity.md;
- the stopping conditions of 3.1.3: the parentheses do not balance; below they do.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.farm import (
    BasicFarmer,
    BasicRule,
    BasicScore,
    Farm,
    Fertilizer,
    Field,
    FilesWritten,
    Pests,
    Plant,
    Soil,
    Weather,
    mat2d_value,
    sum_value,
)
from harvestgym.farm.paper.spaces import MultiUnion
from tests.long_form import long

free_observations = [ ('Field-0', 'Weather-0', 'rain_amount', []),
                     ('Field-0', 'Weather-0', 'air_temperature', ['max#°C']),
                     ('Field-0', 'Soil-0', 'available_Water#L', []) ]  # fmt: skip

term_conditions = [[(('Field-0', 'Weather-0', 'day#int365', []), id, '>=', 250)],
  [(('Field-0', 'Plant-0', 'global_stage', []), id, 'in', ['harvested', 'dead'])]]  # fmt: skip

INIT = """
Field-0:
  Weather-0:
    day#int365: [50, 57, 64]
  Soil-0:
    microlife_health_index%: 80.0
  Plant-0:
    stage: seed
"""

ALL = """
interventions:
  Field-0:
    Soil-0:
      watering_discrete:
        plot: ['(0, 0)', '(1, 0)', '(2, 0)']
        amount#L: [1.0, 2.0, 3.0, 4.0, 5.0]
        duration#min: [30, 60]
      watering_continuous:
        plot: ['(0, 0)', '(1, 0)', '(2, 0)']
        amount#L: (1, 10)
        duration#min: [30, 60]
    Plant-0:
      sow:
        plot: ['(0, 0)', '(1, 0)', '(2, 0)']
        amount: [1, 3, 5, 10, 15, 20, 25, 30]
        spacing#cm: [5, 10, 15, 20]
      harvest:
        micro_harvest:
          plot: ['(0, 0)', '(1, 0)', '(2, 0)']
        remove:
          plot: ['(0, 0)', '(1, 0)', '(2, 0)']
"""

FEW = """
interventions:
  Field-0:
    Soil-0:
      watering_continuous:
        plot: ['(0, 0)', '(1, 0)', '(2, 0)']
        amount#L: (5, 10)
        duration#min: [30]
    Plant-0:
      harvest:
"""

OBSERVATIONS = """
observations:
  Field-0:
    Weather-0:
      wind:
        '*':
    Soil-0:
      available_Water#L: ['*', '(0, 0)', '(1, 0)', '(2, 0)']
  Plant-0:
    global_stage:
      size#cm: ['*', '(0, 0)', '(1, 0)', '(2, 0)']
"""

PARAMS = """
params:
  max_action_schedule_size: 5
"""


def simple(length: int = 3, width: int = 1) -> Field:
    return Field( localization={'latitude#°': 0, 'longitude#°': 0, 'altitude#m': 100},
               shape={'length#nb': length, 'width#nb': width, 'scale#m': 1.},
               entities=[(Weather, 'montpellier'), (Soil, 'clay'), (Plant, 'bean')])  # fmt: skip


def farm(folder: Path, actions: str, **rules: Any) -> Farm:
    (folder / "actions.yaml").write_text(actions, encoding="utf-8")
    return Farm(fields=[simple()], rules=BasicRule(actions_configuration=folder / "actions.yaml", **rules))


def test_3_1_a_field_with_a_single_plant() -> None:
    field1=Field(    localization={'latitude#°': 0, 'longitude#°': 0, 'altitude#m': 100},
                 scale={'length#nb': 8, 'width#nb': 4, 'scale#m': 1.},
                 entities=[(Plant,'bean')] )  # fmt: skip
    assert (field1.spec.shape.length, field1.spec.shape.width) == (8, 4)
    with pytest.raises(ConfigError, match="got 0; try adding a Soil and a Weather to its entities"):
        Farm(fields=[field1])


def test_3_1_1_actions() -> None:
    field = Field(
        localization={"latitude#°": 0, "longitude#°": 0, "altitude#m": 100}, shape={"length#nb": 3, "width#nb": 4},
        entities=[(Weather, "montpellier"), (Soil, "clay"), (Plant, "bean"), (Fertilizer, "fast_all")],
    )  # fmt: skip
    language = Farm(fields=[field]).language
    farmer_0, field_0, plant_0, fertilizer_0 = "farmer-0", "field-0", "plant-0", "fertilizer-0"
    whole, one = (language.from_tuple((farmer_0, field_0, plant_0, "size#cm", path)) for path in ([], [(2, 3)]))
    assert language.to_tuple(one) == ("BasicFarmer-0", "Field-0", "Plant-0", "size#cm", [(2, 3)]) and one != whole
    limits = {p.key: p.range for a in Fertilizer.actions for p in a.parameters if p.continuous}
    amount = min(0.5, limits["amount#kg"][1])
    move = language.from_tuple((farmer_0, field_0, fertilizer_0, "scattering", {"plot": (2, 3), "amount#kg": amount}))
    assert language.to_tuple(move)[3:] == ("scatter", {"plot": (2, 3), "amount#kg": amount})
    harvest = language.from_tuple((farmer_0, field_0, plant_0, "harvest", {}))
    assert language.to_tuple(harvest) == ("BasicFarmer-0", "Field-0", "Plant-0", "harvest", {})


@long
def test_3_1_3_rules_and_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game0_init.yaml").write_text(INIT, encoding="utf-8")
    rules= BasicRule( init_configuration='game0_init.yaml',
                  actions_configuration='game0_actions.yaml',
                  free_observations=free_observations,
                  terminal_conditions=term_conditions)  # fmt: skip
    with pytest.warns(FilesWritten, match="generated game0_actions.yaml"):
        game0 = Farm(fields=[simple()], rules=rules)
    days, lives = set(), set()
    for seed in range(12):
        game0.reset(seed=seed)
        days.add(int(find(game0, "Weather-0", "day#int365")))
        lives.add(float(np.ptp(find(game0, "Soil-0", "microlife_health_index#%"))))
        assert (find(game0, "Soil-0", "microlife_health_index#%") == 80).all()
        assert (find(game0, "Plant-0", "stage") == 1).all()
    assert days == {50, 57, 64} and lives == {0.0}
    labels = [item[2:4] for item in game0.observations()]
    assert labels == [("rain_amount", []), ("air_temperature", ["max#°C"]), ("available_Water#L", [])]
    assert game0.observations()[2][4].shape == (3, 1)


def find(game: Farm, entity: str, key: str) -> np.ndarray:
    variable = next(v for v in game.model.variables if v.where[1] == entity and v.key == key)
    return np.asarray(game.model.value(variable, game.run_state.state, game.params))


def counts(game: Farm) -> tuple[int, int]:
    """Base actions as the paper counts them: those of numbers and words, and those with a continuous amount."""
    discrete = continuous = 0
    for row in game.model.actions.rows:
        n = math.prod(len(p.choices) for p in row.allowed if not p.continuous) * (
            len(row.plots) if row.action.plot else 1
        )
        if any(p.continuous for p in row.allowed):
            continuous += n
        else:
            discrete += n
    return discrete, continuous


def test_3_1_3_the_number_of_actions(tmp_path: Path) -> None:
    """The paper says 60 + 96 + 1 + 3 + 3 = 163 discrete and 12 continuous ones of the file that it prints.

    The file has two durations: discrete watering is 3 plots x 5 amounts x 2 durations = 30, not 60, and continuous
    watering 3 x 2 = 6, not 12. Both are right for four durations, or for each action counted twice; sowing (3 x 8 x 4 =
    96), harvest, micro_harvest and remove agree, and so does the restricted file: 1 and 3.
    """
    whole = farm(tmp_path, ALL)
    assert counts(whole) == (30 + 96 + 1 + 3 + 3, 6)
    assert counts(whole) == (163 - 60 // 2, 12 // 2)
    assert counts(farm(tmp_path, FEW)) == (1, 3)


@long
def test_3_1_3_observation_actions_and_a_day_that_exceeds_250(tmp_path: Path) -> None:
    """Ten observations, with three stars, as the paper says (and `global_stage`, whole without one)."""
    event = (('Field-0', 'Weather-0', 'day#int365', []), lambda x: x.value, '>', 250)  # fmt: skip
    start = {"Field-0": {"Weather-0": {"day#int365": 250}}}
    game = farm(tmp_path, OBSERVATIONS + PARAMS, terminal_conditions=[[event]], init=start)
    assert len(game.language.paths) == 10
    assert sum(ask.plot is None for ask in game.language.paths) == 3 + 1
    assert str(game.action_space).startswith("MultiUnion[5](" + 9 * "Discrete(1), ")
    game.reset(seed=0)
    ask = ("BasicFarmer-0", "Field-0", "Weather-0", "wind", ["*"])
    items = game.farmgym_step([ask, ("BasicFarmer-0", "Field-0", "Soil-0", "available_Water#L", ["*"])])[0]
    assert set(items[0][4]) == {"speed#km.h-1", "direction"} and items[1][4].size == 3
    assert game.step(())[2] is True, "the day after is number 251"
    written = [str(condition) for condition in game.written.rules.terminal_conditions]
    assert written == ["Weather-0.day#int365 > 250"], "a mapping that changes nothing needs no Python"


def test_3_1_5_spaces_and_conversion(tmp_path: Path) -> None:
    """Three observations, two interventions and m = 2, as printed there."""
    actions = """
interventions:
  Field-0:
    Soil-0:
      watering_discrete: {amount#L: [1, 2, 3, 4, 5]}
    Plant-0: {micro_harvest: }
observations:
  Field-0:
    Plant-0: {global_stage: }
    Soil-0: {available_Water#L: ['*'], available_N#g: ['*']}
params: {max_action_schedule_size: 2}
"""
    game = farm(tmp_path, actions)
    assert isinstance(game.action_space, MultiUnion)
    watering = "Dict('amount#L': Discrete(5), 'duration#min': Discrete(2), 'plot': Discrete(3))"
    assert str(game.action_space) == f"MultiUnion[2](Discrete(1), Discrete(1), Discrete(1), {watering}, " + (
        "Dict('plot': Discrete(3)))"
    )
    wanted = ('BasicFarmer-0', 'Field-0', 'Soil-0', 'available_Water#L', [])  # fmt: skip
    assert game.gymaction_to_farmgymaction((1, 0)) == wanted


def test_3_2_a_simple_game_and_the_loop_of_section_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    field = simple(4, 3)
    rules = BasicRule( init_configuration='game0_init.yaml',
                   actions_configuration='game0_actions.yaml',
                   free_observations=free_observations,
                   terminal_conditions=term_conditions)  # fmt: skip
    scoring = BasicScore( cost_configuration='game0_cost.yaml',
                      reward_configuration='game0_reward.yaml')  # fmt: skip
    with pytest.warns(FilesWritten):
        farm = Farm( fields=[field], farmers=[BasicFarmer(max_daily_interventions=1)],
             rules=rules, scoring=scoring )  # fmt: skip
    names = ("init", "actions", "cost", "reward")
    assert all(isinstance(yaml_io.read_file(Path(f"game0_{name}.yaml")), dict) for name in names)
    farm.reset(seed=0)
    farm.action_space.seed(0)
    rewards, days, done = [], 0, False
    while not done and days < 5:
        _, _, _, _, info = farm.step(farm.action_space.sample())
        obs_cost = info["observation cost"]
        _, gain, done, _, info = farm.step(farm.action_space.sample())
        int_cost = info["intervention cost"]
        rewards.append(gain - obs_cost - int_cost)
        days += 1
    assert days == 5 and np.isfinite(rewards).all()


@long
def test_3_1_5_and_3_2_pictures_films_and_monitored_variables(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The tuples as printed, of a field with pests too."""
    place = {'latitude#°': 0, 'longitude#°': 0, 'altitude#m': 100}  # fmt: skip
    entities = [(Weather, "montpellier"), (Soil, "clay"), (Plant, "bean"), (Pests, "basic")]
    X, Y = 2, 1  # noqa: F841  as printed, the third argument of mat2d_value is x
    field = Field(localization=place, shape={"length#nb": X, "width#nb": Y, "scale#m": 1.0}, entities=entities)
    farm = Farm(fields=[field], mode="po", render_mode="rgb_array")
    print(farm)
    assert "Pests-0" in capsys.readouterr().out
    var = []
    var.append(("Field-0", "Soil-0", "available_N#g", lambda x:sum_value(x),
           "Available Nitrogen (g)", 'range_auto'))  # fmt: skip
    var.append(('Field-0', 'Plant-0', 'size#cm', lambda x: x[0,0].value, "Size (cm)", 'range_auto'))  # fmt: skip
    var.append(
('Field-0', 'Pests-0', 'plot_population#nb', lambda x: mat2d_value(x, Y, x), "Plot population (nb)", 'range_auto')
    )  # fmt: skip
    with pytest.warns(UserWarning, match="the plot is kept in memory"):
        shown = farm.add_monitoring(var)
    with shown, farm.add_monitoring(var, tmp_path / "season.csv"):
        farm.reset(seed=0)
        for _ in range(3):
            farm.farmgym_step([])
    assert len(shown.sinks[0].figure.axes) >= 3, "drawn without a window"
    assert farm.render().shape[2] == 3
    assert farm.generate_gif(tmp_path / "farm.gif").stat().st_size > 1000
    assert farm.generate_video(tmp_path / "farm.mp4").stat().st_size > 1000
    assert "Size (cm)" in (tmp_path / "season.csv").read_text(encoding="utf-8").partition("\n")[0]
