"""A very long life stays bounded and exact: a soak test, of 10^8 steps in the long form."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.family import make
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.object_kinds import Flower
from tests.long_form import ALL

STEPS = 10**8 if ALL else 10**5
CAPACITY = 4_000
"""Objects that may be away; a life of that length meets many more."""


def test_a_long_life_is_bounded_and_counts_every_step() -> None:
    env = ForagerEnv(ForagerConfig(10**6, {"flower": Flower}, aperture=3, capacity=CAPACITY))
    env.generate_objects(0.1, "flower")
    env.start(seed=0)
    rng, total = np.random.default_rng(0), 0.0
    with pytest.warns(UserWarning, match="2048 objects have changed"):
        for start in range(0, STEPS, 10_000):
            for action in rng.integers(0, 4, min(10_000, STEPS - start)).tolist():
                total += env.step(action)[1]
            memory = env.memory
            assert memory["changed"] <= CAPACITY and memory["bytes"] <= memory["most_bytes"]
    assert env.clock == STEPS and 0 < total <= STEPS


def test_a_long_life_in_a_changing_world_equals_its_copy() -> None:
    """Saved in the middle, the second half is the same."""
    env = host_twin(make("seasons-v0"))
    env.start(seed=1)
    actions = np.random.default_rng(1).integers(0, 4, STEPS // 1000).tolist()
    for action in actions:
        env.step(action)
    twin = env.copy()
    assert [env.step(a)[1] for a in actions] == [twin.step(a)[1] for a in actions]
