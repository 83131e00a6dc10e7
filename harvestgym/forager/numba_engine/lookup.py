"""What stands in a cell on the host engine: the rules of the world, overlaid by the objects that were touched.

An open-addressing index finds the objects by cell, a heap those that are due.
"""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import draw, permute, scale
from harvestgym.forager.numba_support import compiled, inlined
from harvestgym.forager.world import EMPTY, SEASON

from .arrays import (
    AT,
    AWAY,
    BORN,
    CLOCK,
    DUE,
    ENTRIES,
    FREE,
    HOME,
    KEEP_P,
    KEEP_Q,
    KEY_0,
    KEY_1,
    KEY_P,
    KEY_Q,
    LASTS,
    LAYER_KIND,
    LAYER_P,
    LAYER_Q,
    LAYER_REGION,
    NARROW,
    PENDING,
    PERISHES,
    RESTS,
    STANDING,
    STATE,
    USED,
    VACANT,
    WHAT,
    WIDTH,
    X0,
    Y0,
    A,
    B,
    H,
    Life,
    W,
)

_U = np.uint64
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

# ---- what stands in a cell -------------------------------------------------------------------------------


@inlined
def place(regions: np.ndarray, r: int, x: int, y: int) -> tuple[int, int]:
    """Where a cell lies in the grid of region `r`, which the bijection permutes."""
    p, q = x - regions[r, X0], y - regions[r, Y0]
    if regions[r, NARROW]:
        i = p + q * regions[r, W]
        return i % regions[r, A], i // regions[r, A]
    return p, q


@compiled
def permute_all(p: np.ndarray, q: np.ndarray, a: int, b: int, k0: int, k1: int) -> None:
    """`permute` of many pairs in place: without a branch, so that the processor does several at a time."""
    for i in range(len(p)):
        u, v = permute(_U(p[i]), _U(q[i]), _U(a), _U(b), _U(k0), _U(k1))
        p[i], q[i] = u, v


@compiled
def rank_all(regions: np.ndarray, r: int, p: np.ndarray, q: np.ndarray) -> None:
    """From places to rank pairs (p, q), uint32, in place, before the kept cell changes places."""
    a, b, cells = regions[r, A], regions[r, B], regions[r, W] * regions[r, H]
    k0, k1 = regions[r, KEY_P], regions[r, KEY_Q]
    permute_all(p, q, a, b, k0, k1)
    if a * b > cells:
        for i in range(len(p)):
            while np.int64(q[i]) * a + np.int64(p[i]) >= cells:
                permute_all(p[i : i + 1], q[i : i + 1], a, b, k0, k1)


@inlined
def rank(regions: np.ndarray, r: int, x: int, y: int) -> tuple[int, int]:
    """The rank pair of one cell in region `r`."""
    a, b, cells = regions[r, A], regions[r, B], regions[r, W] * regions[r, H]
    k0, k1 = _U(regions[r, KEY_P]), _U(regions[r, KEY_Q])
    p, q = place(regions, r, x, y)
    u, v = permute(_U(p), _U(q), _U(a), _U(b), k0, k1)
    while np.int64(v) * a + np.int64(u) >= cells:
        u, v = permute(u, v, _U(a), _U(b), k0, k1)
    return int(u), int(v)


@inlined
def region_of(regions: np.ndarray, x: int, y: int) -> int:
    """The region of a cell: the last that contains it."""
    for r in range(len(regions) - 1, 0, -1):
        if 0 <= x - regions[r, X0] < regions[r, W] and 0 <= y - regions[r, Y0] < regions[r, H]:
            return r
    return 0


@inlined
def at_rank(regions: np.ndarray, layers: np.ndarray, r: int, p: int, q: int) -> int:
    """The kind that the world put at first in the cell of a rank pair of region `r`."""
    a, last = regions[r, A], regions[r, W] * regions[r, H] - 1
    keep_p, keep_q = regions[r, KEEP_P], regions[r, KEEP_Q]
    if p == keep_p and q == keep_q:
        p, q = last % a, last // a
    elif keep_p >= 0 and p + q * a == last:
        p, q = keep_p, keep_q
    for i in range(len(layers)):
        if layers[i, LAYER_REGION] == r and (
            q < layers[i, LAYER_Q] or (q == layers[i, LAYER_Q] and p < layers[i, LAYER_P])
        ):
            return layers[i, LAYER_KIND]
    return EMPTY


@inlined
def base(regions: np.ndarray, layers: np.ndarray, x: int, y: int) -> int:
    """The kind that the world put in a cell at first."""
    r = region_of(regions, x, y)
    p, q = rank(regions, r, x, y)
    return at_rank(regions, layers, r, p, q)


@inlined
def bucket(index: np.ndarray, cell: int) -> int:
    """Where the search for a cell begins."""
    return int((_U(cell) * _SPREAD) >> _U(32)) & (len(index) - 1)


@inlined
def is_taken(taken: np.ndarray, i: int) -> bool:
    """Whether a row of the index holds a cell."""
    return (taken[_U(i) >> _U(6)] >> _U(i & 63)) & _U(1) != _U(0)


@inlined
def find(index: np.ndarray, taken: np.ndarray, cell: int) -> int:
    """The row of a cell in the index, or the free row where it would stand."""
    i = bucket(index, cell)
    while is_taken(taken, i) and index[i, 0] != cell + 1:
        i = (i + 1) & (len(index) - 1)
    return i


