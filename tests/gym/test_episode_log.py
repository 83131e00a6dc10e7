"""Episode logs: buffers of frames, pictures with the parameters in force, and those of a batch."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.gym.env import GymEnv
from harvestgym.gym.episode_log import EpisodeLog, FrameBuffer
from tests.long_form import long


def test_picture_shows_the_parameters_in_force() -> None:
    env = GymEnv(harvestgym.make("fishing/logistic-random-v0", Tmax=30), render_mode="svg")
    env.reset(seed=0)
    assert "Year 0 of 30" in env.render()
    env.reset(seed=0, options={"params": dataclasses.replace(env.params, horizon=jnp.int32(7))})
    assert "Year 0 of 7" in env.render()
    env.step(np.float32([-0.9]))
    assert "Year 1 of 7" in env.render()


@long
def test_each_environment_of_a_batch_has_its_own_picture() -> None:
    env: Any = harvestgym.make("fishing/logistic-random-v0", Tmax=30)
    keys = jax.random.split(jax.random.key(0), 3)
    states, first = jax.vmap(env.reset, (0, None))(keys, env.params)
    actions = np.full((3, 1), -0.9, np.float32)
    later, steps = jax.vmap(env.step, (0, 0, 0, None))(keys, states, actions, env.params)
    logs, moved, again = EpisodeLog(env, 3), np.array([True, False, True]), np.array([True, False, False])
    logs.add(states, None, first, env.params)
    logs.add(later, actions, steps, env.params, moved)
    for i, picture in enumerate(logs.render("rgb_array")):
        alone = EpisodeLog(env)
        alone.add(*jax.tree.map(lambda leaf: leaf[i], (states, None, first)), env.params)  # noqa: B023
        if moved[i]:
            alone.add(*jax.tree.map(lambda leaf: leaf[i], (later, actions, steps)), env.params)  # noqa: B023
        np.testing.assert_array_equal(picture, alone.render("rgb_array"))
    logs.add(states, None, first, env.params, again)
    titles = [picture.splitlines()[0] for picture in logs.render("ansi")]
    assert [title.split(" of ")[0] for title in titles] == ["Year 0", "Year 0", "Year 1"]


def test_frame_buffer_grows_and_clears() -> None:
    buffer, number = FrameBuffer(), 200
    for step in range(number):
        buffer.append({"step": step, "place": np.float32([step, 1])})
    assert len(buffer) == number and buffer.record["place"].dtype == np.float32
    np.testing.assert_array_equal(buffer.record["step"], np.arange(number))
    buffer.clear()
    buffer.append({"step": 7})
    assert len(buffer) == 1 and buffer.record["step"].tolist() == [7]


def test_frame_buffer_keeps_the_last_frames() -> None:
    buffer, keep_last = FrameBuffer(keep_last=100), 100
    for step in range(1000):
        buffer.append({"step": step})
        last = buffer.record["step"]
        np.testing.assert_array_equal(last, np.arange(max(0, step + 1 - keep_last), step + 1))


def test_a_small_picture_is_a_square_drawn_at_its_size() -> None:
    env = gymnasium.make("harvestgym:fishing/logistic-v0", render_mode="rgb_array", render_width=64)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    small: Any = env.render()
    assert small.shape == (64, 64, 3) and len(np.unique(small.reshape(-1, 3), axis=0)) > 3
    batch: Any = gymnasium.make_vec("harvestgym:fishing/logistic-v0", 2, render_mode="rgb_array", render_width=64)
    batch.reset(seed=0)
    assert [picture.shape for picture in batch.render()] == [(64, 64, 3)] * 2
    with pytest.raises(ConfigError, match="render_width: expected an integer, 1 or more, got 0"):
        gymnasium.make("harvestgym:fishing/logistic-v0", render_mode="rgb_array", render_width=0)
