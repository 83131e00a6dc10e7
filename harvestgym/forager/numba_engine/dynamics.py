"""What changes of itself on the host engine: objects taken away, returns, regions renewed."""

from __future__ import annotations

import numpy as np

from harvestgym.forager.hashing import bell, draw, scale
from harvestgym.forager.numba_support import compiled
from harvestgym.forager.world import DELAY, EMPTY, PLACE_0, PLACE_1, RETURN, TRIES

from .arrays import (
    AGENT_X,
    AGENT_Y,
    AT,
    AWAY,
    BORN,
    BOUND,
    CLOCK,
    DELAY_A,
    DELAY_B,
    DELAY_LAW,
    DUE,
    EATEN,
    EATEN_ALL,
    EVENTS,
    FREE,
    GENERATION,
    GONE,
    HOME,
    KEEP_P,
    KEEP_Q,
    KEY_0,
    KEY_1,
    KEY_P,
    KEY_Q,
    PENDING,
    PLACE,
    REFUSED,
    RENEW_EATEN,
    RENEW_EVERY,
    STANDING,
    STATE,
    TARGET,
    USED,
    VACANT,
    WHAT,
    WHERE,
    WIDTH,
    X0,
    Y0,
    H,
    Life,
    W,
)
from .lookup import in_season, kind_at, mark, pop, push, rank, rebuild, region_of
from .view import patch, refresh

_U = np.uint64
_WORD = 0xFFFFFFFF
STREAMS = 16
NEVER, UNIFORM, NORMAL = range(3)
SAME, ANYWHERE, IN_REGION, FIXED = range(4)


@compiled
def occupied(life: Life, x: int, y: int) -> bool:
    """Whether an agent or an object, if only one out of season, has a cell."""
    for agent in range(len(life.agents)):
        if life.agents[agent, AGENT_X] == x and life.agents[agent, AGENT_Y] == y:
            return True
    return kind_at(life.head, life.regions, life.layers, life.slots, life.lookup, life.taken, x, y) != EMPTY


@compiled
def free_cell(life: Life, r: int, stream: int, b: int) -> int:
    """A random free cell of region `r`, or -1 if none of the cells drawn is free."""
    g, k0, k1 = life.regions[r], _U(life.head[KEY_0]), _U(life.head[KEY_1])
    clock = _U(life.head[CLOCK] & _WORD)
    for i in range(TRIES):
        first = stream + STREAMS * 2 * i
        x = g[X0] + np.int64(scale(draw(k0, k1, _U(first), _U(b), clock), _U(g[W])))
        y = g[Y0] + np.int64(scale(draw(k0, k1, _U(first + STREAMS), _U(b), clock), _U(g[H])))
        if not occupied(life, x, y):
            return x + y * life.head[WIDTH]
    return -1


