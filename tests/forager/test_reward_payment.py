"""The ring of delayed rewards."""

from __future__ import annotations

from harvestgym.forager.kinds import Kind
from harvestgym.forager.reward_payment import ring_cells, ring_length

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
