"""The episode loop: each variant equals the environment driven step by step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import start_episode
from harvestgym.core.env import Timestep
from harvestgym.core.episode import (
    Loop,
    episode_keys,
    make_frame,
    play_in_batch,
    run_to_end,
    scan_steps,
    start_batch,
    step_with_advance,
)
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.rollout import evaluate
from tests.toy_env import Stock

ENV = Stock()
BATCH, STEPS = 5, 6
LONGER_THAN_ANY_EPISODE = 20


def count_years(carry: jax.Array, obs: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the number of the step, at most 3, as action."""
    return carry + 1, jnp.minimum(carry, 3)


COUNT = Policy(jnp.int32(0), count_years)


def keep_reward(loop: Loop, action: Any, last: Timestep) -> jax.Array:
    return last.reward


def test_scan_steps_equals_a_python_loop() -> None:
    keys = jax.random.split(jax.random.key(0), STEPS)
    state, first = ENV.reset(jax.random.key(1), ENV.params)

    def act(carry: Any, obs: Any, now: Any) -> tuple[Any, Any]:
        return carry + 1, jnp.minimum(carry, 3)

    def step(state: Any, action: Any, now: Any) -> tuple[Any, Any, Timestep]:
        state, timestep = ENV.step(now, state, action, ENV.params)
        return state, timestep.obs, timestep

    start = Loop(state, first.obs, jnp.int32(0))
    got = scan_steps(
        Policy(start.carry, act), step, start, keys, lambda loop, action, last: (action, last.reward, loop.world.stock)
    )
    for i, key in enumerate(keys):
        state, timestep = ENV.step(key, state, jnp.int32(min(i, 3)), ENV.params)
        np.testing.assert_allclose([leaf[i] for leaf in got], [min(i, 3), timestep.reward, state.stock], rtol=1e-5)


def test_run_to_end_adds_as_evaluate_does() -> None:
    key = jax.random.key(3)
    run, first, act_keys = start_batch(ENV, episode_keys(key, BATCH), ENV.params)
    player, step = play_in_batch(COUNT, act_keys), step_with_advance(ENV, ENV.params)
    start = Loop(run, first.obs, player.init)
    loop, total = run_to_end(
        player, step, start, LONGER_THAN_ANY_EPISODE, jnp.zeros(BATCH), lambda total, _, last, __: total + last.reward
    )
    assert loop.world.over.all()
    np.testing.assert_allclose(total, evaluate(ENV, COUNT, key, BATCH, LONGER_THAN_ANY_EPISODE).returns, rtol=1e-5)


def test_an_ended_episode_keeps_its_state_and_total() -> None:
    run, first, act_keys = start_batch(ENV, jax.random.split(jax.random.key(3), BATCH), ENV.params)
    policy = constant_policy(jnp.int32(1))
    player, step = play_in_batch(policy, act_keys), step_with_advance(ENV, ENV.params)
    start = Loop(run, first.obs, player.init)
    count = lambda total, action, last, now: total + 1  # noqa: E731
    for limit in (LONGER_THAN_ANY_EPISODE, 2 * LONGER_THAN_ANY_EPISODE):
        loop, steps = run_to_end(player, step, start, limit, jnp.zeros(BATCH, jnp.int32), count)
        np.testing.assert_array_equal(steps, loop.world.state.year)
        assert len(np.unique(steps)) > 1, "episodes of different lengths"


def test_run_to_end_stops_at_the_limit() -> None:
    run, first, act_keys = start_batch(ENV, jax.random.split(jax.random.key(3), BATCH), ENV.params)
    policy = constant_policy(jnp.int32(0))
    player, step = play_in_batch(policy, act_keys), step_with_advance(ENV, ENV.params)
    start = Loop(run, first.obs, player.init)
    _, steps = run_to_end(player, step, start, 2, jnp.zeros(BATCH, jnp.int32), lambda total, *_: total + 1)
    assert steps.tolist() == [2] * BATCH


def test_no_observation_is_kept_without_a_first_one() -> None:
    run, _ = start_episode(ENV, jax.random.key(0), ENV.params)

    def act(carry: Any, obs: Any, now: Any) -> tuple[Any, Any]:
        assert obs is None
        return carry, jnp.int32(1)

    step, start = step_with_advance(ENV, ENV.params), Loop(run, None, ())
    rewards = scan_steps(Policy((), act), step, start, jnp.arange(3), keep_reward)
    assert rewards.shape == (3,) and (rewards > 0).all()


def test_a_batch_repeats_the_memory_of_a_policy() -> None:
    policy = Policy({"a": jnp.zeros(2), "b": jnp.int32(4)}, count_years)
    carry = play_in_batch(policy, jax.random.split(jax.random.key(0), BATCH)).init
    assert carry["a"].shape == (BATCH, 2) and carry["b"].tolist() == [4] * BATCH


def test_frame_has_action_reward_and_kept_arrays() -> None:
    state, first = ENV.reset(jax.random.key(0), ENV.params)
    keep = lambda env, state, action, timestep, params: {"stock": state.stock}  # noqa: E731
    frame = make_frame(keep, ENV, state, {"order": np.int32(2), "note": "text"}, first, ENV.params)
    assert list(frame) == ["action/order", "reward", "stock"]
    assert list(make_frame(keep, ENV, state, np.int32(1), first, ENV.params)) == ["action", "reward", "stock"]
