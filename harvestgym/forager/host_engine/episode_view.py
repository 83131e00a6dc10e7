"""Read access to an episode on the host: the observation, the cells, the agent and the counters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from harvestgym.forager.config import ForagerConfig, Observation, build_world
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import view
from harvestgym.forager.host_engine.cells import find_kind, find_region, generate_kind
from harvestgym.forager.host_engine.rewards import HostContext
from harvestgym.forager.object_kinds import Color, ForagerObject
from harvestgym.forager.observations import (
    MODES,
    add_hint,
    check_mode,
    check_survey,
    make_space,
    show_world,
)
from harvestgym.forager.reward_laws import check_reward
from harvestgym.forager.world import EMPTY, STANDING, VACANT, World


class ReadableEpisode:
    """An episode of one agent: its arrays and read access to its state.

    Attributes:
        arrays: the state of the episode, see `arrays.EpisodeArrays`.
        met: the index of the kind that the agent hit in the last step, or -1.
    """

    def __init__(self, config: ForagerConfig, world: World | None = None) -> None:
        self.config = config
        self.world = world or build_world(config)
        check_mode(config.observation_mode, self.world)
        self._mode = MODES[config.observation_mode]
        self._aperture = (1, 1) if self._mode.whole else config.find_aperture(self.world)
        self._table = self._mode.table(self.world)
        self._shape = (*self._aperture, self._table.shape[2])
        self._words = seed_words(config.seed)
        self.arrays = col.new_arrays(self.world, self._table, self._aperture)
        self._forget()

    def _forget(self) -> None:
        """Reset all records of the episode."""
        self._started, self.met = False, EMPTY
        self._things: dict[int, ForagerObject] = {}
        self._tints: dict[int, Color] = {}

    # -- what is seen ----------------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Return the current observation."""
        cells = self.arrays.views[:, self.arrays.head[col.SIDE]].reshape(self._shape)
        return self._observe_cells(cells.copy())

    def _observe_cells(self, encoded: np.ndarray) -> Any:
        """Return the observation for an encoded view."""
        if self._mode.whole:
            cells = show_world(self.world, self.cells(), *self.position, np)
        else:
            self._tint(encoded)
            cells = self._decode(encoded)
        seen = self._mode.observe(cells, np)
        if not self.config.hint[0]:
            return seen
        phase = np.asarray(self.clock % self.config.hint[1])
        return add_hint(self.world, self.config.hint, seen, phase, np.asarray(self.biome))

    def _decode(self, encoded: np.ndarray) -> np.ndarray:
        """Return the cells of an encoded view."""
        return encoded.view(self._table.dtype)

    def cells(self) -> np.ndarray:
        """Return int16 (height, width): the kind in every cell or -1, northernmost row first; for small worlds.

        The cells are as in the last observation: objects expire at the start of the next step.
        """
        check_survey(self.world)
        out = np.empty((self.world.height, self.world.width), np.int16)
        with self._as_observed():
            view.survey(self.arrays, out)
        return out

    @contextmanager
    def _as_observed(self) -> Iterator[None]:
        """Set the clock back to the time of the last observation: a step observes before it advances the clock."""
        now = int(self.arrays.head[col.CLOCK])
        self.arrays.head[col.CLOCK] = max(now - 1, 0)
        try:
            yield
        finally:
            self.arrays.head[col.CLOCK] = now

    def in_view(self) -> np.ndarray:
        """Return int8 (rows, columns): the kind in each cell in view, -1 for none, the number of kinds for outside."""
        return self.in_view_of(*self.position)

    def in_view_of(self, x: int, y: int) -> np.ndarray:
        """Return `in_view` for an agent at (x, y)."""
        rows, cols = self.config.find_aperture(self.world)
        seen = np.empty((rows, cols), np.int8)
        with self._as_observed():
            for row, across in np.ndindex(rows, cols):
                seen[row, across] = self.kind_at(x + across - cols // 2, y + rows // 2 - row)
        return seen

    def kind_at(self, x: int, y: int) -> int:
        """Return the kind in a cell: -1 for none, and the number of kinds for a cell outside a walled world."""
        width, height = self.world.width, self.world.height
        if self.world.edge == "wall" and not (0 <= x < width and 0 <= y < height):
            return len(self.world.kinds)
        return int(find_kind(self.arrays, x % width, y % height))

    def generated_kind_at(self, x: int, y: int) -> int:
        """Return the kind that the world generated in a cell, or -1."""
        return int(generate_kind(self.arrays.regions, self.arrays.layers, x, y))

    def _tint(self, encoded: np.ndarray) -> None:
        """Apply the colours of objects that have their own colour."""
        slots, (x, y) = self.arrays.slots, self.position
        for home, color in self._tints.items():
            row = slots[(slots[:, col.HOME] == home) & (slots[:, col.STATE] != VACANT)]
            if len(row) and row[0, col.STATE] != STANDING:
                continue
            cell = int(row[0, col.AT]) if len(row) else home
            cell_x, cell_y = cell % self.world.width, cell // self.world.width
            across, down = cell_x - x + self._shape[1] // 2, y - cell_y + self._shape[0] // 2
            if self.world.edge == "torus":
                across, down = across % self.world.width, down % self.world.height
            if across >= 0 and down >= 0 and self.kind_at(cell_x, cell_y) >= 0:
                encoded[down :: self.world.height, across :: self.world.width] = color

    # -- numbers ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kinds, in the order of the channels."""
        return self.world.names

    @property
    def things(self) -> list[ForagerObject]:
        """The Python objects hit so far, and those with their own target location."""
        return list(self._things.values())

    @property
    def clock(self) -> int:
        """Steps since the start."""
        return int(self.arrays.head[col.CLOCK])

    @property
    def position(self) -> tuple[int, int]:
        """The agent's (x, y)."""
        return int(self.arrays.agents[0, col.AGENT_X]), int(self.arrays.agents[0, col.AGENT_Y])

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of observations."""
        return make_space(self.world, self.config.observation_mode, self._aperture, self.config.hint)

    @property
    def biome(self) -> int:
        """The agent's region."""
        return int(find_region(self.arrays.regions, *self.position))

    @property
    def biome_values(self) -> list[float]:
        """Current expected reward per cell in each region, from its collectable objects before any are collected."""
        kinds, generations = self.world.kinds, self.arrays.regions[:, col.GENERATION].tolist()
        now = lambda kind, region: HostContext(self.clock, self._words, kind, generations[region])  # noqa: E731
        expect = lambda kind, r: check_reward(kinds[kind].expect(now(kind, r)), kinds[kind].name)  # noqa: E731
        return [float(v) for v in self.world.region_values(expect)]

    @property
    def collided(self) -> str | None:
        """The name of the kind that the agent hit in the last step."""
        return None if self.met < 0 else self.world.names[self.met]

    @property
    def memory(self) -> dict[str, int]:
        """Return the memory in bytes and its maximum, the changed objects and their limit, and the objects collected.

        `refused` counts the objects that could not be collected because of the limit.
        """
        head = self.arrays.head
        return {
            "bytes": col.count_bytes(self.arrays),
            "most_bytes": col.count_most_bytes(self.arrays),
            "changed": int(head[col.USED]),
            "capacity": int(head[col.BOUND]),
            "away": int(head[col.PENDING]),
            "collected": int(head[col.EVENTS]),
            "refused": int(head[col.REFUSED]),
        }
