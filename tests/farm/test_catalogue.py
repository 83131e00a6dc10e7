"""Every registered farm: the contract, the checkers of Gymnasium and Stable-Baselines3, the tags."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import harvestgym
from harvestgym.farm.family import CATALOGUE
from harvestgym.farm.learn.action_wrappers import wrap_actions
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from harvestgym.farm.schema import FarmSpec
from harvestgym.gym.env import GymEnv
from harvestgym.testing import check_env
from tests.long_form import long, some

IDS = harvestgym.ids("farm")
SMALL = ("bean-1x1-v0", "paid-looks-1x1-v0", "contexts-1x1-v0")
"""Farms with every form of action, observation and reset."""

STEPPED = some(IDS)
"""Farms that the contract test steps: in the long form all, in the short one none, as `tests/test_contract.py` steps
those with all kinds of entities, paid observations and contexts."""

WRAPPED = some(IDS, *SMALL)
"""Farms that the checkers of other libraries step."""
CROPS, SOILS = ("bean", "corn", "tomato"), ("clay", "loam", "sand", "silt")
ONE_PLOT = [id for id in IDS if id.rpartition("-v")[0] in {f"farm/{crop}-1x1" for crop in CROPS}]


@pytest.mark.parametrize("id", some(IDS, *SMALL, "rotation-v0", "full-3x4-v0"))
def test_keeps_the_contract(id: str) -> None:
    """Without steps only structures, shapes and dtypes are checked, which compiles nothing."""
    check_env(harvestgym.make(id), steps=32 if id in STEPPED else 0)


@pytest.mark.parametrize("id", some(WRAPPED, "bean-1x1-v0"))
def test_gymnasium_checker_passes(id: str) -> None:
    """Warnings are errors here; every render mode is checked."""
    env = gymnasium.make(id)
    gymnasium_check(env.unwrapped)


@pytest.mark.torch
@pytest.mark.parametrize("id", some(WRAPPED, "paid-looks-1x1-v0"))
def test_stable_baselines3_checker_passes(id: str) -> None:
    """An active farm has dict actions, which SB3 does not support: there the Discrete wrapper is checked."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = harvestgym.make(id)
    asks = env.asks
    checker.check_env(GymEnv(wrap_actions(env, "discrete")) if asks else gymnasium.make(id).unwrapped)


DIFFICULTIES = {
    "weeds", "all-kinds", "many-actions", "large-field", "paper", "herbicide", "paid-observations", "coupling",
    "pollinators", "timing", "polyculture", "climates", "rotation", "years", "contextual", "schedule", "watering",
}  # fmt: skip
"""Tags that each have a farm."""
SETS = {*CROPS, "carrots", *SOILS, "herbicide", "pesticide"}
ALL_KINDS = {
    "Weather", "Soil", "Plant", "Birds", "Weeds", "Pests", "Pollinators", "Cide", "Fertilizer", "Facility",
}  # fmt: skip
"""What the tag `all-kinds` means: a kind that is added later does not change the farms of v0."""
NAMED = {"weeds": "Weeds", "pests": "Pests", "pollinators": "Pollinators", "fertilizer": "Fertilizer"}


def test_each_difficulty_has_a_farm() -> None:
    tags = {tag for id in IDS for tag in farm(id).tags}
    assert tags >= DIFFICULTIES


@pytest.mark.parametrize("id", IDS)
def test_tags_name_what_the_farm_has(id: str) -> None:
    """Tags agree with the entities, the number of fields and the number of plots."""
    spec = farm(id)
    tags, entities = set(spec.tags), [entity for field in spec.fields.values() for entity in field.entities]
    sets = {which if isinstance(which, str) else which.get("extends") for _, which in entities}
    sets |= {name.removesuffix("_early") for name in sets if name}
    kinds = {str(kind) for kind, _ in entities}
    assert tags & SETS <= sets
    assert {kind for tag, kind in NAMED.items() if tag in tags} <= kinds
    assert ("all-kinds" in tags) == (kinds == ALL_KINDS) and ("two-fields" in tags) == (len(spec.fields) == 2)
    shape = next(iter(spec.fields.values())).shape
    size = id.rpartition("-v")[0].rpartition("-")[2]
    assert "x" not in size or size == f"{shape.length}x{shape.width}"
    assert ("one-plot" in tags) == (len(spec.fields) * shape.length * shape.width == 1)


def farm(id: str) -> FarmSpec:
    """Read the file of an id."""
    return read_any_farm(CATALOGUE / f"{id.partition('/')[2]}.yaml")


def test_one_plot_farms_differ_in_numbers_only() -> None:
    envs = [harvestgym.make(id, soil=soil) for id in ONE_PLOT for soil in SOILS]
    assert len(envs) == 12
    assert len(set(envs)) == 1
    shapes = {jax.tree.structure(env.params) for env in envs}
    assert len(shapes) == 1


@long
def test_other_weather_gives_another_season() -> None:
    ids = {"seattle": None, "montpellier": {"Weather-0": "montpellier"}, "lille": {"Weather-0": "lille"}}
    reset, obs = jax.jit(lambda env, key, params: env.reset(key, params)[1].obs, static_argnums=0), {}
    for name, entities in ids.items():
        env = harvestgym.make("farm/bean-1x1-v0", entities=entities or {})
        obs[name] = np.asarray(reset(env, jax.random.key(0), env.params))
    assert len({tuple(o) for o in obs.values()}) == 3
