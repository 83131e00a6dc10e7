"""Payment of rewards: at once or some steps after their collision, from a ring of sums that both engines use.

A ring has one cell for each step up to the longest delay. The reward of a collision at step t of a kind that pays d
steps later is added to cell (t + d) mod n; cell t mod n is paid and emptied in step t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .kinds import Kind

RATE = 1e-3
"""Weight of the newest reward in the running rate: about the last thousand steps."""


def ring_length(kinds: Sequence[Kind]) -> int:
    """Cells of the ring: 1 where every reward is paid at once."""
    return max((kind.pays_after for kind in kinds), default=0) + 1


def ring_cells(phase: Any, delay: Any, length: int) -> tuple[Any, Any]:
    """(cell of a reward to be paid `delay` steps later, cell due now), for the clock modulo `length`."""
    return (phase + delay) % length, phase
