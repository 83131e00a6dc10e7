"""The cells of a world on the host: the generated kind, with the changes from collected and moved objects.

An open-addressing index finds changed objects by cell; a heap finds those that are due to return.
"""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import SEASON, draw_word, permute, scale_word
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.arrays import EpisodeArrays, slot_tables
from harvestgym.forager.host_engine.numba_support import U64, compiled, inlined
from harvestgym.forager.world import AWAY, EMPTY, STANDING, VACANT

_SPREAD = np.uint64(0x9E3779B97F4A7C15)

# ---- kinds -----------------------------------------------------------------------------------------------


@inlined
def rank_cell(regions: np.ndarray, r: int, x: int, y: int) -> tuple[int, int]:
    """Return the rank pair of a cell in region `r`, before the reserved cell is swapped."""
    p, q = x - regions[r, col.X0], y - regions[r, col.Y0]
    a, b, cells = regions[r, col.A], regions[r, col.B], regions[r, col.W] * regions[r, col.H]
    if regions[r, col.NARROW]:
        i = p + q * regions[r, col.W]
        p, q = i % a, i // a
    k0, k1 = U64(regions[r, col.KEY_P]), U64(regions[r, col.KEY_Q])
    u, v = permute(U64(p), U64(q), U64(a), U64(b), k0, k1)
    while np.int64(v) * a + np.int64(u) >= cells:
        u, v = permute(u, v, U64(a), U64(b), k0, k1)
    return int(u), int(v)


@inlined
def find_region(regions: np.ndarray, x: int, y: int) -> int:
    """Return the region of a cell: the last one that contains it."""
    for r in range(len(regions) - 1, 0, -1):
        if 0 <= x - regions[r, col.X0] < regions[r, col.W] and 0 <= y - regions[r, col.Y0] < regions[r, col.H]:
            return r
    return 0


@inlined
def generate_kind(regions: np.ndarray, layers: np.ndarray, x: int, y: int) -> int:
    """Return the kind that the world generated in a cell."""
    r = find_region(regions, x, y)
    p, q = rank_cell(regions, r, x, y)
    a, last = regions[r, col.A], regions[r, col.W] * regions[r, col.H] - 1
    keep_p, keep_q = regions[r, col.KEEP_P], regions[r, col.KEEP_Q]
    if p == keep_p and q == keep_q:
        p, q = last % a, last // a
    elif keep_p >= 0 and p + q * a == last:
        p, q = keep_p, keep_q
    for i in range(len(layers)):
        if layers[i, col.LAYER_REGION] == r and (
            q < layers[i, col.LAYER_Q] or (q == layers[i, col.LAYER_Q] and p < layers[i, col.LAYER_P])
        ):
            return layers[i, col.LAYER_KIND]
    return EMPTY


@inlined
def hash_bucket(index: np.ndarray, cell: int) -> int:
    """Return the row of the index where the search for a cell begins."""
    return int((U64(cell) * _SPREAD) >> U64(32)) & (len(index) - 1)


@inlined
def is_taken(taken: np.ndarray, i: int) -> bool:
    """Return whether a row of the index holds a cell."""
    return (taken[U64(i) >> U64(6)] >> U64(i & 63)) & U64(1) != U64(0)


@inlined
def find_row(index: np.ndarray, taken: np.ndarray, cell: int) -> int:
    """Return the row of a cell in the index, or the free row where it would be stored."""
    i = hash_bucket(index, cell)
    while is_taken(taken, i) and index[i, 0] != cell + 1:
        i = (i + 1) & (len(index) - 1)
    return i


@inlined
def find_slot(arrays: EpisodeArrays, x: int, y: int) -> int:
    """Return the slot of the changed object in a cell; -1 if the cell is unchanged, -2 if it was emptied."""
    if arrays.head[col.ENTRIES] == 0:
        return -1
    i = find_row(arrays.lookup, arrays.taken, x + y * arrays.head[col.WIDTH])
    if not is_taken(arrays.taken, i):
        return -1
    if arrays.lookup[i, 2]:
        return arrays.lookup[i, 2] - 1
    return -2 if arrays.lookup[i, 1] else -1


