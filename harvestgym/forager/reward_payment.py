"""Payment of rewards: at once or some steps after their collision, from a ring of sums that both engines use.

A ring has one cell for each step up to the longest delay. The reward of a collision at step t of a kind that pays d
steps later is added to cell (t + d) mod n; cell t mod n is paid and emptied in step t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .kinds import Kind

RATE = 1e-3
"""Weight of the newest reward in the running rate: about the last thousand steps."""


def ring_length(kinds: Sequence[Kind]) -> int:
    """Cells of the ring: 1 where every reward is paid at once."""
    return max((kind.pays_after for kind in kinds), default=0) + 1


def ring_cells(phase: Any, delay: Any, length: int) -> tuple[Any, Any]:
    """(cell of a reward to be paid `delay` steps later, cell due now), for the clock modulo `length`."""
    return (phase + delay) % length, phase


class DelayedRewards:
    """The rings of a batch of agents on the host.

    Attributes:
        owed: float64 (agents, length).
    """

    def __init__(self, kinds: Sequence[Kind], number: int) -> None:
        self._delays = np.array([*(kind.pays_after for kind in kinds), 0])
        self.owed = np.zeros((number, ring_length(kinds)))

    def clear(self, agents: np.ndarray | slice = slice(None)) -> None:
        """Forget what is owed to some agents."""
        self.owed[agents] = 0.0

    def settle(self, hits: np.ndarray, clocks: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """float64 (agents,): what is due now, after storing `rewards` of the kinds `hits` (-1 for none)."""
        length = self.owed.shape[1]
        if length == 1:
            return rewards
        agents = np.arange(len(hits))
        later, now = ring_cells(clocks % length, self._delays[hits], length)
        self.owed[agents, later] += rewards
        due = self.owed[agents, now]
        self.owed[agents, now] = 0.0
        return due
