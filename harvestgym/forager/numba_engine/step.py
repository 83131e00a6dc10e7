"""The compiled host engine: one life at a time, well below two microseconds a step.

What stands where is looked up in the rules of `world` and `hashing`, overlaid by the slots of the objects that
were touched. The view is kept encoded: a move copies it one cell on and looks up one row or column.
"""

from __future__ import annotations

import numpy as np

from harvestgym.forager.numba_support import borrowed, compiled, inlined
from harvestgym.forager.world import EAST, EMPTY, JUMP, NORTH, SOUTH

from .arrays import (
    AGENT_X,
    AGENT_Y,
    BLOCKING,
    BORN,
    CLOCK,
    COLLECTABLE,
    DELAY_LAW,
    DUE,
    EATEN,
    EATEN_ALL,
    EVENTS,
    EVERY,
    GENERATION,
    HEIGHT,
    HIT,
    HIT_CELL,
    HIT_HOME,
    HIT_SLOT,
    HOME,
    KEY_0,
    KEY_1,
    PENDING,
    PERISHES,
    PYTHON,
    REFUSED,
    RENEWS,
    SIDE,
    WALL_EDGE,
    WIDTH,
    Life,
)
from .dynamics import NEVER, come_back, delay_of, free_cell, key_region, renew, schedule, take
from .lookup import look, rebuild, region_of, seen_at, slot_at
from .view import copy, front, refresh, reveal, slide

_U = np.uint64


@compiled
def meet(life: Life, x: int, y: int, kind: int) -> None:
    """The collision with the object of a kind that stands at (x, y)."""
    head, slot = life.head, slot_at(life.head, life.lookup, life.taken, x, y)
    head[HIT_SLOT], head[HIT_CELL] = -1, x + y * head[WIDTH]
    head[HIT_HOME] = life.slots[slot, HOME] if slot >= 0 else head[HIT_CELL]
    if life.kinds[kind, COLLECTABLE] == 0:
        return
    slot = take(life, slot, x + y * head[WIDTH], kind)
    head[HIT_SLOT] = slot
    if slot >= 0:
        life.regions[region_of(life.regions, x, y), EATEN] += 1
        life.slots[slot, DUE] = head[CLOCK]
        if life.kinds[kind, PYTHON] == 0:
            never = life.kinds[kind, DELAY_LAW] == NEVER
            schedule(life, slot, -1 if never else delay_of(life, kind, life.slots[slot, BORN]))


@inlined
def ahead(head: np.ndarray, agents: np.ndarray, agent: int, action: int) -> tuple[int, int]:
    """The cell that an action leads to; the agent's own where a wall ends the world."""
    x, y = agents[agent, AGENT_X], agents[agent, AGENT_Y]
    to_x = x + (1 if action == EAST else (-1 if action > SOUTH else 0))
    to_y = y + (1 if action == NORTH else (-1 if action == SOUTH else 0))
    if 0 <= to_x < head[WIDTH] and 0 <= to_y < head[HEIGHT]:
        return to_x, to_y
    if head[WALL_EDGE]:
        return x, y
    return to_x % head[WIDTH], to_y % head[HEIGHT]


@inlined
def act(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, teleports: np.ndarray,
        agents: np.ndarray, slots: np.ndarray, index: np.ndarray, taken: np.ndarray, heap: np.ndarray,
        codes: np.ndarray, views: np.ndarray, agent: int, action: int) -> int:  # fmt: skip
    """Move one agent and its view: what it met, or EMPTY."""
    x, y = ahead(head, agents, agent, action)
    head[HIT] = EMPTY
    if x == agents[agent, AGENT_X] and y == agents[agent, AGENT_Y]:
        return EMPTY
    kind = seen_at(head, regions, layers, kinds, slots, index, taken, x, y)
    head[HIT] = kind
    if kind != EMPTY:
        life = Life(head, regions, layers, kinds, teleports, agents, slots, index, taken, heap, codes, views)
        meet(life, x, y, kind)
        if kinds[kind, BLOCKING]:
            return kind
    agents[agent, AGENT_X], agents[agent, AGENT_Y] = x, y
    old, new = views[agent, head[SIDE]], views[agent, 1 - head[SIDE]]
    slide(head, action, old, new)
    rows, cols = front(head, action)
    reveal(head, regions, layers, kinds, slots, index, taken, codes, new, x, y, rows, cols)
    if len(agents) == 1:
        head[SIDE] = 1 - head[SIDE]
    else:
        old[:] = new
    return kind


@compiled
def teleport(life: Life) -> None:
    """Every so many steps put the agent on a free cell of the next region in turn."""
    head = life.head
    turn = (head[CLOCK] + 1) // head[EVERY]
    if (head[CLOCK] + 1) % head[EVERY] == 0:
        r = life.teleports[(turn - 1) % len(life.teleports)]
        cell = free_cell(life, r, JUMP, 0)
        if cell >= 0:
            life.agents[0, AGENT_X], life.agents[0, AGENT_Y] = cell % head[WIDTH], cell // head[WIDTH]
            refresh(life)


