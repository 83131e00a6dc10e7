"""A policy for a plain farm, as one for the map interface."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.farm.family import policies
from tests.farm.learn.test_map_farm import order, pond
from tests.load_script import script
from tests.long_form import long

translate_policy = script("examples/map_policies.py").translate_policy


@pytest.mark.parametrize("mode", ["po", pytest.param("ao", marks=long)])
def test_translated_policies_make_the_same_days(mode: str) -> None:
    """Two orders around an empty place of the schedule, and in mode ao two requests before them."""
    env = pond(mode)
    cut = int(env.table.number(order(env, "Reed-0/cut")))
    chosen: Any = np.asarray([7, 0, cut], np.int32)
    if mode == "ao":
        chosen = {"order": chosen, "request": (np.arange(env.requests) < 2).astype(np.int32)}
    policy = translate_policy(env, Policy((), lambda carry, obs, key: (carry, chosen)))
    step, carry, names = jax.jit(env.step), policy.init, []
    state, shown = jax.jit(env.reset)(jax.random.key(0))
    for _ in range(2 * (3 + 2 * (mode == "ao"))):
        carry, action = policy.act(carry, shown.obs, jax.random.key(0))
        names.append(env.table.names[int(action[0])].rpartition("/")[2])
        state, shown = step(jax.random.key(0), state, action, env.params)
    asked = ["available_N#g", "available_P#g"] if mode == "ao" else []
    assert names == 2 * [*asked, "pour", "cut", "stop"] and int(state.inner.day) == 2
    assert shown.info["accepted"].tolist() == [True, True, False]


@long
def test_a_translated_expert_earns_the_same() -> None:
    plain: Any = harvestgym.make("farm/bean-1x1-v0")
    env: Any = harvestgym.make("farm/bean-1x1-v0", interface="map")
    expert, key = policies(plain)["expert"], jax.random.key(0)
    expected = evaluate(plain, expert, key, 2, 400).returns
    np.testing.assert_allclose(evaluate(env, translate_policy(env, expert), key, 2, 400).returns, expected, rtol=1e-4)
