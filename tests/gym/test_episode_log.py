"""Pictures of what is going on: with the parameters in force, and of a batch those of each of its environments."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import harvestgym
from harvestgym.gym.env import GymEnv
from harvestgym.gym.episode_log import BatchEpisodeLog, EpisodeLog


def test_a_picture_shows_the_parameters_in_force() -> None:
    env = GymEnv(harvestgym.make("fishing/logistic-random-v0", Tmax=30), render_mode="svg")
    env.reset(seed=0)
    assert "Year 0 of 30" in env.render()
    env.reset(seed=0, options={"params": dataclasses.replace(env.params, horizon=jnp.int32(7))})
    assert "Year 0 of 7" in env.render()
    env.step(np.float32([-0.9]))
    assert "Year 1 of 7" in env.render()


def test_each_of_a_batch_has_its_own_picture() -> None:
    env: Any = harvestgym.make("fishing/logistic-random-v0", Tmax=30)
    keys, three = jax.random.split(jax.random.key(0), 3), np.ones(3, bool)
    states, first = jax.vmap(env.reset, (0, None))(keys, env.params)
    actions = np.full((3, 1), -0.9, np.float32)
    later, steps = jax.vmap(env.step, (0, 0, 0, None))(keys, states, actions, env.params)
    lives, moved = BatchEpisodeLog(env, 3), np.array([True, False, True])
    lives.begin(three, states, first, env.params)
    lives.add(moved, later, actions, steps, env.params)
    for i, picture in enumerate(lives.pictures("rgb_array")):
        alone = EpisodeLog(env)
        alone.add(*jax.tree.map(lambda leaf: leaf[i], (states, None, first)), env.params)  # noqa: B023
        if moved[i]:
            alone.add(*jax.tree.map(lambda leaf: leaf[i], (later, actions, steps)), env.params)  # noqa: B023
        np.testing.assert_array_equal(picture, alone.picture("rgb_array"))
    lives.begin(np.array([True, False, False]), states, first, env.params)
    titles = [picture.splitlines()[0] for picture in lives.pictures("ansi")]
    assert [title.split(" of ")[0] for title in titles] == ["Year 0", "Year 0", "Year 1"]
