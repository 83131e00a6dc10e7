"""An environment in a process that was forked after JAX had started fails at once instead of hanging."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SCRIPT = """
import os, sys, warnings
import harvestgym
from harvestgym.gym.env import GymEnv

warnings.simplefilter("ignore")
env = GymEnv(harvestgym.make("fishing/may-v0")) if sys.argv[1] == "used" else None
if os.fork() == 0:
    try:
        (env or GymEnv(harvestgym.make("fishing/may-v0"))).reset(seed=0)
        print("an episode began", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(
    ("before", "found"), [("used", "forked from a process that had used it"), ("unused", "an episode began")]
)
def test_a_forked_process_raises_only_if_jax_was_in_use(before: str, found: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, before], capture_output=True, text=True, timeout=120, check=True
    )
    assert found in done.stdout
