"""All that a user can do, by public names: one line for each capability, short ids, small sizes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from harvestgym.cli.app import app
from harvestgym.core.policy import random_policy
from harvestgym.evaluate.score import score
from harvestgym.evaluate.suite import run_suite
from harvestgym.farm import BasicFarmer, BasicRule, BasicScore, Farm, Field, FilesWritten, Plant, Soil, Weather
from tests.long_form import long

BEAN, STOCK, WORLD = "farm/bean-1x1-v0", "fishing/logistic-v0", "forager/two-biome-v0"
FAMILIES = pytest.mark.parametrize("id", [BEAN, STOCK, WORLD])


@FAMILIES
def test_one_environment_is_played_shown_copied_and_saved(id: str, tmp_path: Path) -> None:
    env: Any = gymnasium.make(f"harvestgym:{id}", render_mode="rgb_array")
    env.reset(seed=0)
    action = env.action_space.sample() if id != STOCK else np.float32([-0.9])
    env.step(action)
    assert env.render().shape[2] == 3
    harvestgym.save(env, tmp_path / "middle")
    twins = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env)), harvestgym.load(tmp_path / "middle")]
    rewards = [twin.step(action)[1] for twin in [env.unwrapped.clone(), *twins]]
    assert rewards == [rewards[0]] * 5


@long
@FAMILIES
def test_many_environments_step_in_one_call_and_in_a_compiled_rollout(id: str) -> None:
    envs = harvestgym.make_vec(id, num_envs=3)
    envs.reset(seed=0)
    assert envs.step(envs.action_space.sample())[1].shape == (3,)
    env = harvestgym.make(id)
    played = harvestgym.rollout(env, random_policy(env), jax.random.key(0), num_envs=2, num_steps=4)
    assert played.reward.shape == (4, 2)


@long
def test_the_farm_of_the_paper_is_written_in_python(tmp_path: Path) -> None:
    place = {"latitude#°": 43.3, "longitude#°": -5.6, "altitude#m": 10.0}
    shape = {"length#nb": 1, "width#nb": 2, "scale#m": 1.0}
    field = Field(place, shape, [(Weather, "seattle"), (Soil, "clay"), (Plant, "bean")])
    rules = BasicRule(
        init_configuration=str(tmp_path / "init.yaml"),
        actions_configuration=str(tmp_path / "actions.yaml"),
        terminal_conditions=[[(("Field-0", "Plant-0", "stage", [(0, 0)]), lambda x: x.value, "in", ["dead", "ripe"])]],
        free_observations=[("Field-0", "Plant-0", "stage", "*")],
    )
    with pytest.warns(FilesWritten, match="init.yaml"):
        farm = Farm([field], [BasicFarmer(max_daily_interventions=1)], BasicScore(), rules)
    farm.reset(seed=0)
    farm.step([])
    order = ("BasicFarmer-0", "Field-0", "Soil-0", "watering_discrete",
             {"plot": (0, 1), "amount#L": 5, "duration#min": 60})  # fmt: skip
    farm.farmgym_step([order])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["actions.yaml", "init.yaml"]


@pytest.mark.parametrize("interface", ["discrete", "multidiscrete", "box", pytest.param("map", marks=long)])
def test_a_farm_has_interfaces_for_learners(interface: str) -> None:
    env: Any = gymnasium.make("farm/bean-1x1-v0", interface=interface)
    assert env.observation_space.contains(env.reset(seed=0)[0])


COMMANDS = {
    "list": "list --tag watering",
    "list of several agents": "list --multi-agent",
    "show": f"show {STOCK} all",
    "show a farm": f"show {BEAN}",
    "schema": "schema",
    "run": f"run {STOCK} --episodes 2 --out OUT/run",
    "run and show": f"run {STOCK} --episodes 1 --html OUT/page.html --gif OUT/film.gif",
    "score": f"score {STOCK} --episodes 4",
    "suite": "suite",
    "record": f"record {STOCK} --out OUT/seasons.parquet --episodes 2",
    "tune": f"tune {STOCK} --candidates 32 --seasons 2 --out OUT/tuned.yaml",
    "new farm": "new farm OUT/my-farm.yaml",
    "new fishery": "new fishery OUT/my-fishery.yaml",
    "new forager": "new forager OUT/my-world.yaml",
    "new entity": "new entity Mulch --folder OUT",
    "cache": "cache show",
}
REPEATED = ("run", "score", "tune")
"""Commands that `tests/cli` and `tests/evaluate` run, too."""


@pytest.mark.parametrize("command", [pytest.param(c, marks=long) if c in REPEATED else c for c in COMMANDS])
def test_the_command_line_does(command: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, COMMANDS[command].replace("OUT", str(tmp_path)).split())
    assert done.exit_code == 0, done.output


def test_a_policy_is_scored_in_one_call() -> None:
    assert score(STOCK, lambda obs: np.float32([-0.9]), episodes=4).value is not None


def test_a_policy_is_scored_on_the_core_suite_in_one_call() -> None:
    found = run_suite("none", ["fishing/us-stocks-v0"], seasons=4)
    assert found.scores["fishing/us-stocks-v0"].value == 0
