"""Farms of any size, in every mode and through every interface: they reset and step, and compile as they should."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.farm import BasicRule, Farm, Field, Plant, Soil, Weather
from harvestgym.farm.family import CATALOGUE
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.long_form import ALL, long

MODES = ("fo", "po", "ao")
PLACE = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}
ENTITIES = [
    ["Plant", "bean"], ["Plant", "corn"], ["Weeds", "base_weed"], ["Pests", "basic"], ["Birds", "base_bird"],
    ["Pollinators", "bee"], ["Fertilizer", "basic_N"], ["Cide", "pesticide"], ["Facility", "base_facility"],
]  # fmt: skip
LARGEST_FIELD, LONGEST_SCHEDULE, STEPS = 10, 12, 4

FARMS = [(mode, seed) for mode in MODES for seed in range(20)] if ALL else []
CATALOGUED = harvestgym.ids("farm") if ALL else []


def random_farm(seed: int) -> dict[str, Any]:
    """Return a farm of one or two fields up to 10x10 plots, with a schedule of up to twelve orders."""
    draw = random.Random(seed)
    fields = {
        f"Field-{i}": {
            "localization": PLACE,
            "shape": {side: draw.randint(1, LARGEST_FIELD) for side in ("length#nb", "width#nb")},
            "entities": [["Weather", "lille"], ["Soil", "loam"], *draw.sample(ENTITIES, draw.randint(1, 3))],
        }
        for i in range(draw.randint(1, 2))
    }
    return {"fields": fields, "rules": {"max_action_schedule_size": draw.randint(1, LONGEST_SCHEDULE)}}


def play(env: Any, seed: int = 0) -> None:
    """Step a Gymnasium environment, or a vector of them, with random actions; its spaces hold what it returns."""
    space = getattr(env, "single_observation_space", env.observation_space)
    env.action_space.seed(seed)
    assert env.observation_space.contains(env.reset(seed=seed)[0]), space
    for _ in range(STEPS):
        obs, reward, *_ = env.step(env.action_space.sample())
        assert env.observation_space.contains(obs) and np.isfinite(reward).all()
    env.close()


def play_everywhere(id: str, mode: str) -> None:
    """Through the class of the paper, one environment, a vector environment and a rollout."""
    path = str(CATALOGUE / f"{id.partition('/')[2]}.yaml") if id.startswith("farm/") else id
    play(Farm.from_yaml(path, mode=mode))
    env = harvestgym.make(id, mode=mode)
    play(GymEnv(env))
    play(VecEnv(env, 2))
    assert np.isfinite(rollout(env, random_policy(env), jax.random.key(0), 2, STEPS).reward).all()


@pytest.fixture(autouse=True)
def no_fallback(caplog: pytest.LogCaptureFixture) -> Any:
    """Fail if a program could not be compiled as intended: that logs a warning."""
    caplog.set_level(logging.WARNING, "harvestgym")
    yield
    free_programs_if_full()  # sixty farms have more programs than a process may hold
    assert [record.getMessage() for record in caplog.records if record.name == "harvestgym"] == []


@long
def test_a_farm_of_the_sizes_of_the_paper_steps_in_both_halves_of_a_day() -> None:
    """8x4 plots and five orders a day."""
    shape = {"length#nb": 8, "width#nb": 4, "scale#m": 1.0}
    field = Field(PLACE, shape, [(Weather, "montpellier"), (Soil, "loam"), (Plant, "bean")])
    farm = Farm([field], rules=BasicRule(max_action_schedule_size=5))
    farm.farmgym_reset(seed=0)
    look = ("BasicFarmer-0", "Field-0", "Plant-0", "size#cm", [(7, 3)])
    assert farm.farmgym_step([look])[0][-1][:4] == ("Field-0", "Plant-0", "size#cm", [(7, 3)])
    assert farm.farmgym_step([])[4]["day"] == 1


@pytest.mark.parametrize(("mode", "seed"), FARMS)
def test_random_farms_step_through_every_interface(mode: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "farm.yaml"
    path.write_text(json.dumps(random_farm(seed), ensure_ascii=False), encoding="utf-8")
    play_everywhere(str(path), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("id", CATALOGUED)
def test_farms_of_the_catalogue_step_in_every_mode_through_every_interface(id: str, mode: str) -> None:
    play_everywhere(id, mode)