@inlined
def slot_at(head: np.ndarray, index: np.ndarray, taken: np.ndarray, x: int, y: int) -> int:
    """The slot of the object that stands in a cell; -1 if the cell is as at first, -2 if it was emptied."""
    if head[ENTRIES] == 0:
        return -1
    i = find(index, taken, x + y * head[WIDTH])
    if not is_taken(taken, i):
        return -1
    if index[i, 2]:
        return index[i, 2] - 1
    return -2 if index[i, 1] else -1


@inlined
def kind_at(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, slots: np.ndarray, index: np.ndarray,
            taken: np.ndarray, x: int, y: int) -> int:  # fmt: skip
    """The kind, or EMPTY, that stands in a cell now."""
    slot = slot_at(head, index, taken, x, y)
    if slot == -1:
        return base(regions, layers, x, y)
    return slots[slot, WHAT] if slot >= 0 else EMPTY


@inlined
def in_season(head: np.ndarray, kinds: np.ndarray, kind: int, home: int, cell: int) -> bool:
    """Whether an object that comes from the cell `home`, or else has its place in `cell`, stands now."""
    period = kinds[kind, LASTS] + kinds[kind, RESTS]
    if period == 0:
        return True
    root = home if home >= 0 else cell
    x, y = _U(root % head[WIDTH]), _U(root // head[WIDTH])
    first = np.int64(scale(draw(_U(head[KEY_0]), _U(head[KEY_1]), _U(SEASON), x, y), _U(period)))
    return (head[CLOCK] % period + first) % period < kinds[kind, LASTS]


@inlined
def unless_out_of_season(head: np.ndarray, kinds: np.ndarray, slots: np.ndarray, index: np.ndarray,
                         taken: np.ndarray, kind: int, x: int, y: int) -> int:  # fmt: skip
    """`kind`, which stands in a cell, or EMPTY while it is out of season."""
    if head[PERISHES] and kind != EMPTY:
        cell, slot = x + y * head[WIDTH], slot_at(head, index, taken, x, y)
        if not in_season(head, kinds, kind, slots[slot, HOME] if slot >= 0 else cell, cell):
            return EMPTY
    return kind


@inlined
def seen_at(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, slots: np.ndarray,
            index: np.ndarray, taken: np.ndarray, x: int, y: int) -> int:  # fmt: skip
    """`kind_at`, or EMPTY while the object there is out of season."""
    kind = kind_at(head, regions, layers, slots, index, taken, x, y)
    return unless_out_of_season(head, kinds, slots, index, taken, kind, x, y)


@compiled
def look(life: Life, x: int, y: int) -> int:
    """`seen_at` of a life."""
    return seen_at(life.head, life.regions, life.layers, life.kinds, life.slots, life.lookup, life.taken, x, y)


# ---- the index and the heap ------------------------------------------------------------------------------


@compiled
def mark(life: Life, cell: int, column: int, slot: int) -> None:
    """Say in the index that `slot` comes from (column 1) or stands in (column 2) a cell; -1 for no more."""
    i = find(life.lookup, life.taken, cell)
    if not is_taken(life.taken, i):
        life.lookup[i, 0] = cell + 1
        life.taken[i >> 6] |= _U(1) << _U(i & 63)
        life.head[ENTRIES] += 1
    life.lookup[i, column] = slot + 1
    if life.lookup[i, 1] == 0 and life.lookup[i, 2] == 0:
        _erase(life.lookup, life.taken, i)
        life.head[ENTRIES] -= 1


@compiled
def _erase(index: np.ndarray, taken: np.ndarray, hole: int) -> None:
    size = len(index) - 1
    i = hole
    while True:
        i = (i + 1) & size
        if not is_taken(taken, i):
            break
        wanted = bucket(index, index[i, 0] - 1)
        if ((i - wanted) & size) >= ((i - hole) & size):
            index[hole] = index[i]
            hole = i
    index[hole] = 0
    taken[hole >> 6] &= ~(_U(1) << _U(hole & 63))


@compiled
def _before(heap: np.ndarray, i: int, j: int) -> bool:
    return heap[i, 0] < heap[j, 0] or (heap[i, 0] == heap[j, 0] and heap[i, 1] < heap[j, 1])


@compiled
def _swap(heap: np.ndarray, i: int, j: int) -> None:
    for c in range(3):
        heap[i, c], heap[j, c] = heap[j, c], heap[i, c]


@compiled
def push(life: Life, slot: int) -> None:
    """Queue a slot for its return."""
    heap, i = life.heap, life.head[PENDING]
    heap[i, 0], heap[i, 1], heap[i, 2] = life.slots[slot, DUE], life.slots[slot, BORN], slot
    life.head[PENDING] += 1
    while i > 0 and _before(heap, i, (i - 1) // 2):
        _swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def pop(life: Life) -> int:
    """The slot that is due first, out of the queue."""
    heap, slot = life.heap, life.heap[0, 2]
    life.head[PENDING] -= 1
    n = life.head[PENDING]
    heap[0] = heap[n]
    i = 0
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, i):
            break
        _swap(heap, child, i)
        i = child
    return slot


@compiled
def rebuild(life: Life) -> None:
    """Index, queue and the chain of vacant slots, anew from the slots."""
    life.lookup[:] = 0
    life.taken[:] = 0
    head = life.head
    head[ENTRIES], head[PENDING], head[USED], head[FREE] = 0, 0, 0, -1
    for slot in range(len(life.slots) - 1, -1, -1):
        row = life.slots[slot]
        if row[STATE] == VACANT:
            row[AT] = head[FREE]
            head[FREE] = slot
            continue
        head[USED] += 1
        if row[HOME] >= 0:
            mark(life, row[HOME], 1, slot)
        if row[STATE] == STANDING:
            mark(life, row[AT], 2, slot)
        elif row[STATE] == AWAY:
            push(life, slot)
