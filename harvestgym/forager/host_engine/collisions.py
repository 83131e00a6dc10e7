"""Collisions on the host: whether an object blocks the agent, whether it is taken, and when it returns."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import DELAY, draw_bell, draw_word, scale_word
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.arrays import EpisodeArrays
from harvestgym.forager.host_engine.cells import find_region, find_slot, mark_cell, push_due
from harvestgym.forager.host_engine.numba_support import U64, WORD_MASK, compiled
from harvestgym.forager.host_engine.view import patch
from harvestgym.forager.object_kinds import DelayLaw, ReturnPlace
from harvestgym.forager.world import AWAY, EMPTY, GONE

ASK = EMPTY - 1
"""ASK - kind is the result of a collision whose outcome code from outside the package must decide first."""


@compiled
def collide(arrays: EpisodeArrays, x: int, y: int, kind: int) -> tuple[int, bool]:
    """Collide with an object of `kind` at (x, y); return the kind that is hit, and whether its cell can be entered.

    If the limit on changed objects is reached, a collectable object stays, and no kind counts as hit. If code from
    outside the package decides on the reward, nothing changes until `ANSWERED` is set, and the result is ASK - `kind`.
    """
    head, slot = arrays.head, find_slot(arrays, x, y)
    cell = x + y * head[col.WIDTH]
    head[col.HIT_SLOT], head[col.HIT_CELL] = -1, cell
    head[col.HIT_HOME] = arrays.slots[slot, col.HOME] if slot >= 0 else cell
    free, taken = arrays.kinds[kind, col.BLOCKING] == 0, arrays.kinds[kind, col.COLLECTABLE] != 0
    asks = arrays.kinds[kind, col.ASKS] or head[col.HIT_HOME] < -1  # it was added as a single object
    if asks and not head[col.ANSWERED] and not (taken and is_full(arrays, slot)):
        head[col.PREPARED] = head[col.CLOCK] + 1
        return ASK - kind, False
    if not taken:
        return kind, free
    slot = take(arrays, slot, cell, kind)
    head[col.HIT_SLOT] = slot
    if slot < 0:
        return EMPTY, free
    arrays.regions[find_region(arrays.regions, x, y), col.EATEN] += 1
    return kind, free


@compiled
def is_full(arrays: EpisodeArrays, slot: int) -> bool:
    """Return whether an object must stay because the limit on changed objects is reached."""
    return slot < 0 and (arrays.head[col.FREE] < 0 or arrays.head[col.USED] >= arrays.head[col.BOUND])


@compiled
def take(arrays: EpisodeArrays, slot: int, cell: int, kind: int) -> int:
    """Take an object away; return its slot, or -1 if it must stay because the limit on changed objects is reached.

    Its return is scheduled here, unless a Python object decides on it.
    """
    head = arrays.head
    if is_full(arrays, slot):
        head[col.REFUSED] += 1
        return -1
    if slot < 0:
        slot = head[col.FREE]
        head[col.FREE] = arrays.slots[slot, col.AT]
        head[col.USED] += 1
        arrays.slots[slot, col.HOME], arrays.slots[slot, col.WHAT] = cell, kind
        mark_cell(arrays, cell, 1, slot)
    else:
        mark_cell(arrays, cell, 2, -1)
    row = arrays.slots[slot]
    row[col.BORN], row[col.AT], row[col.STATE], row[col.DUE] = head[col.EVENTS], cell, AWAY, head[col.CLOCK]
    if row[col.HOME] >= 0 or row[col.WHERE] != ReturnPlace.FIXED:  # or it was added as a single object
        row[col.WHERE] = arrays.kinds[kind, col.PLACE]
        if row[col.WHERE] == ReturnPlace.FIXED:
            row[col.AT] = arrays.kinds[kind, col.TARGET]
    head[col.EVENTS] += 1
    patch(arrays, cell, EMPTY)
    if arrays.kinds[kind, col.PYTHON] == 0 and row[col.HOME] >= 0:
        schedule_return(arrays, slot, draw_delay(arrays, kind, row[col.BORN]))
    return slot


@compiled
def draw_delay(arrays: EpisodeArrays, kind: int, event: int) -> int:
    """Return the number of steps for which the `event`-th collected object stays away; -1 if it never returns."""
    if arrays.kinds[kind, col.DELAY_LAW] == DelayLaw.NEVER:
        return -1
    k0, k1, low, high = U64(arrays.head[col.KEY_0]), U64(arrays.head[col.KEY_1]), U64(event & WORD_MASK), U64(0)
    a, b = arrays.kinds[kind, col.DELAY_A], arrays.kinds[kind, col.DELAY_B]
    if arrays.kinds[kind, col.DELAY_LAW] == DelayLaw.UNIFORM:
        return a + np.int64(scale_word(draw_word(k0, k1, U64(DELAY), low, high), U64(b - a + 1)))
    size, negative = draw_bell(k0, k1, U64(DELAY), low, high)
    off = (np.int64(size) * b) >> 16
    return max(a - off if negative else a + off, 0)


@compiled
def schedule_return(arrays: EpisodeArrays, slot: int, delay: int) -> None:
    """Schedule the return of a taken object, `delay` steps after its collision; -1 for never."""
    if delay < 0:
        arrays.slots[slot, col.STATE] = GONE
        return
    arrays.slots[slot, col.DUE] = arrays.slots[slot, col.DUE] + max(delay, 1)
    push_due(arrays, slot)
