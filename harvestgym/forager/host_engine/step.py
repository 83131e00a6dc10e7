"""The compiled step of the host engine for one episode; it takes less than two microseconds."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import JUMP
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine.arrays import EpisodeArrays
from harvestgym.forager.host_engine.cells import find_kind, rebuild_index
from harvestgym.forager.host_engine.collisions import collide
from harvestgym.forager.host_engine.dynamics import (
    draw_free_cell,
    key_region,
    put_agent,
    renew,
    return_objects,
    teleport,
)
from harvestgym.forager.host_engine.numba_support import borrowed, compiled, inlined
from harvestgym.forager.host_engine.view import copy_bytes, find_cell_ahead, find_front, refresh, refresh_block, slide
from harvestgym.forager.world import EMPTY


@inlined
def act(arrays: EpisodeArrays, agent: int, action: int) -> int:
    """Move one agent and its view; return the kind that it hit, EMPTY, or the request from `collide` to call Python."""
    head, agents, views = arrays.head, arrays.agents, arrays.views
    x, y = find_cell_ahead(arrays, agent, action)
    head[col.HIT] = EMPTY
    if x == agents[agent, col.AGENT_X] and y == agents[agent, col.AGENT_Y]:
        return EMPTY
    kind = find_kind(arrays, x, y)
    if kind != EMPTY:
        kind, free = collide(arrays, x, y, kind)
        head[col.HIT] = kind
        if not free:
            return kind
    agents[agent, col.AGENT_X], agents[agent, col.AGENT_Y] = x, y
    if head[col.PERISHES]:
        return kind
    old, new = views[agent, head[col.SIDE]], views[agent, 1 - head[col.SIDE]]
    slide(head, action, old, new)
    rows, cols = find_front(head, action)
    refresh_block(arrays, new, x, y, rows, cols)
    if len(agents) == 1:
        head[col.SIDE] = 1 - head[col.SIDE]
    else:
        old[:] = new
    return kind


@compiled
def prepare(arrays: EpisodeArrays) -> None:
    """Change the world before the agents act: renew regions and return objects."""
    if arrays.head[col.RENEWS]:
        renew(arrays)
    return_objects(arrays)


@compiled
def step(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, teleports: np.ndarray,
         agents: np.ndarray, slots: np.ndarray, index: np.ndarray, taken: np.ndarray, heap: np.ndarray,
         codes: np.ndarray, views: np.ndarray, action: int, out: np.ndarray) -> int:  # fmt: skip
    """Step the only agent and write its encoded view to `out`; return the kind that it hit, or EMPTY.

    If `collide` requests a call to Python, its result is returned before the agent, the objects or the clock change.
    The arrays are separate arguments, because unpacking a tuple of them takes numba twice as long as the step itself.
    """
    arrays = borrowed(
        EpisodeArrays(head, regions, layers, kinds, teleports, agents, slots, index, taken, heap, codes, views)
    )
    due = head[col.RENEWS] or (head[col.PENDING] and heap[0, 0] <= head[col.CLOCK])
    if due and head[col.PREPARED] <= head[col.CLOCK]:
        prepare(arrays)
    kind = act(arrays, 0, action)
    if kind < EMPTY:
        return kind
    if head[col.EVERY]:
        teleport(arrays)
    if head[col.PERISHES]:
        refresh(arrays)
    flat = out.reshape(-1)
    copy_bytes(flat, 0, arrays.views[0, head[col.SIDE]], 0, len(flat))
    head[col.CLOCK] += 1
    return kind


@compiled
def step_together(arrays: EpisodeArrays, actions: np.ndarray, out: np.ndarray, hits: np.ndarray) -> None:
    """Step every agent once, in order; `out` is (agents, bytes of a view)."""
    head = arrays.head
    head[col.ANSWERED] = True  # the rewards of several agents are paid after the step
    prepare(arrays)
    for agent in range(len(arrays.agents)):
        hits[agent] = act(arrays, agent, actions[agent])
    if head[col.PERISHES]:
        refresh(arrays)
    out[:] = arrays.views[:, head[col.SIDE]]
    head[col.CLOCK] += 1


@compiled
def begin(arrays: EpisodeArrays, k0: int, k1: int, x: int, y: int) -> None:
    """Start an episode with the seed (k0, k1): clock 0, an unchanged world, and agents at or near (x, y)."""
    head = arrays.head
    head[col.KEY_0], head[col.KEY_1] = k0, k1
    head[col.CLOCK], head[col.EVENTS], head[col.REFUSED], head[col.SIDE] = 0, 0, 0, 0
    head[col.PREPARED] = 0
    head[col.HIT], head[col.HIT_SLOT] = EMPTY, -1
    arrays.agents[:, col.AGENT_X], arrays.agents[:, col.AGENT_Y] = x, y
    arrays.slots[:] = 0
    rebuild_index(arrays)
    for r in range(len(arrays.regions)):
        arrays.regions[r, col.GENERATION], arrays.regions[r, col.EATEN] = 0, 0
        key_region(arrays, r)
    for agent in range(1, len(arrays.agents)):
        cell = draw_free_cell(arrays, 0, JUMP, agent)
        if cell >= 0:
            put_agent(arrays, agent, cell)
    refresh(arrays)
