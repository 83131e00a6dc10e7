"""The gymnax example in gymnax's own wrappers and in rejax with its default evaluation, where both are installed."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from tests.load_script import script
from tests.long_form import ALL

pytest.importorskip("gymnax")
rejax: Any = pytest.importorskip("rejax")

from gymnax.wrappers.dm_env import GymnaxToDmEnvWrapper  # noqa: E402 # pyright: ignore[reportMissingImports]
from gymnax.wrappers.gym import (  # noqa: E402 # pyright: ignore[reportMissingImports]
    GymnaxToGymWrapper,
    GymnaxToVectorGymWrapper,
)
from gymnax.wrappers.purerl import LogWrapper  # noqa: E402 # pyright: ignore[reportMissingImports]

GymnaxEnv: Any = script("examples/gymnax_env.py").GymnaxEnv

SHORT = ("fishing/tipping-v0", "fishing/logistic-levels-v0", "forager/weather-v0")
IDS = (*SHORT, "farm/bean-1x1-v0", "farm/paid-looks-1x1-v0") if ALL else SHORT


@pytest.mark.parametrize("id", IDS)
def test_the_wrappers_of_gymnax_accept_an_environment(id: str) -> None:
    env = GymnaxEnv(harvestgym.make(id))
    keys = jax.random.split(jax.random.key(0), 3)
    actions = jax.vmap(env.action_space().sample)(keys)
    for wrapped, action in (
        (GymnaxToGymWrapper(env), jax.tree.map(lambda leaf: leaf[0], actions)),
        (GymnaxToVectorGymWrapper(env, 3), actions),
    ):
        obs, _ = wrapped.reset(seed=0)
        spaces = wrapped.observation_space, wrapped.action_space
        assert all(space.sample() is not None for space in spaces)
        after = wrapped.step(action)[0]
        assert jax.tree.map(np.shape, after) == jax.tree.map(np.shape, obs)
    action = jax.tree.map(lambda leaf: leaf[0], actions)
    after = GymnaxToDmEnvWrapper(env).step(keys[1], GymnaxToDmEnvWrapper(env).reset(keys[0]), action)
    _, state = LogWrapper(env).reset(keys[0])
    *_, terminated, truncated, info = LogWrapper(env).step(keys[1], state, action)
    assert after.discount == 1 - terminated and info["returned_episode"] == terminated | truncated
    assert int(env.default_params.max_steps_in_episode) > 1


TRAINED = [("fishing/tipping-v0", "SAC"), ("fishing/logistic-levels-v0", "PPO")]
if ALL:
    TRAINED += [("forager/weather-5000-v0", "PPO"), ("forager/two-biome-v0", "DQN"), ("farm/bean-1x1-v0", "DQN")]


@pytest.mark.parametrize(("id", "name"), TRAINED)
def test_rejax_evaluates_by_default(id: str, name: str) -> None:
    sizes = {"num_steps": 8, "num_minibatches": 2} if name == "PPO" else {"buffer_size": 64, "batch_size": 8}
    algorithm = getattr(rejax, name).create(
        env=GymnaxEnv(harvestgym.make(id)).legacy(), total_timesteps=64, eval_freq=64, num_envs=4,
        skip_initial_evaluation=True, **sizes,
    )  # fmt: skip
    _, (lengths, returns) = jax.jit(algorithm.train)(jax.random.key(0))
    assert np.all(lengths > 0) and np.all(np.isfinite(returns))
