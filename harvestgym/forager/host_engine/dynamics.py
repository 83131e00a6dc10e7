"""Changes to the world on the host: returning objects, renewed regions and teleported agents."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import JUMP, PLACE_0, PLACE_1, RETURN, STREAMS, draw_word, scale_word
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.arrays import EpisodeArrays
from harvestgym.forager.host_engine.cells import (
    find_kind,
    find_region,
    is_in_season,
    mark_cell,
    pop_due,
    push_due,
    rank_cell,
    rebuild_index,
)
from harvestgym.forager.host_engine.numba_support import U64, WORD_MASK, compiled
from harvestgym.forager.host_engine.view import patch, refresh
from harvestgym.forager.object_kinds import ReturnPlace
from harvestgym.forager.world import EMPTY, STANDING, TRIES, VACANT


@compiled
def is_occupied(arrays: EpisodeArrays, x: int, y: int) -> bool:
    """Return whether a cell holds an agent or an object, including an object out of season."""
    for agent in range(len(arrays.agents)):
        if arrays.agents[agent, col.AGENT_X] == x and arrays.agents[agent, col.AGENT_Y] == y:
            return True
    return find_kind(arrays, x, y, True) != EMPTY


@compiled
def draw_free_cell(arrays: EpisodeArrays, r: int, stream: int, b: int) -> int:
    """Return a random free cell of region `r`, or -1 if none of the cells drawn is free."""
    g, k0, k1 = arrays.regions[r], U64(arrays.head[col.KEY_0]), U64(arrays.head[col.KEY_1])
    clock = U64(arrays.head[col.CLOCK] & WORD_MASK)
    for i in range(TRIES):
        first = stream + STREAMS * 2 * i
        x = g[col.X0] + np.int64(scale_word(draw_word(k0, k1, U64(first), U64(b), clock), U64(g[col.W])))
        y = g[col.Y0] + np.int64(scale_word(draw_word(k0, k1, U64(first + STREAMS), U64(b), clock), U64(g[col.H])))
        if not is_occupied(arrays, x, y):
            return x + y * arrays.head[col.WIDTH]
    return -1


@compiled
def find_return_cell(arrays: EpisodeArrays, slot: int) -> int:
    """Return the cell where an object can return now, or -1."""
    row, width = arrays.slots[slot], arrays.head[col.WIDTH]
    if row[col.WHERE] == ReturnPlace.ANYWHERE:
        return draw_free_cell(arrays, 0, RETURN, row[col.BORN] & WORD_MASK)
    if row[col.WHERE] == ReturnPlace.REGION:
        r = find_region(arrays.regions, row[col.HOME] % width, row[col.HOME] // width)
        return draw_free_cell(arrays, r, RETURN, row[col.BORN] & WORD_MASK)
    return -1 if is_occupied(arrays, row[col.AT] % width, row[col.AT] // width) else row[col.AT]


@compiled
def place_object(arrays: EpisodeArrays, slot: int, cell: int) -> None:
    """Place an object in a cell, and free its slot if the cell is its original one."""
    row = arrays.slots[slot]
    kind = row[col.WHAT]
    if cell == row[col.HOME]:
        mark_cell(arrays, cell, 1, -1)
        row[col.AT], row[col.STATE] = arrays.head[col.FREE], VACANT
        arrays.head[col.FREE] = slot
        arrays.head[col.USED] -= 1
    else:
        row[col.AT], row[col.STATE] = cell, STANDING
        mark_cell(arrays, cell, 2, slot)
    patch(arrays, cell, kind if is_in_season(arrays, kind, row[col.HOME], cell) else EMPTY)


@compiled
def return_objects(arrays: EpisodeArrays) -> None:
    """Return the objects that are due, in the order of collection; an object without a free cell waits one step."""
    clock = arrays.head[col.CLOCK]
    while arrays.head[col.PENDING] and arrays.heap[0, 0] <= clock:
        slot = pop_due(arrays)
        cell = find_return_cell(arrays, slot)
        if cell < 0:
            arrays.slots[slot, col.DUE] = clock + 1
            push_due(arrays, slot)
        else:
            place_object(arrays, slot, cell)


@compiled
def key_region(arrays: EpisodeArrays, r: int) -> None:
    """Set the keys of a region's bijection for its generation, and keep the agent's cell free."""
    g, k0, k1 = arrays.regions[r], U64(arrays.head[col.KEY_0]), U64(arrays.head[col.KEY_1])
    g[col.KEY_P] = np.int64(draw_word(k0, k1, U64(PLACE_0), U64(r), U64(g[col.GENERATION])))
    g[col.KEY_Q] = np.int64(draw_word(k0, k1, U64(PLACE_1), U64(r), U64(g[col.GENERATION])))
    g[col.KEEP_P], g[col.KEEP_Q] = -1, -1
    x, y = arrays.agents[0, col.AGENT_X], arrays.agents[0, col.AGENT_Y]
    if 0 <= x - g[col.X0] < g[col.W] and 0 <= y - g[col.Y0] < g[col.H]:
        p, q = rank_cell(arrays.regions, r, x, y)
        g[col.KEEP_P], g[col.KEEP_Q] = p, q


@compiled
def renew(arrays: EpisodeArrays) -> None:
    """Start a new generation in each region in which enough objects were collected or enough time has passed."""
    clock, changed = arrays.head[col.CLOCK], False
    for r in range(len(arrays.regions)):
        g = arrays.regions[r]
        eaten = g[col.RENEW_EATEN] > 0 and g[col.EATEN] >= g[col.RENEW_EATEN]
        if eaten or (g[col.RENEW_EVERY] > 0 and clock > 0 and clock % g[col.RENEW_EVERY] == 0):
            g[col.EATEN] = 0
            g[col.GENERATION] += 1
            _clear_region(arrays, r)
            key_region(arrays, r)
            changed = True
    if changed:
        rebuild_index(arrays)
        refresh(arrays)


@compiled
def _clear_region(arrays: EpisodeArrays, r: int) -> None:
    width = arrays.head[col.WIDTH]
    for slot in range(len(arrays.slots)):
        home = arrays.slots[slot, col.HOME]
        native = home >= 0 and find_region(arrays.regions, home % width, home // width) == r
        if arrays.slots[slot, col.STATE] != VACANT and native:
            arrays.slots[slot, col.STATE] = VACANT


@compiled
def put_agent(arrays: EpisodeArrays, agent: int, cell: int) -> None:
    """Put an agent in a cell."""
    width = arrays.head[col.WIDTH]
    arrays.agents[agent, col.AGENT_X], arrays.agents[agent, col.AGENT_Y] = cell % width, cell // width


@compiled
def teleport(arrays: EpisodeArrays) -> None:
    """Move the agent to a free cell in the next region, at regular intervals."""
    head = arrays.head
    turn = (head[col.CLOCK] + 1) // head[col.EVERY]
    if (head[col.CLOCK] + 1) % head[col.EVERY] == 0:
        r = arrays.teleports[(turn - 1) % len(arrays.teleports)]
        cell = draw_free_cell(arrays, r, JUMP, 0)
        if cell >= 0:
            put_agent(arrays, 0, cell)
            refresh(arrays)
