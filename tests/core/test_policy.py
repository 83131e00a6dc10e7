"""Draws of the random policy: always in the space, all of it, as int32 or float32."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from gymnasium import spaces

from harvestgym.core.policy import Policy, constant_policy, random_policy, sample
from tests.toy import BoxStock, Stock

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
    with pytest.raises(TypeError, match="expected a bounded space, got Box"):
        sample(spaces.Box(-np.inf, 0, (1,)), jax.random.key(0))


def test_policies_of_equal_environments_are_equal() -> None:
    assert random_policy(Stock()).act == random_policy(Stock()).act
    assert random_policy(Stock()).act != random_policy(BoxStock()).act


def test_a_constant_policy_repeats_its_action() -> None:
    policy: Policy = constant_policy(np.int32(3))
    assert policy.act(policy.init, None, jax.random.key(0)) == (3, 3)
