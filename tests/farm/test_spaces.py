"""Spaces tell the truth for every combination of arguments of a farm."""

from __future__ import annotations

import itertools
import random
from typing import Any

import jax
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError
from harvestgym.farm.family import wrap
from harvestgym.farm.learn.action_wrappers import WRAPPERS

from ..long_form import ALL
from .engine.test_contexts import FLOW, RULES, springs

WATER = "Spring-0.available_Water#L"
FLAGS: dict[str, tuple[Any, ...]] = {
    "mode": ("fo", "po", "ao"), "interface": (None, "map", *WRAPPERS), "max_action_schedule_size": (1, 3),
    "farmers": ([{}], [{}, {"kind": "HourlyFarmer", "hours#h.day-1": 1}]),
    "free_observations": ([], [WATER, "Spring-0.available_N#g[1, 2]"]), "observations": (None, [], [WATER]),
    "context": (None, {"draws": {FLOW: "(1, 5)"}}),
}  # fmt: skip
COMBINATIONS = list(itertools.product(*FLAGS.values()))
CHOSEN = COMBINATIONS if ALL else random.Random(3).sample(COMBINATIONS, 2)


def make(interface: str | None, farmers: Any, context: Any, mode: str, **rules: Any) -> Env[Any, Any]:
    env = springs(context, farmers=farmers, mode=mode, rules=RULES | rules)
    return env if interface is None else wrap(env, interface)


def check_spaces(env: Env[Any, Any], case: Any) -> None:
    """Take two steps without compiling; every action of the space is possible."""
    env.action_space.seed(0)
    state, shown = env.reset(jax.random.key(0), env.params)
    for step in range(3):
        assert env.observation_space.contains(jax.tree.map(np.asarray, shown.obs)), case
        state, shown = env.step(jax.random.key(step), state, env.action_space.sample(), env.params)
        assert np.isfinite(shown.reward), case


def test_spaces_hold_what_is_observed_for_every_combination_of_arguments() -> None:
    built = 0
    for flags in CHOSEN:
        given = dict(zip(FLAGS, flags, strict=True))
        try:
            env = make(**given)
        except ConfigError as error:
            assert ": expected " in str(error), given
        else:
            check_spaces(env, given)
            built += 1
    assert built >= len(CHOSEN) / 2
