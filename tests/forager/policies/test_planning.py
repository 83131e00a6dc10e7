"""The planner on views drawn by hand, and its plan against a search of all paths."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import evaluate
from harvestgym.forager.family import build_forager, make, policies, summary
from harvestgym.forager.policies.navigator import planner
from harvestgym.forager.policies.planning import choose_best, neighbours, plan
from harvestgym.forager.world import MOVES
from tests.forager.worlds import EAST, NORTH, SMALL, SOUTH
from tests.long_form import long

KEY = jax.random.key(0)
KINDS = ("fig", "wall")


def view(*rows: str) -> jax.Array:
    """Observation of a drawing: f a fig, # a wall, anything else empty; the agent is in the centre."""
    return jnp.array([[[c == "f", c == "#"] for c in row] for row in rows])


def act(make_policy, obs: jax.Array, times: int = 50) -> list[int]:
    """Return the actions for one observation and many keys."""
    policy = make_policy(build_forager(SMALL | {"aperture": list(obs.shape[:2])}))
    keys = jax.random.split(KEY, times)
    return jax.jit(jax.vmap(lambda key: policy.act(policy.init, obs, key)[1]))(keys).tolist()


VIEWS = {
    "a fig in the north": (("  f  ", "     ", "     "), {NORTH}),
    "a fig in the south-east": (("     ", "     ", "   f "), {SOUTH, EAST}),
    "the nearer of two": (("     ", "f  f ", "     "), {EAST}),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_planner_goes_to_the_food(name):
    drawing, ways = VIEWS[name]
    assert set(act(planner, view(*drawing))) == ways


def test_the_planner_goes_around_a_wall():
    assert set(act(planner, view("     ", "  #  ", "  #f ", "     ", "     "))) == {EAST}
    around = view("     ", "   # ", "   #f", "     ", "     ")
    assert set(act(planner, around)) == {SOUTH}


def test_neighbours_are_in_the_order_of_the_actions():
    grid = jnp.arange(15).reshape(3, 5)
    assert neighbours(grid).tolist() == [2, 8, 12, 6]


def test_ties_are_broken_at_random_among_the_best():
    choices = jnp.array([1.0, 3.0, 3.0, 2.0])
    chosen = [int(choose_best(choices, jax.random.key(seed))) for seed in range(60)]
    assert set(chosen) == {1, 2}
    assert 10 < chosen.count(1) < 50


def search(worth: np.ndarray, open_: np.ndarray, steps: int, discount: float) -> list[float]:
    """Return the best discounted sum of paths by their first action; a path ends at the first cell that pays."""
    best = [-1e6] * 4
    for path in itertools.product(range(4), repeat=steps):
        row, col, total = worth.shape[0] // 2, worth.shape[1] // 2, 0.0
        for i, action in enumerate(path):
            dx, dy = MOVES[action].tolist()
            row, col = row - dy, col + dx
            if not (0 <= row < worth.shape[0] and 0 <= col < worth.shape[1]):
                break
            if not open_[row, col]:
                total = -1e6 if i == 0 else -np.inf
                break
            total += discount**i * worth[row, col]
            if worth[row, col] > 0:
                break
        best[path[0]] = max(best[path[0]], total)
    return best


@pytest.mark.parametrize("seed", range(3))
def test_the_plan_finds_the_best_first_step_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    worth = rng.choice([0.0, 0.0, 1.0, 2.0, -1.0], (5, 5)).astype(np.float32)
    worth[2, 2] = 0.0
    open_ = rng.random((5, 5)) > 0.15
    planned = np.asarray(plan(jnp.array(worth), jnp.array(open_), 6, 0.9))
    found = np.array(search(worth, open_, 6, 0.9))
    inside = found > -1e5
    assert np.argmax(np.where(inside, planned, -np.inf)) in np.flatnonzero(found >= found.max() - 1e-5)


@pytest.mark.parametrize("shape", [(7, 5), *(pytest.param(shape, marks=long) for shape in ((9, 9), (3, 11)))])
def test_a_batch_is_planned_as_each_view_alone(shape):
    rng = np.random.default_rng(7)
    worth = rng.choice([0.0, 0.0, 1.0, -1.0], (6, *shape)).astype(np.float32)
    open_, discounts = rng.random((6, *shape)) > 0.15, np.linspace(0.5, 0.99, 6, dtype=np.float32)
    sweeps = sum(shape) // 2 + 1
    alone = [plan(worth[i], open_[i], sweeps, discounts[i]) for i in range(6)]
    batch = jax.vmap(lambda one, ways, discount: plan(one, ways, sweeps, discount))(worth, open_, discounts)
    np.testing.assert_allclose(batch, alone, atol=1e-6)
    np.testing.assert_allclose(
        alone, [sweep_grid(worth[i], open_[i], sweeps, discounts[i]) for i in range(6)], atol=1e-6
    )
    same = jax.vmap(lambda one: plan(one, open_[0], sweeps, 0.9))(worth)
    np.testing.assert_allclose(same, [plan(one, open_[0], sweeps, 0.9) for one in worth], atol=1e-6)


def sweep_grid(worth, open_, sweeps, discount) -> list[float]:
    """Return the plan of value iteration on the grid of a view, written as its definition."""
    gain = np.pad(np.where(open_, worth, -1e6), 1)
    passes = np.pad(open_ & (worth <= 0), 1)
    enter = gain
    for _ in range(sweeps):
        around = [np.roll(enter, (int(dy), -int(dx)), (0, 1)) for dx, dy in MOVES]
        enter = gain + discount * np.where(passes, np.max(around, 0), 0.0)
    return neighbours(jnp.array(enter)).tolist()


@long
def test_the_planner_beats_a_random_agent():
    model = build_forager(SMALL | {"size": [40, 40], "aperture": [9, 9], "horizon": 300})
    named = policies(model) | {"random": random_policy(model)}
    score = {}
    for name in ("planner", "random"):
        episodes = evaluate(model, named[name], jax.random.key(0), 16, 300)
        score[name] = summary(model, episodes)["reward per step"].mean()
    assert score["planner"] > 3 * score["random"]


def test_worlds_have_the_policies_that_can_read_their_observations():
    assert set(policies(build_forager(SMALL))) == {"expert", "planner"}
    assert set(policies(make("relearning-v0"))) == {"expert"}
    for change in ({"hint": [1, 2]}, {"observation_mode": "scalar"}, {"observation_mode": "compass"}):
        assert policies(build_forager(SMALL | change)) == {}
