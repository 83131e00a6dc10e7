"""Rewards on the host: exact phases and the same draws as under JAX; everything is paid once, when it is due."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.forager.host_engine.rewards import DelayedRewards, HostContext
from harvestgym.forager.jax_engine.rewards import JaxContext
from harvestgym.forager.object_kinds import Kind

WORDS = (77, 2**31 + 5)
CLOCKS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 12345]


def on_jax(clock: int, kind: int = 0, generation: int = 0) -> JaxContext:
    words = jnp.array(WORDS, jnp.uint32)
    return JaxContext(jnp.uint32(clock >> 32), jnp.uint32(clock % 2**32), words, kind, jnp.uint32(generation))


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("period", [1, 97, 2**24 - 1])
def test_phase_is_exact_on_both_engines(clock, period):
    assert HostContext(clock, WORDS, 0, 0).phase(period) == clock % period
    assert int(on_jax(clock).phase(period)) == clock % period


@pytest.mark.parametrize(("kind", "generation"), [(0, 0), (3, 0), (0, 12)])
def test_uniforms_are_equal_on_both_engines(kind, generation):
    host = HostContext(5, WORDS, kind, generation).uniforms(6)
    assert np.asarray(on_jax(5, kind, generation).uniforms(6)).tolist() == host.tolist()


def test_uniforms_do_not_depend_on_the_clock():
    assert (HostContext(5, WORDS, 1, 2).uniforms(4) == HostContext(10**10, WORDS, 1, 2).uniforms(4)).all()


def test_uniforms_are_uniform_and_cannot_be_overwritten():
    draws = np.concatenate([HostContext(0, (seed, 0), 0, 0).uniforms(50) for seed in range(100)])
    assert stats.kstest(draws, "uniform").pvalue > 1e-4
    with pytest.raises(ValueError, match="read-only"):
        HostContext(0, WORDS, 0, 0).uniforms(4)[0] = 1.0


@pytest.mark.parametrize("clock", CLOCKS)
def test_noise_is_equal_on_the_host_and_under_jax(clock):
    assert float(on_jax(clock).noise()) == HostContext(clock, WORDS, 0, 0).noise()


def test_noise_is_drawn_for_every_step():
    noise = np.array([HostContext(clock, WORDS, 0, 0).noise() for clock in range(5000)])
    assert stats.kstest(noise, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 4 / np.sqrt(5000)


# -- payment -------------------------------------------------------------------------------------------------

KINDS = (Kind("now"), Kind("soon", pays_after=1), Kind("late", pays_after=7))


def test_rewards_at_once_are_returned_as_they_are():
    rewards = np.array([1.0, -2.0])
    assert DelayedRewards(KINDS[:1], 2).settle(np.array([0, -1]), np.zeros(2, int), rewards) is rewards


@pytest.mark.parametrize("agents", [1, 4])
def test_payments_are_those_of_a_list_of_debts(agents):
    rng = np.random.default_rng(0)
    ring, debts = DelayedRewards(KINDS, agents), [{} for _ in range(agents)]
    clocks = rng.integers(0, 100, agents)
    for _ in range(300):
        hits, rewards = rng.integers(-1, 3, agents), rng.normal(size=agents)
        rewards[hits < 0] = 0.0
        paid = ring.settle(hits, clocks, rewards.copy())
        for i, (hit, clock, reward) in enumerate(zip(hits.tolist(), clocks.tolist(), rewards.tolist(), strict=True)):
            due = clock + (KINDS[hit].pays_after if hit >= 0 else 0)
            debts[i][due] = debts[i].get(due, 0.0) + reward
            assert paid[i] == pytest.approx(debts[i].pop(clock, 0.0), abs=1e-12)
        clocks = clocks + 1


def test_nothing_is_lost_and_nothing_is_paid_twice():
    rng, ring = np.random.default_rng(1), DelayedRewards(KINDS, 3)
    earned = paid = 0.0
    for clock in range(200):
        hits, rewards = rng.integers(0, 3, 3), rng.normal(size=3)
        earned += rewards.sum()
        paid += ring.settle(hits, np.full(3, clock), rewards).sum()
        assert paid + ring.owed.sum() == pytest.approx(earned)
