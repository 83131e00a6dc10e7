"""Q-learning with masks: what is impossible is not taken, and targets are the returns they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.rollout import rollout
from harvestgym.core.wrappers import Log
from harvestgym.evaluate.run import policy_named

pytest.importorskip("optax")

ID = "farm/bean-1x1-v0"


@pytest.fixture
def dqn(import_example: Callable[[str], Any]) -> Any:
    """Import the example as a module."""
    return import_example("dqn")


def make_days(dqn: Any, ended: list[bool], terminated: list[bool]) -> Any:
    """Return days of one farm with rewards 1, 2, 3 and values 10, 20, 30 of what comes after."""
    column = {"reward": [1.0, 2.0, 3.0], "best": [10.0, 20.0, 30.0], "ended": ended, "terminated": terminated}
    none = np.zeros((3, 1))
    return dqn.Days(none, none, total=none, **{name: np.asarray(of)[:, None] for name, of in column.items()})


@pytest.mark.parametrize(
    ("trace", "ended", "terminated", "expected"),
    [
        (0.0, [False] * 3, [False] * 3, [11, 22, 33]),
        (1.0, [False] * 3, [False] * 3, [36, 35, 33]),
        (0.5, [False] * 3, [False] * 3, [1 + 5 + 14.25, 2 + 10 + 16.5, 33]),
        (1.0, [False, True, False], [False, True, False], [3, 2, 33]),
        (1.0, [False, True, False], [False] * 3, [23, 22, 33]),
    ],
)
def test_targets_mix_returns_and_stop_where_a_season_ends(
    dqn: Any, trace: float, ended: list[bool], terminated: list[bool], expected: list[float]
) -> None:
    learner = dqn.Learner(Log(dqn.Masked(harvestgym.make(ID))), dqn.Settings(trace=trace))
    targets = learner.targets(make_days(dqn, ended, terminated))
    np.testing.assert_allclose(np.asarray(targets)[:, 0], expected, rtol=1e-6)


def test_what_the_mask_excludes_is_never_the_best(dqn: Any) -> None:
    layers = dqn.make_layers(jax.random.key(0), [4, 8, 8, 3])
    rows = jax.random.normal(jax.random.key(1), (32, 4))
    free = dqn.find_values(layers, {"features": rows, "mask": np.ones((32, 3), bool)})
    best = np.asarray(free.argmax(-1))
    assert len(set(best)) > 1
    mask = np.arange(3) != best[:, None]
    left = np.asarray(dqn.find_values(layers, {"features": rows, "mask": mask}))
    assert np.isneginf(left[~mask]).all() and (left.argmax(-1) != best).all()
    np.testing.assert_array_equal(left[mask], np.asarray(free)[mask])


def test_a_masked_farm_shows_what_the_farm_does_and_permits(dqn: Any) -> None:
    plain: Any = harvestgym.make(ID)
    env = dqn.Masked(plain)
    state, first = env.reset(jax.random.key(2))
    assert env.observation_space.contains(jax.tree.map(np.asarray, first.obs) | {"mask": np.int8(first.obs["mask"])})
    np.testing.assert_array_equal(first.obs["mask"], plain.action_mask(state, plain.params))
    expert = policy_named(ID, plain, "expert")
    task = dqn.Policy(expert.init, dqn.Partial(dqn.act_on_seen, expert.traced().act))
    mine, theirs = rollout(env, task, jax.random.key(3), 2, 120), rollout(plain, expert, jax.random.key(3), 2, 120)
    np.testing.assert_array_equal(mine.action, theirs.action)
    np.testing.assert_array_equal(mine.obs["seen"], theirs.obs)


def test_farms_with_several_orders_a_day_are_refused(dqn: Any) -> None:
    with pytest.raises(SystemExit, match="one order a day"):
        dqn.Masked(harvestgym.make("farm/bean-clay-weeds-3x4-v0"))
