"""Sentences about foragers, from counts of their collisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harvestgym.core.policy import constant_policy
from harvestgym.core.rollout import Episodes
from harvestgym.evaluate.run import horizon, run_episodes
from harvestgym.forager.family import build_forager, explain

KINDS = {"wall": {"blocking": True}, "food": {"collectable": True, "delay": "never"}}
NORTH = np.int32(0)


def world(**density: float) -> Any:
    """Return a world of 1,024 cells and 20 steps with these objects."""
    data = {"doc": "", "size": 32, "aperture": 3, "horizon": 20, "capacity": 1, "kinds": KINDS, "density": density}
    return build_forager(data)


@pytest.fixture(scope="module")
def blocked() -> Any:
    return world(wall=1.0)


def test_blocked_moves_and_unmet_kinds_are_named(blocked: Any) -> None:
    found = run_episodes(blocked, constant_policy(NORTH), 2, 0, horizon(blocked))
    ways = ["every move was to the north", "every move was blocked by wall"]
    assert explain(blocked, found) == [*ways, "never met: food"]
    met = np.asarray([[1, 3], [0, 4]])  # of food and walls, in the order of names
    some = found._replace(counts={"met": met, "moves": np.full((2, 4), 5)})
    assert explain(blocked, some) == ["7 of 40 moves were blocked by wall"]


def test_objects_that_stay_because_of_the_limit_are_counted() -> None:
    env = world(food=1.0)
    found = run_episodes(env, constant_policy(NORTH), 1, 0, horizon(env))
    (_, unmet, full) = explain(env, found)
    assert (unmet, full) == ("never met: wall", "19 objects stayed, because 1 objects were already changed (capacity)")


def test_steps_that_were_not_counted_have_no_notes(blocked: Any) -> None:
    assert explain(blocked, Episodes(*np.zeros((4, 2)), info={})) == []  # pyright: ignore[reportArgumentType]
