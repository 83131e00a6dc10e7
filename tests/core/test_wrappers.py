"""Each wrapper keeps its promise, step by step, alone, under `vmap` and in a `scan`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.env import Env, Timestep
from harvestgym.core.pytree import replace
from harvestgym.core.wrappers import (
    Flatten,
    Log,
    TimeLimit,
    flatten,
    unwrapped,
    unwrapped_state,
)
from harvestgym.testing import check_env
from tests.toy_env import BoxStock, Stock


def steps(env: Env[Any, Any], number: int, seed: int = 0) -> Iterator[tuple[jax.Array, Any, Any, Timestep]]:
    """Key, state before, state after and Timestep of `number` steps of moderate fishing."""
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    state, _ = reset(jax.random.key(seed), env.params)
    for t in range(number):
        key = jax.random.fold_in(jax.random.key(seed), t)
        after, seen = step(key, state, jnp.int32(1), env.params)
        yield key, state, after, seen
        state = after


def same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.allclose(a, b, rtol=1e-6) for a, b in pairs)


@pytest.mark.parametrize("env", [TimeLimit(Log(Flatten(BoxStock())), 3), TimeLimit(Stock(), 2)], ids=repr)
def test_a_wrapped_environment_keeps_the_contract(env: Env[Any, Any]) -> None:
    check_env(env, steps=6)


@pytest.mark.parametrize(
    "env",
    [TimeLimit(Log(Flatten(BoxStock())), 1), harvestgym.make("fishing/may-v0")],
    ids=["wrapped", "fishery"],
)
def test_reset_and_step_take_the_default_parameters_if_none_are_given(env: Env[Any, Any]) -> None:
    key, action = jax.random.key(0), jnp.zeros(env.action_space.shape or ())
    state, first = env.reset(key)
    assert same((state, first), env.reset(key, env.params))
    for _ in range(2):
        plain, given = env.step(key, state, action), env.step(key, state, action, env.params)
        assert same(plain, given)
        state = plain[0]


def test_the_clock_truncates_and_never_after_a_termination() -> None:
    limit = TimeLimit(Stock(shortest=20), 3)
    seen = [s for _, _, _, s in steps(limit, 3)]
    assert [bool(s.truncated) for s in seen] == [False, False, True]
    collapsed = replace(limit.params, collapse=jnp.float32(2))
    state, _ = jax.jit(limit.reset)(jax.random.key(0), limit.params)
    state = state._replace(steps=jnp.int32(2))
    _, last = jax.jit(limit.step)(jax.random.key(1), state, jnp.int32(0), collapsed)
    assert last.terminated and not last.truncated


def test_the_log_adds_rewards_and_steps() -> None:
    seen = [s for _, _, _, s in steps(Log(Stock(shortest=20)), 5)]
    total = np.cumsum([s.reward for s in seen])
    np.testing.assert_allclose([s.info["episode_return"] for s in seen], total, rtol=1e-6)
    assert [int(s.info["episode_length"]) for s in seen] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "space",
    [
        BoxStock().observation_space,
        gymnasium.spaces.Dict(b=gymnasium.spaces.Discrete(3, start=4), a=gymnasium.spaces.MultiDiscrete([2, 3])),
        gymnasium.spaces.Tuple((gymnasium.spaces.Box(-1, 1, (2, 2)), gymnasium.spaces.MultiBinary(2))),
    ],
    ids=str,
)
def test_flattening_is_gymnasiums(space: gymnasium.Space[Any]) -> None:
    space.seed(0)
    for _ in range(5):
        value = space.sample()
        ours = flatten(space, jax.tree.map(jnp.asarray, value))
        np.testing.assert_array_equal(ours, gymnasium.spaces.flatten(space, value).astype(np.float32))


def test_flat_observations_lie_in_the_flat_space() -> None:
    env = Flatten(BoxStock())
    _, first = jax.jit(env.reset)(jax.random.key(0), env.params)
    assert env.observation_space.dtype == np.float32 and np.asarray(first.obs) in env.observation_space
    with pytest.raises(TypeError, match="flatten: expected Box.*got Text"):
        flatten(gymnasium.spaces.Text(3), "abc")


def test_unwrapping_finds_the_environment_and_its_state() -> None:
    env = Flatten(TimeLimit(Log(Stock()), 3))
    state, _ = env.reset(jax.random.key(0), env.params)
    assert unwrapped(env) == Stock()
    assert unwrapped_state(env, state).stock == np.float32(0.8)
