"""Every registered farm: the contract, and Gymnasium's and SB3's checkers."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import harvestgym
from harvestgym.adapters.gymnasium import GymEnv
from harvestgym.farm.active import ActiveFarm
from harvestgym.farm.faces import face
from harvestgym.testing import check_env

from ..short import some

IDS = harvestgym.ids("farm")
FACES = some(
    IDS, "-clay-1x1-v0", "-sand-1x1-v0", "full-3x4-v0", "two-climates-v0", "paid-looks-1x1-v0", "contexts-1x1-v0"
)
"""Among them every form of action, observation and reset that a face of a farm has."""
CROPS, SOILS = ("bean", "corn", "tomato"), ("clay", "loam", "sand", "silt")
ONE_PLOT = [f"farm/{crop}-{soil}-1x1-v0" for crop in CROPS for soil in SOILS]


@pytest.mark.parametrize("id", IDS)
def test_keeps_the_contract(id: str) -> None:
    check_env(harvestgym.make(id))


@pytest.mark.parametrize("id", FACES)
def test_gymnasium_finds_nothing_to_warn_of(id: str) -> None:
    """Warnings are errors here; pictures have tests of their own."""
    env = gymnasium.make(id)
    gymnasium_check(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize("id", FACES)
def test_stable_baselines3_finds_nothing_to_warn_of(id: str) -> None:
    """Where observations are asked for, an action is a dict, which it does not support: there the Discrete face."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = harvestgym.make(id)
    asks = isinstance(env, ActiveFarm)
    checker.check_env(GymEnv(face(env, "discrete")) if asks else gymnasium.make(id).unwrapped)


def test_one_plot_farms_share_one_compiled_program() -> None:
    """They differ in numbers alone."""
    envs = [harvestgym.make(id) for id in ONE_PLOT]
    assert len(set(envs)) == 1
    shapes = {jax.tree.structure(env.params) for env in envs}
    assert len(shapes) == 1


def test_a_season_on_other_weather_is_another_season() -> None:
    ids = {"seattle": None, "montpellier": {"Weather-0": "montpellier"}, "lille": {"Weather-0": "lille"}}
    obs = {}
    for name, entities in ids.items():
        env = harvestgym.make("farm/bean-clay-1x1-v0", entities=entities or {})
        _, first = env.reset(jax.random.key(0), env.params)
        obs[name] = np.asarray(first.obs)
    assert len({tuple(o) for o in obs.values()}) == 3