@compiled
def haven(life: Life, slot: int) -> int:
    """The cell where an object can return now, or -1."""
    row, width = life.slots[slot], life.head[WIDTH]
    if row[WHERE] == ANYWHERE:
        return free_cell(life, 0, RETURN, row[BORN] & _WORD)
    if row[WHERE] == IN_REGION:
        r = region_of(life.regions, row[HOME] % width, row[HOME] // width)
        return free_cell(life, r, RETURN, row[BORN] & _WORD)
    return -1 if occupied(life, row[AT] % width, row[AT] // width) else row[AT]


@compiled
def settle(life: Life, slot: int, cell: int) -> None:
    """Let an object stand in a cell; one that is back where it came from is forgotten."""
    row = life.slots[slot]
    kind = row[WHAT]
    if cell == row[HOME]:
        mark(life, cell, 1, -1)
        vacate(life, slot)
    else:
        row[AT], row[STATE] = cell, STANDING
        mark(life, cell, 2, slot)
    patch(life, cell, kind if in_season(life.head, life.kinds, kind, row[HOME], cell) else EMPTY)


@compiled
def vacate(life: Life, slot: int) -> None:
    """Give a slot back."""
    life.slots[slot, STATE], life.slots[slot, AT] = VACANT, life.head[FREE]
    life.head[FREE] = slot
    life.head[USED] -= 1


@compiled
def come_back(life: Life) -> None:
    """Return what is due, in the order of collection; what finds no free cell waits one step."""
    clock = life.head[CLOCK]
    while life.head[PENDING] and life.heap[0, 0] <= clock:
        slot = pop(life)
        cell = haven(life, slot)
        if cell < 0:
            life.slots[slot, DUE] = clock + 1
            push(life, slot)
        else:
            settle(life, slot, cell)


@compiled
def key_region(life: Life, r: int) -> None:
    """Key a region's bijection by its generation, and keep the agent's cell free."""
    g, k0, k1 = life.regions[r], _U(life.head[KEY_0]), _U(life.head[KEY_1])
    g[KEY_P] = np.int64(draw(k0, k1, _U(PLACE_0), _U(r), _U(g[GENERATION])))
    g[KEY_Q] = np.int64(draw(k0, k1, _U(PLACE_1), _U(r), _U(g[GENERATION])))
    g[KEEP_P], g[KEEP_Q] = -1, -1
    x, y = life.agents[0, AGENT_X], life.agents[0, AGENT_Y]
    if 0 <= x - g[X0] < g[W] and 0 <= y - g[Y0] < g[H]:
        p, q = rank(life.regions, r, x, y)
        g[KEEP_P], g[KEEP_Q] = p, q


@compiled
def renew(life: Life) -> None:
    """A new generation for each region that is eaten up or whose time has come."""
    clock, changed = life.head[CLOCK], False
    for r in range(len(life.regions)):
        g = life.regions[r]
        eaten = g[RENEW_EATEN] > 0 and g[EATEN] >= g[RENEW_EATEN]
        if eaten or (g[RENEW_EVERY] > 0 and clock > 0 and clock % g[RENEW_EVERY] == 0):
            g[EATEN] = 0
            g[GENERATION] += 1
            _forget(life, r)
            key_region(life, r)
            changed = True
    if changed:
        rebuild(life)
        refresh(life)


@compiled
def _forget(life: Life, r: int) -> None:
    width = life.head[WIDTH]
    for slot in range(len(life.slots)):
        home = life.slots[slot, HOME]
        native = home >= 0 and region_of(life.regions, home % width, home // width) == r
        if life.slots[slot, STATE] != VACANT and native:
            life.slots[slot, STATE] = VACANT


@compiled
def take(life: Life, slot: int, cell: int, kind: int) -> int:
    """Take an object away; its slot, or -1 if it must stay because the bound on changes is reached."""
    head = life.head
    if slot < 0:
        slot = head[FREE]
        if slot < 0 or head[USED] >= head[BOUND]:
            head[REFUSED] += 1
            return -1
        head[FREE] = life.slots[slot, AT]
        head[USED] += 1
        life.slots[slot, HOME], life.slots[slot, WHAT] = cell, kind
        mark(life, cell, 1, slot)
    else:
        mark(life, cell, 2, -1)
    life.slots[slot, BORN], life.slots[slot, AT], life.slots[slot, STATE] = head[EVENTS], cell, AWAY
    life.slots[slot, WHERE] = life.kinds[kind, PLACE]
    if life.kinds[kind, PLACE] == FIXED:
        life.slots[slot, AT] = life.kinds[kind, TARGET]
    head[EVENTS] += 1
    head[EATEN_ALL] += 1
    patch(life, cell, EMPTY)
    return slot


@compiled
def delay_of(life: Life, kind: int, event: int) -> int:
    """The steps that the `event`-th collected object stays away."""
    k0, k1, low, high = _U(life.head[KEY_0]), _U(life.head[KEY_1]), _U(event & _WORD), _U(0)
    a, b = life.kinds[kind, DELAY_A], life.kinds[kind, DELAY_B]
    if life.kinds[kind, DELAY_LAW] == UNIFORM:
        return a + np.int64(scale(draw(k0, k1, _U(DELAY), low, high), _U(b - a + 1)))
    size, negative = bell(k0, k1, _U(DELAY), low, high)
    off = (np.int64(size) * b) >> 16
    return max(a - off if negative else a + off, 0)


@compiled
def schedule(life: Life, slot: int, delay: int) -> None:
    """Let a taken object return after `delay` steps from its collision; -1 for never."""
    if delay < 0:
        life.slots[slot, STATE] = GONE
        return
    life.slots[slot, DUE] = life.slots[slot, DUE] + max(delay, 1)
    push(life, slot)
