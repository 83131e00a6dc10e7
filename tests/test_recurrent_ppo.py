"""PPO with a memory: what is learned from is what was done, and what was seen before can be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.wrappers import Log
from tests.toy_env import Stock

pytest.importorskip("optax")


@pytest.fixture
def recurrent(import_example: Callable[[str], Any]) -> Any:
    """Import the example as a module."""
    return import_example("recurrent_ppo")


def on_one_device(function: Any) -> Any:
    """Run a function in the form that has an axis of devices."""
    from harvestgym.core.xla.compilation import map_over_shards

    spec = jax.sharding.PartitionSpec()
    return map_over_shards(function, jax.devices()[:1], spec, spec)


def test_the_chances_of_what_was_done_are_found_again_from_the_observations(recurrent: Any) -> None:
    """Over several episodes in each environment, and from a memory that is not empty at the start."""
    settings = recurrent.Settings(num_envs=4, num_steps=30, hidden=8)
    learner = recurrent.Learner(Log(Stock()), settings, Stock().params)

    def collect(_: Any, key: jax.Array) -> Any:
        loop, _ = learner.collect(learner.start(key), key)
        return loop, learner.collect(loop, jax.random.fold_in(key, 1))[1]

    loop, batch = jax.jit(on_one_device(collect))(jnp.zeros(()), jax.random.key(0))
    assert batch.begins.sum() > 4 and np.abs(loop.memory).max() > 0
    features = loop.moments.scaled(batch.features)
    read = recurrent.read_steps(loop.nets, loop.memory, features, batch.begins)
    head = recurrent.make_head(Stock().action_space)
    found = head.log_chance(recurrent.apply(loop.nets.actor, read), batch.chosen)
    np.testing.assert_allclose(found, batch.log_chance, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(recurrent.apply(loop.nets.critic, read)[..., 0], batch.value, rtol=1e-4, atol=1e-5)
    forgetful = recurrent.read_steps(loop.nets, loop.memory, features, jnp.ones_like(batch.begins))
    assert np.abs(forgetful - read).max() > 1e-3, "the memory is read"


def test_an_agent_plays_what_it_learned(recurrent: Any) -> None:
    """As a policy it has the memory of the rollout: the same observations give the same chances."""
    head = recurrent.make_head(Stock().action_space)
    nets = recurrent.make_nets(jax.random.key(0), 3, head, recurrent.Settings(hidden=8))
    moments = recurrent.Moments(jnp.zeros(3), jnp.ones(3), jnp.float32(1.0))
    policy = recurrent.policy_of(Stock(), recurrent.Settings(hidden=8), (nets, moments))
    rows = jax.random.uniform(jax.random.key(1), (5, 3))
    memory = policy.init
    for row in rows:
        memory, action = policy.act(memory, row, jax.random.key(2))
    assert int(action) in range(4)
    read = recurrent.read_steps(nets, jnp.zeros((1, 8)), moments.scaled(rows)[:, None], jnp.zeros((5, 1), bool))
    np.testing.assert_allclose(read[-1, 0, 8:], memory, rtol=1e-5, atol=1e-6)
