"""A brute-force forager in plain NumPy: the whole grid, no overlay, no ring; the rules as in the table of the docs.

Only the first map is taken from the world under test; the draws of delays, places and seasons are written again here.
"""

from __future__ import annotations

import numpy as np

MASK = 0xFFFFFFFF
GOLDEN = 0x9E3779B9
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
DELAY, RETURN, SEASON = 3, 4, 8


def mix(x: int) -> int:
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & MASK
    return x ^ (x >> 16)


def draw(key: tuple[int, int], a: int, b: int, c: int, n: int) -> int:
    """Return the draw of stream `a` at (b, c), brought to 0 ... n - 1."""
    h = mix(key[0] ^ mix(a * GOLDEN & MASK))
    h = mix(((h ^ key[1]) + b) & MASK)
    return mix((h + (c * GOLDEN & MASK) + key[0]) & MASK) * n >> 32


class Dense:
    """The grid `grid[y, x]` of kinds (-1 for none), an agent, and a list of what is away."""

    def __init__(self, grid: np.ndarray, kinds: tuple, aperture: tuple[int, int], edge: str, key: tuple[int, int]):
        self.grid, self.kinds, self.aperture, self.edge, self.key = grid, kinds, aperture, edge, key
        self.h, self.w = grid.shape
        self.x, self.y, self.clock, self.events = self.w // 2, self.h // 2, 0, 0
        self.home = np.arange(grid.size).reshape(grid.shape)
        self.away: list[tuple[int, int, int, int, int]] = []

    def step(self, action: int) -> tuple[np.ndarray, float, int]:
        self.come_back()
        dx, dy = MOVES[action]
        x, y = self.x + dx, self.y + dy
        if self.edge == "wall" and not (0 <= x < self.w and 0 <= y < self.h):
            return self.look(), 0.0, -1
        x, y = x % self.w, y % self.h
        kind = int(self.standing()[y, x])
        if kind >= 0 and self.kinds[kind].collectable:
            self.take(x, y, kind)
        if kind < 0 or not self.kinds[kind].blocking:
            self.x, self.y = x, y
        return self.look(), 0.0 if kind < 0 else self.kinds[kind].reward.value, kind

    def look(self) -> np.ndarray:
        seen = self.see()
        self.clock += 1
        return seen

    def take(self, x: int, y: int, kind: int) -> None:
        delay = self.kinds[kind].delay
        steps = delay.a + draw(self.key, DELAY, self.events, 0, delay.b - delay.a + 1)
        self.grid[y, x] = -1
        if delay.law != 0:
            self.away.append((self.clock + steps, self.events, kind, y * self.w + x, int(self.home[y, x])))
        self.events += 1

    def come_back(self) -> None:
        due = sorted((a for a in self.away if a[0] <= self.clock), key=lambda a: a[1])
        for thing in due:
            place = self.haven(thing)
            if place is not None:
                self.grid[place], self.home[place] = thing[2], thing[4]
                self.away.remove(thing)

    def haven(self, thing: tuple[int, int, int, int, int]) -> tuple[int, int] | None:
        if self.kinds[thing[2]].place == 0:
            tries = [divmod(thing[3], self.w)]
        else:
            roll = lambda stream, n: draw(self.key, stream, thing[1], self.clock, n)  # noqa: E731
            tries = [(roll(RETURN + 32 * i + 16, self.h), roll(RETURN + 32 * i, self.w)) for i in range(16)]
        return next(((y, x) for y, x in tries if self.grid[y, x] < 0 and (x, y) != (self.x, self.y)), None)

    def standing(self) -> np.ndarray:
        """Return the grid without what is out of season."""
        if not any(kind.lasts for kind in self.kinds):
            return self.grid
        grid = self.grid.copy()
        for y, x in np.argwhere([[k >= 0 and self.kinds[k].lasts > 0 for k in row] for row in grid.tolist()]):
            kind, (north, east) = self.kinds[grid[y, x]], divmod(int(self.home[y, x]), self.w)
            period = kind.lasts + kind.rests
            if (self.clock + draw(self.key, SEASON, east, north, period)) % period >= kind.lasts:
                grid[y, x] = -1
        return grid

    def see(self) -> np.ndarray:
        """bool (rows, columns, kinds), and one channel for the outside of a walled world."""
        rows, cols = self.aperture
        ys, xs = self.y + rows // 2 - np.arange(rows), self.x - cols // 2 + np.arange(cols)
        seen = self.standing()[ys[:, None] % self.h, xs[None] % self.w]
        if self.edge == "wall":
            inside = ((ys >= 0) & (ys < self.h))[:, None] & ((xs >= 0) & (xs < self.w))[None]
            seen = np.where(inside, seen, len(self.kinds))
        return seen[..., None] == np.arange(len(self.kinds) + (self.edge == "wall"))
