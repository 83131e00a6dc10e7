"""What stands in a cell on the host engine: the rules of the world, overlaid by the objects that were touched.

An open-addressing index finds the objects by cell, a heap those that are due.
"""

from __future__ import annotations

import numpy as np

from .compiled import compiled, inlined
from .hashing import draw, permute, scale
from .life import (
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
from .world import EMPTY, SEASON

_U = np.uint64
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

# ---- what stands in a cell -------------------------------------------------------------------------------


@inlined
def rank(regions: np.ndarray, r: int, x: int, y: int) -> tuple[int, int]:
    """The rank pair (p, q) of a cell in region `r`, before the kept cell changes places."""
    p, q, a, b = x - regions[r, X0], y - regions[r, Y0], regions[r, A], regions[r, B]
    if regions[r, NARROW]:
        i = p + q * regions[r, W]
        p, q = i % a, i // a
    k0, k1 = _U(regions[r, KEY_P]), _U(regions[r, KEY_Q])
    u, v = permute(_U(p), _U(q), _U(a), _U(b), k0, k1)
    while np.int64(v) * a + np.int64(u) >= regions[r, W] * regions[r, H]:
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
def base(regions: np.ndarray, layers: np.ndarray, x: int, y: int) -> int:
    """The kind that the world put in a cell at first."""
    r = region_of(regions, x, y)
    p, q = rank(regions, r, x, y)
    last = regions[r, W] * regions[r, H] - 1
    if p == regions[r, KEEP_P] and q == regions[r, KEEP_Q]:
        p, q = last % regions[r, A], last // regions[r, A]
    elif regions[r, KEEP_P] >= 0 and q == last // regions[r, A] and p == last % regions[r, A]:
        p, q = regions[r, KEEP_P], regions[r, KEEP_Q]
    for i in range(len(layers)):
        if layers[i, LAYER_REGION] == r and (
            q < layers[i, LAYER_Q] or (q == layers[i, LAYER_Q] and p < layers[i, LAYER_P])
        ):
            return layers[i, LAYER_KIND]
    return EMPTY


@inlined
def bucket(index: np.ndarray, cell: int) -> int:
    """Where the search for a cell begins."""
    return int((_U(cell) * _SPREAD) >> _U(32)) & (len(index) - 1)


@inlined
def find(index: np.ndarray, cell: int) -> int:
    """The row of a cell in the index, or the empty row where it would stand."""
    i = bucket(index, cell)
    while index[i, 0] != 0 and index[i, 0] != cell + 1:
        i = (i + 1) & (len(index) - 1)
    return i


@inlined
def slot_at(head: np.ndarray, index: np.ndarray, x: int, y: int) -> int:
    """The slot of the object that stands in a cell; -1 if the cell is as at first, -2 if it was emptied."""
    if head[ENTRIES] == 0:
        return -1
    i = find(index, x + y * head[WIDTH])
    if index[i, 2]:
        return index[i, 2] - 1
    return -2 if index[i, 1] else -1


@inlined
def kind_at(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, slots: np.ndarray, index: np.ndarray,
            x: int, y: int) -> int:  # fmt: skip
    """The kind, or EMPTY, that stands in a cell now."""
    slot = slot_at(head, index, x, y)
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
def seen_at(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, slots: np.ndarray,
            index: np.ndarray, x: int, y: int) -> int:  # fmt: skip
    """`kind_at`, or EMPTY while the object there is out of season."""
    kind = kind_at(head, regions, layers, slots, index, x, y)
    if head[PERISHES] and kind != EMPTY:
        cell, slot = x + y * head[WIDTH], slot_at(head, index, x, y)
        if not in_season(head, kinds, kind, slots[slot, HOME] if slot >= 0 else cell, cell):
            return EMPTY
    return kind


@compiled
def look(life: Life, x: int, y: int) -> int:
    """`seen_at` of a life."""
    return seen_at(life.head, life.regions, life.layers, life.kinds, life.slots, life.lookup, x, y)


# ---- the index and the heap ------------------------------------------------------------------------------


@compiled
def mark(life: Life, cell: int, column: int, slot: int) -> None:
    """Say in the index that `slot` comes from (column 1) or stands in (column 2) a cell; -1 for no more."""
    i = find(life.lookup, cell)
    if life.lookup[i, 0] == 0:
        life.lookup[i, 0] = cell + 1
        life.head[ENTRIES] += 1
    life.lookup[i, column] = slot + 1
    if life.lookup[i, 1] == 0 and life.lookup[i, 2] == 0:
        _erase(life.lookup, i)
        life.head[ENTRIES] -= 1


@compiled
def _erase(index: np.ndarray, hole: int) -> None:
    size = len(index) - 1
    i = hole
    while True:
        i = (i + 1) & size
        if index[i, 0] == 0:
            break
        wanted = bucket(index, index[i, 0] - 1)
        if ((i - wanted) & size) >= ((i - hole) & size):
            index[hole] = index[i]
            hole = i
    index[hole] = 0


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
