"""What a cell of each region is worth now, by what may be collected there as generated; the regret of being here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harvestgym.forager.reward_context import HostMoment, HostMoments, Kept
from harvestgym.forager.reward_laws import OF_ARRAYS, Constant
from harvestgym.forager.world import World

from .arrays import CLOCK, GENERATION, KEY_0, KEY_1, Life

Expected = Callable[[int, int], Any]
"""The expected reward of a kind in a region now: a number, or float (lives,)."""


def worths(world: World, expected: Expected) -> list[Any]:
    """The worth of a cell of each region, as numbers or as `expected` gives them."""
    rows: list[Any] = []
    for r, region in enumerate(world.regions):
        worth: Any = 0.0
        for kind, count in region.layers:
            if world.kinds[kind].collectable:
                worth = worth + np.float64(expected(kind, r)) * world.kinds[kind].share * count / region.cells
        rows.append(worth)
    return rows


def steady(world: World) -> bool:
    """Whether no reward ever changes."""
    return all(isinstance(kind.reward, Constant) for kind in world.kinds)


class Biomes:
    """The worths of the regions for many lives of one world and one clock.

    Where no reward changes they are two tables, read in every step. Otherwise our own laws are evaluated for all lives
    at once, and what they draw is kept for as long as a generation lasts; any other law is called for each life.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._drawn: Kept = {}
        self._fixed = None
        if steady(world):
            values = np.array(worths(world, lambda kind, _: world.kinds[kind].constant), np.float64)
            self._fixed = values, values.max() - values

    def told(self, lives: Life, biome: np.ndarray) -> dict[str, np.ndarray]:
        """`biome_value` and `biome_regret`, float64 (lives,), for lives with a leading axis that are in `biome`."""
        if self._fixed is not None:
            value, regret = self._fixed[0][biome], self._fixed[1][biome]
        else:
            values = self._values(lives)
            value = values[biome, np.arange(len(biome))]
            regret = values.max(0) - value
        return {"biome_value": value, "biome_regret": regret}

    def _values(self, lives: Life) -> np.ndarray:
        """float64 (regions, lives)."""
        rows = worths(self._world, lambda kind, region: self._expected(lives, kind, region))
        return np.stack([np.broadcast_to(row, len(lives.head)) for row in rows])

    def _expected(self, lives: Life, kind: int, region: int) -> Any:
        law, clock = self._world.kinds[kind].reward, int(lives.head[0, CLOCK])
        words, generations = lives.head[:, (KEY_0, KEY_1)], lives.regions[:, region, GENERATION]
        if type(law) in OF_ARRAYS:
            return law(HostMoments(clock, words, (kind, region), generations, self._drawn))
        each = zip(map(tuple, words.tolist()), generations.tolist(), strict=True)
        return np.array([float(law(HostMoment(clock, key, kind, now))) for key, now in each])
