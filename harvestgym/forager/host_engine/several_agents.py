"""Several agents in one world on the host engine: each value that `ForagerEnv` has for its agent is an array.

In each step, the agents move in order, and the first to reach an object collects it. They share one map and do not
block each other. Each observes the others as an additional last kind or, in colours, as dark cells. Agents that collect
in the same step get the same reward noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from harvestgym.forager.config import ForagerConfig
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import step
from harvestgym.forager.host_engine.env import ForagerEnv
from harvestgym.forager.observations import color_table
from harvestgym.forager.world import EMPTY, World

AGENT = (20, 20, 20)
"""The colour of other agents, in worlds observed in colours."""


class Foragers(ForagerEnv):
    """A world with `number` agents, without renewals, teleports or Python objects."""

    def __init__(self, config: ForagerConfig, world: World, number: int) -> None:
        self._number = number
        super().__init__(config, world)
        self.arrays = col.new_arrays(self.world, self._table, self._aperture, agents=number)
        self._shape = (number, *self._shape)
        self._forget()

    def _forget(self) -> None:
        super()._forget()
        self.met = np.full(self._number, EMPTY)

    def step(self, actions: Any) -> tuple[Any, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Move each agent one step; return the next observations and the rewards, float64 (agents,)."""
        number, clock = self._number, np.full(self._number, self.clock)
        while self.arrays.head[col.USED] + number > len(self.arrays.slots) < self.config.capacity:
            self._grow()
        out, hits = np.empty((number, self.arrays.views.shape[-1]), np.uint8), np.empty(number, np.int64)
        step.step_together(self.arrays, np.asarray(actions, np.int64), out, hits)
        self.met = hits
        earned = np.array([0.0 if kind == EMPTY else self._find_reward(kind) for kind in hits.tolist()])
        return self._observe_cells(out), self._delayed.settle(hits, clock, earned)

    @property
    def position(self) -> tuple[np.ndarray, np.ndarray]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The coordinates (x, y) of the agents."""
        return self.arrays.agents[:, col.AGENT_X].copy(), self.arrays.agents[:, col.AGENT_Y].copy()

    @property
    def biome(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The region of each agent."""
        return self.world.find_region(*self.position)

    @property
    def biome_values(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The expected rewards as in `ForagerEnv`, float64 (regions,)."""
        return np.array(super().biome_values)

    def in_view(self) -> np.ndarray:
        """Return int8 (agents, rows, columns): the kind in each cell in view, as in `ForagerEnv`."""
        return np.stack([self.in_view_of(x, y) for x, y in self.arrays.agents.tolist()])

    def _decode(self, encoded: np.ndarray) -> np.ndarray:
        """Return the cells of encoded views, including the other agents."""
        cells = encoded.reshape(self._shape)
        others = self._find_others()
        if self._mode.table is color_table:
            cells[others] = AGENT
            return cells
        shown = np.where(others, self._table.max(initial=1), 0).astype(np.uint8)
        return np.concatenate([cells, shown[..., None]], -1).view(self._table.dtype)

    def _find_others(self) -> np.ndarray:
        """Return bool (agents, rows, columns): the cells in which each agent sees another agent."""
        (x, y), (rows, cols) = self.position, self._aperture
        across, down = x[None] - x[:, None] + cols // 2, y[:, None] - y[None] + rows // 2
        if self.world.edge == "torus":
            across, down = across % self.world.width, down % self.world.height
        here = (across >= 0) & (across < cols) & (down >= 0) & (down < rows) & ~np.eye(len(x), dtype=bool)
        out = np.zeros((len(x), rows, cols), np.bool_)
        me, other = np.nonzero(here)
        out[me, down[me, other], across[me, other]] = True
        return out

    def recipe(self) -> dict[str, Any]:
        """Return the arguments that recreate this environment, for `core.saving.checkpoint`."""
        return super().recipe() | {"number": self._number}
