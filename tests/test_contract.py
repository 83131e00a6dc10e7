"""The contract on some ids of every family: `.ci/run` repeats it with the oldest JAX and with HARVESTGYM_XLA=off."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.testing import check_env

from .long_form import some

IDS = (
    "farm/full-1x1-v0", "farm/paid-looks-1x1-v0", "farm/contexts-1x1-v0",
    "fishing/three-species-v0", "fishing/driver-v0", "forager/two-biome-v0",
)  # fmt: skip
"""All ten kinds of entities, paid observations, random parameters; several stocks, a tipping point; a forager."""

STEPS = 8

pytestmark = pytest.mark.older


def leaves(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("id", some(IDS, "driver-v0", "two-biome-v0"))
def test_the_functional_environment_keeps_the_contract(id: str) -> None:
    check_env(harvestgym.make(id), steps=STEPS)


@pytest.mark.parametrize("id", some(IDS, "three-species-v0"))
def test_one_environment_and_a_vector_environment_give_the_same_steps(id: str) -> None:
    one, many = gymnasium.make(f"harvestgym:{id}"), harvestgym.make_vec(id, num_envs=2)
    one.action_space.seed(1)
    alone, together = one.reset(seed=5)[0], many.reset(seed=[5, 6])[0]
    for _ in range(STEPS):
        for a, b in zip(leaves(alone), leaves(together), strict=True):
            np.testing.assert_allclose(a, b[0], rtol=1e-5, atol=1e-5)
        action = one.action_space.sample()
        alone, reward, *ended, _ = one.step(action)
        together, rewards = many.step(jax.tree.map(lambda part: np.stack([part, part]), action))[:2]
        np.testing.assert_allclose(reward, rewards[0], rtol=1e-5, atol=1e-5)
        if any(ended):
            break
    one.close()
    many.close()
