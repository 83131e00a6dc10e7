"""The navigator follows the laws with the clock, and remembers what a food with a random series paid."""

from __future__ import annotations

import jax
import numpy as np

from harvestgym.core.policy import random_policy
from harvestgym.core.rollout import evaluate
from harvestgym.forager.family import build_forager, make, make_rule_families, policies, summary
from harvestgym.forager.policies.navigator import navigator, planner
from tests.forager.worlds import EAST, NORTH, SMALL, SOUTH, WEST
from tests.long_form import long

STEPS, EPISODES, KEY = 720, 2, jax.random.key(11)


def earn(env, policy, steps: int = STEPS) -> float:
    """Return the mean reward of a step."""
    episodes = evaluate(env, policy, KEY, EPISODES, steps)
    return float(summary(env, episodes)["reward per step"].mean())


@long
def test_the_navigator_earns_where_rewards_change_sign() -> None:
    """The baseline knows the rewards of the first step only; hot and cold food change sign by turns."""
    env = make("weather-v0")
    expert = earn(env, policies(env)["expert"])
    assert expert > 0.1 > earn(env, planner(env)) and expert > earn(env, random_policy(env)) + 0.1


@long
def test_it_remembers_what_a_food_with_a_random_series_paid_last() -> None:
    """It eats what it has never met, avoids what cost something, and after long enough tries that again."""
    fig = {"collectable": True, "reward": {"fourier": {"terms": 2, "period": 1000}}}
    env = build_forager(SMALL | {"kinds": {"fig": fig, "wall": {"blocking": True}}, "aperture": [3, 5]})
    policy, seen = navigator(env, unknown=0.5, doubt=0.1), view("     ", "   f ", "     ")
    timestep = env.reset(KEY, env.params)[1]

    def choose(carry) -> set[int]:
        return set(jax.vmap(lambda key: policy.act(carry, seen, key)[1])(jax.random.split(KEY, 50)).tolist())

    assert choose(policy.init) == {EAST}
    carry = policy.learn(policy.act(policy.init, seen, KEY)[0], timestep._replace(reward=np.float32(-1)))
    assert EAST not in choose(carry)
    assert choose(carry._replace(clock=carry.clock + 10_500)) == {EAST}
    elsewhere = policy.learn(carry._replace(ahead=np.int32(0)), timestep._replace(reward=np.float32(1)))
    assert EAST not in choose(elsewhere)


@long
def test_where_nothing_in_view_is_enough_it_walks_on() -> None:
    """In the poor biome it stays with `enough` 0, and with a threshold above its food it leaves for the rich one."""
    env = make("two-biome-v0")
    stays, leaves = (evaluate(env, navigator(env, 0.9, enough), KEY, EPISODES, 100) for enough in (0.0, 1.0))
    assert not np.array_equal(stays.returns, leaves.returns)


def view(*rows: str) -> np.ndarray:
    """Observation of a drawing: f a fig, # a wall, anything else empty; the agent is in the centre."""
    return np.array([[[c == "f", c == "#"] for c in row] for row in rows])


def act(obs: np.ndarray, last: int = -1, **numbers: float) -> set[int]:
    """Return the actions of a navigator for one observation and many keys."""
    env = build_forager(SMALL | {"aperture": list(obs.shape[:2])})
    policy = navigator(env, **numbers)
    carry = policy.init._replace(last=np.int32(last))
    acts = jax.vmap(lambda key: policy.act(carry, obs, key)[1])(jax.random.split(KEY, 50))
    return set(acts.tolist())


@long
def test_it_prefers_food_with_food_around_it_if_it_counts_a_share_of_that() -> None:
    seen = view("     ", "     ", " f f ", "    f", "     ")
    assert act(seen) == {EAST, WEST} and act(seen, crowd=0.3) == {EAST}


def test_it_walks_straight_on_where_nothing_in_view_pays() -> None:
    empty = view("     ", "     ", "     ")
    assert act(empty, last=EAST) == {NORTH, EAST, SOUTH, WEST}
    assert act(empty, last=EAST, straight=0.5) == {EAST}
    assert act(view("     ", "   # ", "     "), last=EAST, straight=0.5) == {NORTH, SOUTH, WEST}


def test_a_tuned_rule_without_numbers_may_be_a_baseline() -> None:
    env = build_forager(SMALL | {"expert": {"rule": "planner"}})
    expert, other = policies(env)["expert"], policies(env)["planner"]
    same = jax.tree.map(np.array_equal, expert, other)
    assert jax.tree.structure(expert) == jax.tree.structure(other) and all(jax.tree.leaves(same))


def test_worlds_that_it_cannot_read_have_no_rules() -> None:
    small = {"size": [9, 9], "aperture": [5, 5], "kinds": {"fig": {"collectable": True}}, "density": {"fig": 0.1}}
    world = {"doc": ""} | small
    assert set(make_rule_families(build_forager(world))) == {"navigator"}
    for change in ({"hint": [1, 2]}, {"observation_mode": "compass"}):
        blind = build_forager(world | change)
        assert make_rule_families(blind) == {} == policies(blind)
