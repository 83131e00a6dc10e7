"""Delayed rewards: everything is paid once, when it is due, as by a list of debts."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.forager.kinds import Kind
from harvestgym.forager.reward_payment import DelayedRewards, ring_cells, ring_length

KINDS = (Kind("now"), Kind("soon", pays_after=1), Kind("late", pays_after=7))


def test_the_ring_has_a_cell_for_each_step_of_the_longest_delay():
    assert ring_length(KINDS) == 8
    assert ring_length(KINDS[:1]) == ring_length(()) == 1


def test_ring_cells_of_a_delay_come_round_when_it_is_due():
    for clock in range(30):
        for delay in range(8):
            later, _ = ring_cells(clock % 8, delay, 8)
            _, due = ring_cells((clock + delay) % 8, 0, 8)
            assert later == due


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


def test_clearing_forgets_the_debts_of_some_agents():
    ring = DelayedRewards(KINDS, 3)
    ring.settle(np.full(3, 2), np.zeros(3, int), np.ones(3))
    ring.clear(np.array([0, 2]))
    assert ring.owed.sum(1).tolist() == [0.0, 1.0, 0.0]
    ring.clear()
    assert not ring.owed.any()
