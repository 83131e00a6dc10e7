"""The foresight reference: at least the expert in every season, and no more than its schedule earns."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

import harvestgym
from experiments.leaderboard.foresight import (
    Search,
    move_actions,
    plan_blind,
    plan_with_foresight,
    thin_actions,
)
from harvestgym.core.autoreset import Batched, split_key, start_episode
from harvestgym.core.episode import episode_keys
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import horizon
from harvestgym.farm.policies.expert_rules import rule_policy
from tests.evaluate.reeds import CUT, DAYS, LOOK, reeds

SEASONS = 6
HABIT = 3
"""The action that is changed alone."""
SEARCH = Search(trials=16, generations=20, elites=4)
KEYS = episode_keys(jax.random.key(5), SEASONS)


def test_the_foresight_reference_is_never_below_the_expert() -> None:
    env = reeds()
    expert = rule_policy(env)
    found = plan_with_foresight(env, KEYS, expert, SEARCH)
    lived = evaluate(env, expert, KEYS, SEASONS, horizon(env))
    np.testing.assert_allclose(found.expert, lived.returns, rtol=1e-5, err_msg="the seasons of an evaluation")
    assert (found.returns >= found.expert).all()


def test_the_foresight_reference_is_never_below_a_rule_of_its_season() -> None:
    """The search starts from rules, too: here one that cuts on a day that differs from season to season."""
    env = reeds()
    days = jnp.arange(SEASONS) + DAYS - SEASONS
    rule = Batched(Policy(jnp.zeros(SEASONS, jnp.int32), Partial(cut_once, days)).traced())
    found = plan_with_foresight(env, KEYS, random_policy(env), Search(trials=3, generations=0, elites=1), rules=[rule])
    lived = np.asarray(evaluate(env, rule, KEYS, SEASONS, horizon(env)).returns)
    np.testing.assert_allclose(found.returns, lived, rtol=1e-5)
    assert (found.returns > found.expert).all()
    np.testing.assert_array_equal(found.schedules[np.arange(SEASONS), np.asarray(days)], 1)


def cut_once(cut: jax.Array, day: jax.Array, obs: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Cut the reed on one day."""
    return day + 1, (day == cut).astype(jnp.int32)


def test_a_schedule_followed_through_step_by_hand_earns_what_was_said() -> None:
    env = reeds()
    found = plan_with_foresight(env, KEYS, rule_policy(env), SEARCH)
    step = jax.jit(env.step)
    for season in range(2):
        run, _ = start_episode(env, found.keys[season], env.params)
        key, state, total = run.key, run.state, 0.0
        for action in found.schedules[season]:
            key, now = split_key(key)
            state, timestep = step(now, state, action, env.params)
            total += float(timestep.reward)
        assert total == pytest.approx(float(found.returns[season]), rel=1e-5)


def test_foresight_cuts_once_and_late() -> None:
    """A planner that knows when the reed is full cuts at the end: it pays one cut and harvests nearly all water."""
    env = reeds()
    found = plan_with_foresight(env, KEYS, rule_policy(env), SEARCH)
    assert (found.returns > found.expert + CUT).all()
    assert ((found.schedules > 0).sum(1) <= 3).all()
    assert (found.returns <= DAYS - CUT).all(), "no more than the reed can drink"


def test_foresight_needs_no_observations() -> None:
    env = reeds(mode="ao")
    found = plan_with_foresight(env, KEYS, rule_policy(env), Search(trials=8, generations=0, elites=2))
    np.testing.assert_allclose(found.returns - found.expert, DAYS / 2 * LOOK, atol=1e-4)
    assert not found.schedules["request"].any() and found.schedules["order"].any()


def test_one_habit_is_moved_and_thinned_without_the_others() -> None:
    """A change of one action removes it or adds it, and leaves all others as they are."""
    draw = np.random.default_rng(0)
    trial, room = jnp.asarray(draw.integers(0, 5, (40, 3))), jnp.int32(40)
    habit = lambda actions: actions == HABIT  # noqa: E731
    uniforms = jnp.asarray(draw.uniform(size=(40, 125)), jnp.float32)
    move, thin = (jax.jit(jax.vmap(partial(change, trial=trial, only=habit, **more)))
                  for change, more in ((move_actions, {"room": room}), (thin_actions, {})))  # fmt: skip
    moved, thinned = np.asarray(move(uniforms[:, :5])), np.asarray(thin(uniforms[:, :122]))
    trials = np.broadcast_to(trial, moved.shape)
    new = moved != trials
    assert (((trials == HABIT) & (moved == 0)) | (moved == HABIT))[new].all()
    assert ((trials == HABIT) & (thinned == 0))[thinned != trials].all()
    assert new.any((1, 2)).sum() > 10 and (thinned != trials).any((1, 2)).sum() > 10


def test_plans_are_of_integers() -> None:
    env = harvestgym.make("fishing/logistic-v0")
    with pytest.raises(ConfigError, match="integer actions that start at 0"):
        plan_with_foresight(env, KEYS, random_policy(env), SEARCH)


def test_a_blind_schedule_is_the_same_in_every_season_and_beats_no_action() -> None:
    env = reeds()
    blind = plan_blind(env, KEYS, rule_policy(env), SEARCH)
    found = plan_with_foresight(env, KEYS, rule_policy(env), SEARCH)
    lived = np.asarray(evaluate(env, blind, KEYS, SEASONS, horizon(env)).returns)
    assert 0 < lived.mean() <= found.returns.mean() + 1e-5, "no schedule for all is better than one for each"
    observations = (jnp.zeros(env.observation_space.shape), jnp.ones(env.observation_space.shape))
    actions = [int(blind.act(jnp.int32(4), obs, KEYS[0])[1]) for obs in observations]
    assert actions[0] == actions[1]
