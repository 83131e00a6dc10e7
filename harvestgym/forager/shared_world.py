"""Several foragers in one world; `gym.pettingzoo_env.ParallelEnv` makes each an agent.

In each step, the agents move in order, and the first to reach an object collects it. They share one map and do not
block each other. Each observes the others as an additional last kind or, in colours, as dark cells. Agents that collect
in the same step get the same reward noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector.utils import batch_space
from pydantic import Field

from harvestgym.core.checks import check_fields
from harvestgym.core.errors import mismatch
from harvestgym.core.view.scene import Scene, join_scenes
from harvestgym.forager.config import ForagerConfig
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import step
from harvestgym.forager.host_engine.env import ForagerEnv, twin_config
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES, color_table, make_space
from harvestgym.forager.view.scene import scene
from harvestgym.forager.world import EMPTY, World
from harvestgym.gym.base import Info

MAX_FORAGERS = 1024

AGENT = (20, 20, 20)
"""The colour of other agents, in worlds observed in colours."""


@dataclass(frozen=True)
class SharedWorld:
    """The world of a functional `Forager` with `number` agents."""

    model: Forager
    number: Annotated[int, Field(ge=1, le=MAX_FORAGERS)] = 2

    def __post_init__(self) -> None:
        check_fields(self)
        world, mode = self.model.world, self.model.mode
        if MODES[mode].whole:
            views = ", ".join(repr(name) for name, each in MODES.items() if not each.whole)
            raise mismatch("observation_mode of SharedWorld", f"one of {views}", repr(mode), "harvestgym.make_vec")
        if world.renews or world.teleport_every or any(kind.python for kind in world.kinds):
            raise mismatch("SharedWorld", "no renewal, teleports or Python objects", "a world with some")

    def __repr__(self) -> str:
        return f"{self.number} foragers, {self.model!r}"

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the foragers."""
        return tuple(f"forager_{i}" for i in range(self.number))

    @property
    def own_spaces(self) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
        """The observation and action spaces of one forager."""
        model = self.model
        more = MODES[model.mode].table is not color_table
        return make_space(model.world, model.mode, model.aperture, model.hint, more), model.action_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """North, east, south or west for each forager."""
        return batch_space(self.model.action_space, self.number)

    def part(self, obs: Any, forager: int) -> Any:
        """Return the observation of a forager."""
        return jax.tree.map(lambda leaf: leaf[forager], obs)

    def make_gymnasium(self, render_mode: str | None = None) -> SharedWorldGym:
        """Return one environment for all foragers."""
        return SharedWorldGym(self, render_mode)


class SharedWorldGym(ForagerGym):
    """All foragers as one environment: actions, observations, rewards and infos are arrays over all foragers."""

    changes = (*ForagerGym.changes, "np_random")

    def __init__(self, core: SharedWorld, render_mode: str | None = None) -> None:
        model = core.model
        super().__init__(Foragers(twin_config(model), model.world, core.number), model.horizon, render_mode)
        self.core, self.action_space = core, core.action_space
        self.observation_space = batch_space(core.own_spaces[0], core.number)

    def _draw_seed(self, seed: int | None) -> tuple[int, int]:
        return seed_words(int(self.np_random.integers(0, 2**63)))

    def _report(self, action: Any, reward: Any) -> Info:
        row = (np.broadcast_to(given, self.core.number) for given in (action, reward))
        return {"own": {"reward": reward, **super()._report(*row)}}

    def _info(self) -> Info:
        return {name: np.broadcast_to(value, self.core.number).copy() for name, value in super()._info().items()}

    def _draw(self, record: dict[str, np.ndarray]) -> Scene:
        """Draw the view of the first forager."""
        model, step = self._make_model(), len(record["reward"]) - 1
        common = {name: record[name] for name in ("clock#step", "world") if name in record}
        own = {name: rows for name, rows in record.items() if name not in common}
        records = [{name: rows[:, i] for name, rows in own.items()} | common for i in range(min(self.core.number, 8))]
        each = {agent: scene(model, of, step) for agent, of in zip(self.core.agents, records, strict=False)}
        return join_scenes(next(iter(each.values())).title, each, record["reward"])


class Foragers(ForagerEnv):
    """A world with `number` agents on the host engine: each value that `ForagerEnv` has for its agent is an array."""

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
