"""Programs on the CPU run in the calling thread once an environment was made, unless that is switched off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from harvestgym.core.xla.fallback import SWITCH_VARIABLE

PROGRAM = """
import jax, harvestgym
harvestgym.make("fishing/logistic-v0")
print(jax.config.values["jax_cpu_enable_async_dispatch"])
"""


@pytest.mark.parametrize(("switch", "waits"), [("", "False"), ("off", "True")])
def test_a_program_waits_for_no_other_thread(switch: str, waits: str) -> None:
    environment = os.environ | {SWITCH_VARIABLE: switch, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == waits
