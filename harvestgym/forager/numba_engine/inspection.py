"""What can be read off a life on the host engine, without changing it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from harvestgym.forager.config import Color, ForagerConfig, Observation
from harvestgym.forager.kinds import ForagerObject, check_color
from harvestgym.forager.observations import Mode, check_aperture, check_mode
from harvestgym.forager.reward_context import HostMoment
from harvestgym.forager.senses import hinted, sensed, space
from harvestgym.forager.world import World

from . import lookup, step
from .arrays import (
    AGENT_X,
    AGENT_Y,
    AT,
    BOUND,
    CLOCK,
    EATEN_ALL,
    GENERATION,
    HOME,
    PENDING,
    REFUSED,
    SIDE,
    STANDING,
    STATE,
    USED,
    VACANT,
    Life,
    nbytes,
)
from .biome_values import worths


class Reading:
    """A life as one can look at it: what is seen, where the agent is, what is held."""

    config: ForagerConfig
    world: World
    _life: Life
    _mode: Mode
    _shape: tuple[int, ...]
    _type: np.dtype[Any]
    _met: int
    _words: tuple[int, int]
    _tints: dict[int, Color]
    _things: dict[int, ForagerObject]

    def _see(self) -> Observation:
        obs = np.empty(self._shape, np.uint8)
        if self._mode != "world":
            obs.reshape(-1)[:] = self._life.views[0, self._life.head[SIDE]]
        return self._shown(obs)

    def _shown(self, view: np.ndarray) -> Any:
        """The observation that a view, as it is kept, stands for."""
        if self._mode == "world":
            seen = self._survey()
        else:
            self._tint(view)
            seen = sensed(self._mode, view.view(self._type), np)
        return hinted(self.world, self.config.hint, seen, self.clock, self.biome)

    def _survey(self) -> Observation:
        cells = self.cells()
        out = np.zeros((*cells.shape, len(self.world.kinds) + 1), np.bool_)
        for kind in range(len(self.world.kinds)):
            out[..., kind] = cells == kind
        x, y = self.position
        out[self.world.height - 1 - y, x, -1] = True
        return out

    def cells(self) -> np.ndarray:
        """int16 (height, width): the kind in every cell or -1, the first row northernmost; for small worlds."""
        check_mode("world", self.world)
        out = np.empty((self.world.height, self.world.width), np.int16)
        step.survey(self._life, out)
        return out

    def in_view(self) -> np.ndarray:
        """int8 (rows, columns): the kind in each cell in view, -1 for none, the number of kinds for the outside."""
        rows, cols = check_aperture(self.config.aperture, self.world)
        x, y = self.position
        seen = np.empty((rows, cols), np.int8)
        for row, col in np.ndindex(rows, cols):
            seen[row, col] = self._kind_at(x + col - cols // 2, y + rows // 2 - row)
        return seen

    def _kind_at(self, x: int, y: int) -> int:
        width, height = self.world.width, self.world.height
        if self.world.edge == "wall" and not (0 <= x < width and 0 <= y < height):
            return len(self.world.kinds)
        return int(lookup.look(self._life, x % width, y % height))

    def _recolor(self, home: int, thing: ForagerObject) -> None:
        if self._mode == "colors" and vars(thing).get("color") is not None:
            self._tints[home] = check_color(thing.color, thing.name)

    def _tint(self, obs: np.ndarray) -> None:
        """Colour the single objects that have a colour of their own."""
        slots, (x, y) = self._life.slots, self.position
        for home, color in self._tints.items():
            row = slots[(slots[:, HOME] == home) & (slots[:, STATE] != VACANT)]
            if len(row) and row[0, STATE] != STANDING:
                continue
            cell = int(row[0, AT]) if len(row) else home
            col = cell % self.world.width - x + self._shape[1] // 2
            line = y - cell // self.world.width + self._shape[0] // 2
            if self.world.edge == "torus":
                col, line = col % self.world.width, line % self.world.height
            in_view = 0 <= col < self._shape[1] and 0 <= line < self._shape[0]
            if in_view and self._kind_at(cell % self.world.width, cell // self.world.width) >= 0:
                obs[line, col] = color

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the kinds, in the order of the channels."""
        return self.world.names

    @property
    def things(self) -> list[ForagerObject]:
        """The Python objects that were met so far, or have a place of their own."""
        return list(self._things.values())

    @property
    def clock(self) -> int:
        """Steps since the start."""
        return int(self._life.head[CLOCK])

    @property
    def position(self) -> tuple[int, int]:
        """(x, y) of the agent."""
        return int(self._life.agents[0, AGENT_X]), int(self._life.agents[0, AGENT_Y])

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The space of observations."""
        return space(self.world, self._mode, (self._shape[0], self._shape[1]), self.config.hint)

    @property
    def biome(self) -> int:
        """The region in which the agent stands."""
        return int(lookup.region_of(self._life.regions, *self.position))

    @property
    def biome_values(self) -> list[float]:
        """Expected reward of the collectable objects per cell, now, as generated, for each region."""
        return [float(worth) for worth in worths(self.world, self._expected)]

    def _expected(self, kind: int, region: int) -> float:
        generation = int(self._life.regions[region, GENERATION])
        return self.world.kinds[kind].reward(HostMoment(self.clock, self._words, kind, generation))

    @property
    def met(self) -> int:
        """The index of the kind that the last step met, or -1."""
        return self._met

    @property
    def head(self) -> np.ndarray:
        """The counters of the life, see `life`: for faces that report them in every step."""
        return self._life.head

    @property
    def collided(self) -> str | None:
        """The name of what the last step met."""
        return None if self._met < 0 else self.world.names[self._met]

    @property
    def memory(self) -> dict[str, int]:
        """Bytes held, objects changed and their bound, collections, and objects that stayed because of the bound."""
        head = self._life.head
        return {
            "bytes": nbytes(self._life),
            "changed": int(head[USED]),
            "capacity": int(head[BOUND]),
            "away": int(head[PENDING]),
            "collected": int(head[EATEN_ALL]),
            "refused": int(head[REFUSED]),
        }
