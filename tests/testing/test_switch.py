"""The contract holds with everything in `core.xla` switched off."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.long_form import ALL, long

IDS = ["fishing/logistic-v0", *(["farm/bean-1x1-v0", "forager/two-biome-v0"] if ALL else [])]
"""In the short form one id, since `.ci/run` repeats `tests/test_contract.py` with everything switched off."""

PROGRAM = f"""
import logging
logging.getLogger("harvestgym").addHandler(logging.StreamHandler())
import gymnasium, harvestgym
from harvestgym.testing import check_env
for id in {IDS}:
    check_env(harvestgym.make(id), steps=5)
    env = gymnasium.make(f"harvestgym:{{id}}")
    env.reset(seed=0)
    env.step(env.action_space.sample())
"""


@long
def test_environments_keep_the_contract_with_internals_switched_off() -> None:
    environment = os.environ | {"HARVESTGYM_XLA": "off"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "core.xla" not in done.stderr
