"""An environment in a process that was forked after JAX had started fails at once instead of hanging."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.long_form import long

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SCRIPT = """
import os, sys, warnings
warnings.simplefilter("ignore")
before = sys.argv[1]
if before != "unused":
    import jax
    jax.jit(lambda x: x + 1)(1.0).block_until_ready()  # a program of the user
if before != "late":
    import harvestgym
if os.fork() == 0:
    import harvestgym
    try:
        from harvestgym.gym.env import GymEnv
        GymEnv(harvestgym.make("fishing/may-v0")).reset(seed=0)
        print("an episode began", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""
"""Uses JAX or not, forks before or after the import, and begins an episode in the child."""

REFUSED = "forked from a process that had already used JAX"


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("used", REFUSED),
        pytest.param("late", REFUSED, marks=long),
        pytest.param("unused", "an episode began", marks=long),
    ],
)
def test_a_forked_process_raises_only_if_jax_was_in_use(before: str, found: str) -> None:
    if before == "late" and not os.path.exists("/proc/self/task"):
        pytest.skip("without /proc an earlier fork leaves no trace")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, before], capture_output=True, text=True, timeout=120, check=True
    )
    assert found in done.stdout
