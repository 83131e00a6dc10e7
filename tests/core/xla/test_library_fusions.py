"""A large batch has the numbers of small ones, also where XLA would leave reductions to a library."""

from __future__ import annotations

import os

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.xla import library_fusions
from harvestgym.core.xla.fallback import SWITCH_VARIABLE

LARGE, SMALL, YEARS = 4096, 512, 10


def test_a_large_batch_of_walleye_has_the_numbers_of_small_batches() -> None:
    env = harvestgym.make("fishing/walleye-v0")
    keys = jax.random.split(jax.random.key(0), LARGE)
    policy = random_policy(env)
    together = rollout(env, policy, keys, LARGE, YEARS).reward
    parts = [rollout(env, policy, keys[i : i + SMALL], SMALL, YEARS).reward for i in range(0, LARGE, SMALL)]
    np.testing.assert_allclose(together, np.concatenate(parts, axis=1), atol=1e-5)


@pytest.mark.parametrize(
    ("switch", "flags", "found", "expected"),
    [
        ("", "", (0, 10), "--{flag}="),
        ("", "--other=1", (0, 8), "--other=1 --{flag}="),
        ("", "--{flag}=X", (0, 10), "--{flag}=X"),
        ("", "", (0, 7), ""),
        ("", "", (0, 11), ""),
        ("off", "", (0, 10), "--{flag}="),
    ],
)
def test_the_flag_is_added_where_xla_knows_it_and_the_user_has_not_set_it(
    switch: str, flags: str, found: tuple[int, int], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH_VARIABLE, switch)
    monkeypatch.setenv("XLA_FLAGS", flags.format(flag=library_fusions.FLAG))
    monkeypatch.setattr(library_fusions, "version", lambda name: ".".join(map(str, (*found, 2))))
    library_fusions.disable_library_fusions()
    assert os.environ["XLA_FLAGS"] == expected.format(flag=library_fusions.FLAG)
    assert library_fusions.takes_reductions() == (found >= (0, 8) and not expected.endswith("{flag}="))


@pytest.mark.parametrize(
    ("found", "flags", "warned"), [("0.11.0", "", 1), ("0.11.0", "--{flag}=", 0), ("0.10.2", "", 0)]
)
def test_a_jaxlib_that_was_not_tried_is_warned_of(
    found: str, flags: str, warned: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XLA_FLAGS", flags.format(flag=library_fusions.FLAG))
    monkeypatch.setattr(library_fusions, "version", lambda name: found)
    library_fusions.disable_library_fusions()
    lines = [record.getMessage() for record in caplog.records if record.name == "harvestgym"]
    assert len(lines) == warned and all("expected a jaxlib before 0.11, got 0.11" in line for line in lines)
