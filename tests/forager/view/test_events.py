"""Events of a forager: what it took, and what it only ran into."""

from __future__ import annotations

from typing import Any

import numpy as np

import harvestgym
from harvestgym.core.view.events import say_event
from harvestgym.forager.family import find_events, say_goal
from harvestgym.forager.reward_laws import RATE
from harvestgym.forager.view.events import average_recent


def test_a_collision_takes_an_object_or_not() -> None:
    env: Any = harvestgym.make("forager/two-biome-v0")
    steps = {"action": [-1, 0, 1, 2], "collided": [-1, 0, -1, 1], "collected": [0, 1, 1, 1]}
    record = {name: np.asarray(values) for name, values in steps.items()}
    took, met = find_events(env, record, 0, 3)
    first, second = env.world.names[:2]
    assert (took.step, took.kind) == (1, "took") and say_event(took) == f"went north: took {first}"
    assert (met.step, met.kind) == (3, "met") and say_event(met) == f"went south: met {second}"
    assert list(find_events(env, record, 1, 2)) == []


def test_the_recent_reward_is_not_pulled_towards_the_start_at_zero() -> None:
    """The running mean of a constant reward is shown as that reward, from the first step on."""
    rates = [0.0]
    for _ in range(300):
        rates.append(rates[-1] + RATE * (2.0 - rates[-1]))
    assert rates[-1] < 0.6
    shown = average_recent({"reward_rate": np.array(rates), "clock#step": np.arange(301)})
    np.testing.assert_allclose(shown, [0.0, *[2.0] * 300])


def test_the_goal_has_the_length_of_an_episode() -> None:
    env: Any = harvestgym.make("forager/two-biome-v0", horizon=50)
    assert say_goal(env)[-1] == "The episode has 50 steps."
