"""Draws of the random policy: always in the space, all of it, as int32 or float32."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from gymnasium import spaces

from harvestgym.core.policy import (
    Policy,
    constant_policy,
    mixed_policy,
    random_policy,
    sample,
)
from tests.toy_env import BoxStock, Stock

SPACES = [
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([2, 3], start=[0, 4]),
    spaces.MultiBinary(3),
    spaces.Box(np.float32([-1, 2]), np.float32([0, 5])),
    spaces.Box(-3, 3, (2,), np.int32),
    spaces.Dict(a=spaces.Discrete(2), b=spaces.Tuple((spaces.Box(0, 1, (1,)), spaces.Discrete(3)))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_draws_fill_the_space(space: spaces.Space) -> None:
    draws = jax.vmap(lambda key: sample(space, key))(jax.random.split(jax.random.key(0), 400))
    assert {leaf.dtype.name for leaf in jax.tree.leaves(draws)} <= {"int32", "float32"}
    rows = [jax.tree.map(lambda leaf: np.asarray(leaf)[i], draws) for i in range(400)]  # noqa: B023
    flat = np.stack([spaces.flatten(space, row) for row in rows])
    box = spaces.flatten_space(space)
    assert (flat >= box.low).all() and (flat <= box.high).all()
    # 400 uniform draws miss an outer twentieth of their range with probability 2e-9.
    assert (flat.min(0) <= box.low + 0.05 * (box.high - box.low)).all()
    assert (flat.max(0) >= box.high - 0.05 * (box.high - box.low)).all()


def test_a_space_without_bounds_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a bounded action space, got Box"):
        sample(spaces.Box(-np.inf, 0, (1,)), jax.random.key(0))


def test_policies_of_equal_environments_are_equal() -> None:
    assert random_policy(Stock()).act == random_policy(Stock()).act
    assert random_policy(Stock()).act != random_policy(BoxStock()).act


def test_a_constant_policy_repeats_its_action() -> None:
    policy: Policy = constant_policy(np.int32(3))
    assert policy.act(policy.init, None, jax.random.key(0)) == (3, 3)


def test_a_mixed_policy_acts_at_random_with_a_chance_of_each_episode() -> None:
    """Over 400 episodes of 60 steps, the share of strange actions is uniform from 0 to 3/4, as 1 of 4 draws agrees."""
    mixed = mixed_policy(Stock(), constant_policy(np.int32(3)))

    def play(key: jax.Array) -> jax.Array:
        def step(carry: object, key: jax.Array) -> tuple[object, jax.Array]:
            return mixed.act(carry, None, key)

        return jax.lax.scan(step, mixed.init, jax.random.split(key, 60))[1]

    actions = np.asarray(jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), 400)))
    assert actions.dtype == np.int32
    shares = (actions != 3).mean(1) / 0.75
    # Uniform shares and 60 draws: the quantiles of 400 have standard errors below 0.03.
    for part in (0.25, 0.5, 0.75):
        assert abs(np.quantile(shares, part) - part) < 0.12


def test_a_mixed_policy_learns_what_its_policy_learns() -> None:
    three = constant_policy(np.int32(3))
    mixed = mixed_policy(Stock(), three._replace(learn=lambda carry, last: carry + last.reward))
    _, first = Stock().reset(jax.random.key(0), Stock().params)
    carry = mixed.learn(mixed.act(mixed.init, first.obs, jax.random.key(1))[0], first._replace(reward=np.float32(2)))
    assert float(carry[0]) == 5