@inlined
def is_in_season(arrays: EpisodeArrays, kind: int, home: int, cell: int) -> bool:
    """Return whether an object is in season now, by its cell `home` or, if it has none, by `cell`."""
    head, kinds = arrays.head, arrays.kinds
    period = kinds[kind, col.LASTS] + kinds[kind, col.RESTS]
    if period == 0:
        return True
    root = home if home >= 0 else cell
    x, y = U64(root % head[col.WIDTH]), U64(root // head[col.WIDTH])
    first = np.int64(scale_word(draw_word(U64(head[col.KEY_0]), U64(head[col.KEY_1]), U64(SEASON), x, y), U64(period)))
    return (head[col.CLOCK] % period + first) % period < kinds[kind, col.LASTS]


@inlined
def find_kind(arrays: EpisodeArrays, x: int, y: int, hidden: bool = False) -> int:
    """Return the current kind in a cell, or EMPTY; `hidden` includes objects out of season."""
    cell, slot = x + y * arrays.head[col.WIDTH], find_slot(arrays, x, y)
    if slot == -2:
        return EMPTY
    home = arrays.slots[slot, col.HOME] if slot >= 0 else cell
    kind = arrays.slots[slot, col.WHAT] if slot >= 0 else generate_kind(arrays.regions, arrays.layers, x, y)
    if arrays.head[col.PERISHES] and not hidden and kind != EMPTY and not is_in_season(arrays, kind, home, cell):
        return EMPTY
    return kind


# ---- the index and the heap ------------------------------------------------------------------------------


@compiled
def mark_cell(arrays: EpisodeArrays, cell: int, column: int, slot: int) -> None:
    """Store in the index that a cell is the home (column 1) or the place (column 2) of `slot`; -1 to remove it."""
    i = find_row(arrays.lookup, arrays.taken, cell)
    if not is_taken(arrays.taken, i):
        arrays.lookup[i, 0] = cell + 1
        arrays.taken[i >> 6] |= U64(1) << U64(i & 63)
        arrays.head[col.ENTRIES] += 1
    arrays.lookup[i, column] = slot + 1
    if arrays.lookup[i, 1] == 0 and arrays.lookup[i, 2] == 0:
        _erase(arrays.lookup, arrays.taken, i)
        arrays.head[col.ENTRIES] -= 1


@compiled
def _erase(index: np.ndarray, taken: np.ndarray, hole: int) -> None:
    size = len(index) - 1
    i = hole
    while True:
        i = (i + 1) & size
        if not is_taken(taken, i):
            break
        wanted = hash_bucket(index, index[i, 0] - 1)
        if ((i - wanted) & size) >= ((i - hole) & size):
            index[hole] = index[i]
            hole = i
    index[hole] = 0
    taken[hole >> 6] &= ~(U64(1) << U64(hole & 63))


@compiled
def _before(heap: np.ndarray, i: int, j: int) -> bool:
    return heap[i, 0] < heap[j, 0] or (heap[i, 0] == heap[j, 0] and heap[i, 1] < heap[j, 1])


@compiled
def _swap(heap: np.ndarray, i: int, j: int) -> None:
    for c in range(3):
        heap[i, c], heap[j, c] = heap[j, c], heap[i, c]


@compiled
def push_due(arrays: EpisodeArrays, slot: int) -> None:
    """Queue a slot for its return."""
    heap, i = arrays.heap, arrays.head[col.PENDING]
    heap[i, 0], heap[i, 1], heap[i, 2] = arrays.slots[slot, col.DUE], arrays.slots[slot, col.BORN], slot
    arrays.head[col.PENDING] += 1
    while i > 0 and _before(heap, i, (i - 1) // 2):
        _swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def pop_due(arrays: EpisodeArrays) -> int:
    """Remove and return the slot that is due first."""
    heap, slot = arrays.heap, arrays.heap[0, 2]
    arrays.head[col.PENDING] -= 1
    n = arrays.head[col.PENDING]
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
def rebuild_index(arrays: EpisodeArrays) -> None:
    """Build the index, the queue and the chain of vacant slots from the slots."""
    arrays.lookup[:] = 0
    arrays.taken[:] = 0
    head = arrays.head
    head[col.ENTRIES], head[col.PENDING], head[col.USED], head[col.FREE] = 0, 0, 0, -1
    for slot in range(len(arrays.slots) - 1, -1, -1):
        row = arrays.slots[slot]
        if row[col.STATE] == VACANT:
            row[col.AT] = head[col.FREE]
            head[col.FREE] = slot
            continue
        head[col.USED] += 1
        if row[col.HOME] >= 0:
            mark_cell(arrays, row[col.HOME], 1, slot)
        if row[col.STATE] == STANDING:
            mark_cell(arrays, row[col.AT], 2, slot)
        elif row[col.STATE] == AWAY:
            push_due(arrays, slot)


def grow_arrays(arrays: EpisodeArrays, room: int) -> EpisodeArrays:
    """Return the same episode with tables for `room` changed objects; slots keep their numbers."""
    tables = slot_tables(room)
    tables["slots"][: len(arrays.slots)] = arrays.slots
    bigger = arrays._replace(**tables)
    rebuild_index(bigger)
    return bigger
