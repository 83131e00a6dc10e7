"""The state of an episode on the host as plain arrays, which initially take a few kB and grow when needed.

Every field is an array of 64-bit integers or bytes, so an episode can be copied, batched along a leading axis and
passed to compiled code directly. The columns are named in this module, which other modules import as `col`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harvestgym.forager.world import World

(WIDTH, HEIGHT, WALL_EDGE, KEY_0, KEY_1, CLOCK, EVENTS, USED, FREE, BOUND, PENDING, ENTRIES, ROWS, COLS, DEPTH,
 SIDE, RENEWS, EVERY, HIT, HIT_SLOT, HIT_HOME, HIT_CELL, REFUSED, PERISHES, PREPARED, ANSWERED,
 HEAD) = range(27)  # fmt: skip
"""Columns of `head`: the world's sizes and keys, the clock, counts, the kind hit in the last step, the clock + 1 of the
last step that stopped before a collision to call Python, and whether the next step continues it."""

(X0, Y0, W, H, A, B, NARROW, KEY_P, KEY_Q, KEEP_P, KEEP_Q, EATEN, GENERATION, RENEW_EATEN, RENEW_EVERY,
 REGION) = range(16)  # fmt: skip
"""Columns of `regions`; (KEEP_P, KEEP_Q) is the rank swapped with the last one, or -1 for none."""

LAYER_REGION, LAYER_Q, LAYER_P, LAYER_KIND, LAYER = range(5)
(BLOCKING, COLLECTABLE, DELAY_LAW, DELAY_A, DELAY_B, PLACE, TARGET, PYTHON, TINTS, LASTS, RESTS, ASKS,
 KIND) = range(13)  # fmt: skip
HOME, AT, DUE, WHAT, BORN, STATE, WHERE, SLOT = range(8)
"""Columns of `slots`: the object's original cell (-2 or less: none), its present or next cell, the time of its return,
its kind, the number of the collision in which it was taken, its state, and its `ReturnPlace`."""

AGENT_X, AGENT_Y = range(2)


class EpisodeArrays(NamedTuple):
    """The arrays of one episode, or of many with a leading axis.

    Attributes:
        slots: one row for each changed object; all other objects are where the world generated them.
        lookup: open-addressing table, (cell + 1, slot + 1 of the object from this cell, slot + 1 of the object in it).
        taken: a bit for each row of `lookup`, set if the row holds a cell; for most cells, reading one cache line is
        enough to find that no row holds the cell.
        heap: (due, collision, slot) of the objects that are away.
        codes: the bytes that encode a cell, by kind + 1 and tint; the last kind is the outside of a walled world.
        views: two buffers for each agent's encoded view; a move copies from one to the other.
    """

    head: np.ndarray
    regions: np.ndarray
    layers: np.ndarray
    kinds: np.ndarray
    teleports: np.ndarray
    agents: np.ndarray
    slots: np.ndarray
    lookup: np.ndarray
    taken: np.ndarray
    heap: np.ndarray
    codes: np.ndarray
    views: np.ndarray


CHANGING = ("head", "regions", "agents", "slots", "lookup", "taken", "heap", "views")
"""The arrays that change in an episode."""


def new_arrays(world: World, codes: np.ndarray, aperture: tuple[int, int], agents: int = 1) -> EpisodeArrays:
    """Return the arrays of an episode in `world` before it starts; `codes` are (kinds + 2, tints, depth) bytes."""
    rows, cols = aperture
    head = np.zeros(HEAD, np.int64)
    head[[WIDTH, HEIGHT, WALL_EDGE]] = world.width, world.height, world.edge == "wall"
    head[[ROWS, COLS, DEPTH, BOUND]] = rows, cols, codes.shape[2], world.capacity
    head[[RENEWS, PERISHES, EVERY]] = world.renews, world.perishes, world.teleport_every
    regions, layers = region_tables(world)
    kinds = kind_table(world)
    kinds[:, TINTS] = np.minimum(kinds[:, TINTS], codes.shape[1])
    return EpisodeArrays(
        head=head,
        regions=regions,
        layers=layers,
        kinds=kinds,
        teleports=np.array(world.teleport_to or (0,), np.int64),
        agents=np.full((agents, 2), world.start, np.int64),
        codes=np.ascontiguousarray(codes, np.uint8),
        views=np.zeros((agents, 2, rows * cols * codes.shape[2]), np.uint8),
        **slot_tables(64),  # they grow when needed
    )


def slot_tables(room: int) -> dict[str, np.ndarray]:
    """Return empty tables for `room` changed objects."""
    return {
        "slots": np.zeros((room, SLOT), np.int64),
        "lookup": np.zeros((4 * room, 3), np.int64),
        "taken": np.zeros(4 * room // 64, np.uint64),
        "heap": np.zeros((room, 3), np.int64),
    }


def count_most_bytes(arrays: EpisodeArrays) -> int:
    """Return the memory of the episode in bytes when the number of changed objects is at its limit."""
    room, most = len(arrays.slots), int(arrays.head[BOUND])
    tables = sum(getattr(arrays, name).nbytes for name in ("slots", "lookup", "taken", "heap"))
    growth = 1 << (-(-most // room) - 1).bit_length()
    return count_bytes(arrays) + tables * (growth - 1)


def region_tables(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Return the regions and their layers as integers."""
    regions = np.zeros((len(world.regions), REGION), np.int64)
    layers = []
    for i, region in enumerate(world.regions):
        regions[i, : NARROW + 1] = region.x, region.y, region.width, region.height, *region.grid, region.narrow
        regions[i, [KEEP_P, KEEP_Q]] = -1
        regions[i, [RENEW_EATEN, RENEW_EVERY]] = region.renew_eaten, region.renew_every
        layers += [(i, *threshold) for threshold in region.thresholds]
    return regions, np.array(layers or np.zeros((0, LAYER)), np.int64)


def kind_table(world: World) -> np.ndarray:
    """Return the kinds as integers."""
    rows = [
        (
            k.blocking, k.collectable, k.delay.law, k.delay.a, k.delay.b, k.place,
            k.target[0] + k.target[1] * world.width, k.python, max(1, len(k.colors)), k.lasts, k.rests, k.asks,
        )
        for k in world.kinds
    ]  # fmt: skip
    return np.array(rows or np.zeros((0, KIND)), np.int64)


def count_bytes(arrays: EpisodeArrays) -> int:
    """Return the memory of the episode in bytes."""
    return sum(array.nbytes for array in arrays)
