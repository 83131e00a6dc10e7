"""A user's own program, with `vmap` over thousands of steps, gives the numbers of small batches, also where JAX ran
before the import.

In JAX 0.8 to 0.10 XLA gives large reductions to a library that is wrong in some loops (`harvestgym.core.xla.fusion`).
"""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import pytest

from tests.long_form import ALL, some

PROGRAM = """
import sys
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np
jax.jit(jnp.cumsum)(jnp.ones(3)).block_until_ready()  # the user's own use of JAX
import harvestgym
from harvestgym.core.policy import sample

LARGE, SMALL, STEPS = 4096, 512, 10
env = harvestgym.make(sys.argv[1])

@partial(jax.jit, static_argnums=1)
def live(keys, steps):
    def step(state, now):
        doing = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, now)))(keys)
        action = jax.vmap(partial(sample, env.action_space))(doing[:, 0])
        state, timestep = jax.vmap(env.step)(doing[:, 1], state, action)
        return state, timestep.reward
    return jax.lax.scan(step, jax.vmap(env.reset)(keys)[0], jnp.arange(steps))[1]

keys = jax.random.split(jax.random.key(0), LARGE)
together = live(keys, STEPS)
parts = np.concatenate([live(keys[i : i + SMALL], STEPS) for i in range(0, LARGE, SMALL)], axis=1)
wrong = np.abs(together - parts) > 1e-5 + 1e-5 * np.abs(parts)
print(wrong.any(axis=0).sum(), np.mean(together), np.mean(parts))
"""

IDS = (
    "fishing/walleye-v0", "fishing/patches-v0", "fishing/three-species-v0", "farm/bean-1x1-v0",
    "farm/full-1x1-v0", "farm/full-3x4-v0",
)  # fmt: skip


pytestmark = [
    pytest.mark.older,
    pytest.mark.skipif(jax.__version_info__ >= (0, 11) and not ALL, reason="this JAX is right: HARVESTGYM_TESTS=all"),
]


@pytest.mark.parametrize("id", some(IDS, "walleye-v0"))
def test_a_large_batch_has_the_numbers_of_small_ones(id: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, id], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows, together, apart = map(float, done.stdout.split())
    assert rows == 0, f"{rows:.0f} of 4,096 differ; mean rewards {together} and {apart}"
