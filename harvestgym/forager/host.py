"""The compiled host engine: one life at a time, well below two microseconds a step.

What stands where is looked up in the rules of `world` and `hashing`, overlaid by the slots of the objects that
were touched. The view is kept encoded: a move copies it one cell on and looks up one row or column.
"""

from __future__ import annotations

import numpy as np

from .compiled import borrowed, compiled, inlined
from .hashing import bell, draw, scale
from .life import (
    AGENT_X,
    AGENT_Y,
    AT,
    AWAY,
    BLOCKING,
    BORN,
    BOUND,
    CLOCK,
    COLLECTABLE,
    DELAY_A,
    DELAY_B,
    DELAY_LAW,
    DUE,
    EATEN,
    EATEN_ALL,
    EVENTS,
    EVERY,
    FREE,
    GENERATION,
    GONE,
    HEIGHT,
    HIT,
    HIT_CELL,
    HIT_HOME,
    HIT_SLOT,
    HOME,
    KEEP_P,
    KEEP_Q,
    KEY_0,
    KEY_1,
    KEY_P,
    KEY_Q,
    PENDING,
    PLACE,
    PYTHON,
    REFUSED,
    RENEW_EATEN,
    RENEW_EVERY,
    RENEWS,
    SIDE,
    STANDING,
    STATE,
    TARGET,
    USED,
    VACANT,
    WALL_EDGE,
    WHAT,
    WHERE,
    WIDTH,
    X0,
    Y0,
    H,
    Life,
    W,
)
from .overlay import kind_at, look, mark, pop, push, rank, rebuild, region_of, slot_at
from .sight import front, patch, refresh, reveal, slide
from .world import DELAY, EAST, EMPTY, JUMP, NORTH, PLACE_0, PLACE_1, RETURN, SOUTH, TRIES

_U = np.uint64
_WORD = 0xFFFFFFFF
STREAMS = 16
NEVER, UNIFORM, NORMAL = range(3)
SAME, ANYWHERE, IN_REGION, FIXED = range(4)

# ---- returns and renewals --------------------------------------------------------------------------------


@compiled
def occupied(life: Life, x: int, y: int) -> bool:
    """Whether an object or an agent is in a cell."""
    for agent in range(len(life.agents)):
        if life.agents[agent, AGENT_X] == x and life.agents[agent, AGENT_Y] == y:
            return True
    return look(life, x, y) != EMPTY


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
    patch(life, cell, kind)


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


# ---- a step ----------------------------------------------------------------------------------------------


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


@compiled
def meet(life: Life, x: int, y: int, kind: int) -> None:
    """The collision with the object of a kind that stands at (x, y)."""
    head, slot = life.head, slot_at(life.head, life.lookup, x, y)
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
        agents: np.ndarray, slots: np.ndarray, index: np.ndarray, heap: np.ndarray, codes: np.ndarray,
        views: np.ndarray, agent: int, action: int) -> int:  # fmt: skip
    """Move one agent and its view: what it met, or EMPTY."""
    x, y = ahead(head, agents, agent, action)
    head[HIT] = EMPTY
    if x == agents[agent, AGENT_X] and y == agents[agent, AGENT_Y]:
        return EMPTY
    kind = kind_at(head, regions, layers, slots, index, x, y)
    head[HIT] = kind
    if kind != EMPTY:
        life = Life(head, regions, layers, kinds, teleports, agents, slots, index, heap, codes, views)
        meet(life, x, y, kind)
        if kinds[kind, BLOCKING]:
            return kind
    agents[agent, AGENT_X], agents[agent, AGENT_Y] = x, y
    old, new = views[agent, head[SIDE]], views[agent, 1 - head[SIDE]]
    slide(head, action, old, new)
    rows, cols = front(head, action)
    reveal(head, regions, layers, kinds, slots, index, codes, new, x, y, rows, cols)
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
    """What happens before the agents act: renewals, then returns."""
    if life.head[RENEWS]:
        renew(life)
    come_back(life)


@compiled
def step(head: np.ndarray, regions: np.ndarray, layers: np.ndarray, kinds: np.ndarray, teleports: np.ndarray,
         agents: np.ndarray, slots: np.ndarray, index: np.ndarray, heap: np.ndarray, codes: np.ndarray,
         views: np.ndarray, action: int, out: np.ndarray) -> int:  # fmt: skip
    """One step of the only agent of a life; what it sees goes to `out`; what it met, or EMPTY.

    The arrays come one by one: numba takes a tuple of them apart in twice the time of the step itself.
    """
    head, regions, layers, kinds = borrowed(head), borrowed(regions), borrowed(layers), borrowed(kinds)
    teleports, agents, slots, index = borrowed(teleports), borrowed(agents), borrowed(slots), borrowed(index)
    heap, codes, views, out = borrowed(heap), borrowed(codes), borrowed(views), borrowed(out)
    if head[RENEWS] or (head[PENDING] and heap[0, 0] <= head[CLOCK]):
        prepare(Life(head, regions, layers, kinds, teleports, agents, slots, index, heap, codes, views))
    kind = act(head, regions, layers, kinds, teleports, agents, slots, index, heap, codes, views, 0, action)
    if head[EVERY]:
        teleport(Life(head, regions, layers, kinds, teleports, agents, slots, index, heap, codes, views))
    view, flat = views[0, head[SIDE]], out.reshape(-1)
    for i in range(len(flat)):
        flat[i] = view[i]
    head[CLOCK] += 1
    return kind


@compiled
def step_together(life: Life, actions: np.ndarray, out: np.ndarray, hits: np.ndarray) -> None:
    """One step of all agents of a life, in their order; `out` is (agents, bytes of a view)."""
    head = life.head
    prepare(life)
    for agent in range(len(life.agents)):
        hits[agent] = act(head, life.regions, life.layers, life.kinds, life.teleports, life.agents, life.slots,
                          life.lookup, life.heap, life.codes, life.views, agent, actions[agent])  # fmt: skip
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
    codes = borrowed(lives.codes)
    for i in range(first, last):
        hits[i] = step(head[i], regions[i], layers, kinds, teleports, agents[i], slots[i], lookup[i], heap[i], codes,
                       views[i], actions[i], seen[i])  # fmt: skip


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
