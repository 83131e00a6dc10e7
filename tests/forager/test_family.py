"""Every registered id: both engines agree; catalogue files, figures, the expert."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.rollout import evaluate
from harvestgym.forager.family import CATALOGUE, build_forager, figure, make, policies, summary
from tests.long_form import ALL, long, some

from .test_truth import assert_engines_agree
from .worlds import SMALL

NAMES = sorted(path.stem for path in CATALOGUE.glob("*-v[0-9]*.yaml"))


@pytest.mark.parametrize("name", some(NAMES, "flowers-v0"))
def test_both_engines_agree_for_every_id(name):
    assert_engines_agree(make(name), 17, 600 if ALL else 100)


@long
def test_the_expert_distinguishes_foods_of_one_colour_by_their_biome():
    model = make("relearning-v0")
    expert = policies(model)["expert"]
    episodes = evaluate(model, expert, jax.random.key(0), 4, 200)
    assert summary(model, episodes)["reward per step"].min() > 1


def test_a_figure_is_drawn_from_a_record():
    steps = 20
    columns = ("x#cell", "y#cell", "clock#step", "reward_rate", "reward", "biome_regret")
    drawn = figure(build_forager(SMALL), {c: np.linspace(0, 1, steps) for c in columns})
    assert [panel.get_title() for panel in drawn.axes][:2] == ["Path (later steps are lighter)", "Reward per step"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": {}}, "try 'kinds'"),
        ({"density": {"figs": 0.1}}, "try 'fig'"),
        ({"density": {"fig": 1.2}}, "density > fig: expected less than or equal to 1"),
        ({"density": {"fig": 0.7, "wall": 0.7}}, "objects, got"),
        ({"aperture": [4, 5]}, "expected odd"),
        ({"hint": [11, 10]}, "0 <= shown <= every"),
        ({"regions": {"a": {"x": 10, "y": 0, "width": 9, "height": 3}}}, "expected cells in the"),
        ({"kinds": {"fig": {"reward": {"sin": {}}}}}, "try 'sine'"),
        ({"kinds": {"fig": {"reward": {"sine": {"periods": 3}}}}}, "periods"),
        ({"teleport_every": 5, "teleport_to": ["worlds"]}, "try 'world'"),
        ({"teleport_to": ["world"]}, "teleport_every: expected a number of steps, because teleport_to is given"),
    ],
)
def test_a_bad_catalogue_file_is_refused_with_what_to_do(change, says):
    with pytest.raises(ConfigError, match=says):
        build_forager(SMALL | change)


def test_an_endless_episode_is_evaluated_over_its_beginning():
    assert make("flowers-v0").evaluation_steps == 5_000
    assert build_forager(SMALL).evaluation_steps == 40


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(ConfigError, match="try 'two-biome-v0'"):
        make("two-biomes-v1")