@compiled
def prepare(life: Life) -> None:
    """What happens before the agents act: renewals, returns, then what expires and what comes again."""
    if life.head[RENEWS]:
        renew(life)
    come_back(life)
    if life.head[PERISHES]:
        refresh(life)


@compiled
def step(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, teleports: np.ndarray,
         agents: np.ndarray, slots: np.ndarray, index: np.ndarray, taken: np.ndarray, heap: np.ndarray,
         codes: np.ndarray, views: np.ndarray, action: int, out: np.ndarray) -> int:  # fmt: skip
    """One step of the only agent of a life; what it sees goes to `out`; what it met, or EMPTY.

    The arrays come one by one: numba takes a tuple of them apart in twice the time of the step itself.
    """
    head, regions, layers, kinds = borrowed(head), borrowed(regions), borrowed(layers), borrowed(kinds)
    teleports, agents, slots, index = borrowed(teleports), borrowed(agents), borrowed(slots), borrowed(index)
    taken, heap, codes, views, out = (
        borrowed(taken), borrowed(heap), borrowed(codes), borrowed(views), borrowed(out),
    )  # fmt: skip
    if head[RENEWS] or head[PERISHES] or (head[PENDING] and heap[0, 0] <= head[CLOCK]):
        prepare(Life(head, regions, layers, kinds, teleports, agents, slots, index, taken, heap, codes, views))
    kind = act(head, regions, layers, kinds, teleports, agents, slots, index, taken, heap, codes, views, 0, action)
    if head[EVERY]:
        teleport(Life(head, regions, layers, kinds, teleports, agents, slots, index, taken, heap, codes, views))
    flat = out.reshape(-1)
    copy(flat, 0, views[0, head[SIDE]], 0, len(flat))
    head[CLOCK] += 1
    return kind


@compiled
def step_together(life: Life, actions: np.ndarray, out: np.ndarray, hits: np.ndarray) -> None:
    """One step of all agents of a life, in their order; `out` is (agents, bytes of a view)."""
    head = life.head
    prepare(life)
    for agent in range(len(life.agents)):
        hits[agent] = act(head, life.regions, life.layers, life.kinds, life.teleports, life.agents, life.slots,
                          life.lookup, life.taken, life.heap, life.codes, life.views, agent,
                          actions[agent])  # fmt: skip
    out[:] = life.views[:, head[SIDE]]
    head[CLOCK] += 1


@compiled
def step_many(lives: Life, actions: np.ndarray, out: np.ndarray, hits: np.ndarray, first: int, last: int) -> None:
    """One step of the lives `first` ... `last` - 1 of a batch, each with its own row of `actions`, `out`, `hits`."""
    head, regions, agents, slots = (
        borrowed(lives.head), borrowed(lives.regions), borrowed(lives.agents), borrowed(lives.slots),
    )  # fmt: skip
    lookup, heap, views, seen = borrowed(lives.lookup), borrowed(lives.heap), borrowed(lives.views), borrowed(out)
    layers, kinds, teleports = borrowed(lives.layers), borrowed(lives.kinds), borrowed(lives.teleports)
    codes, taken = borrowed(lives.codes), borrowed(lives.taken)
    for i in range(first, last):
        hits[i] = step(head[i], regions[i], layers, kinds, teleports, agents[i], slots[i], lookup[i], taken[i],
                       heap[i], codes, views[i], actions[i], seen[i])  # fmt: skip


@compiled
def begin(life: Life, k0: int, k1: int, x: int, y: int) -> None:
    """A new life from the seed (k0, k1): the clock at 0, the world untouched, agents at (x, y) or near."""
    head = life.head
    head[KEY_0], head[KEY_1] = k0, k1
    head[CLOCK], head[EVENTS], head[REFUSED], head[EATEN_ALL], head[SIDE] = 0, 0, 0, 0, 0
    head[HIT], head[HIT_SLOT] = EMPTY, -1
    life.agents[:, AGENT_X], life.agents[:, AGENT_Y] = x, y
    life.slots[:] = 0
    rebuild(life)
    for r in range(len(life.regions)):
        life.regions[r, GENERATION], life.regions[r, EATEN] = 0, 0
        key_region(life, r)
    for agent in range(1, len(life.agents)):
        cell = free_cell(life, 0, JUMP, agent)
        if cell >= 0:
            life.agents[agent, AGENT_X], life.agents[agent, AGENT_Y] = cell % head[WIDTH], cell // head[WIDTH]
    refresh(life)


@compiled
def survey(life: Life, out: np.ndarray) -> None:
    """The kind (or EMPTY) in every cell, int16 (height, width), the first row northernmost."""
    for row in range(life.head[HEIGHT]):
        for x in range(life.head[WIDTH]):
            out[row, x] = look(life, x, life.head[HEIGHT] - 1 - row)
