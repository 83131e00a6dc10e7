"""Several foragers in one world, as a PettingZoo parallel environment.

In a step the agents move in their order; whoever comes first collects. They do not block each other and share
one map; each sees the others as one more kind, the last one. Noise in rewards belongs to the step: agents
that collect in the same step share it.
"""

from __future__ import annotations

from typing import Annotated, Any

import gymnasium
import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine import arrays as col
from harvestgym.forager.host_engine import lookup, step
from harvestgym.forager.host_engine.arrays import CHANGING, new_arrays
from harvestgym.forager.host_engine.rewards import CollisionRewards, is_steady, region_values
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES, add_hint, check_view_mode, color_table, make_space
from harvestgym.forager.reward_context import HostContext
from harvestgym.forager.reward_payment import RATE
from harvestgym.forager.world import EMPTY
from harvestgym.gym.parallel_env import JointStep, MultiAgentEnv

MAX_FORAGERS = 1024

AGENT = (20, 20, 20)
"""The colour of another agent, in worlds that are seen in colours."""


class ForagerParallel(MultiAgentEnv):
    """`number` foragers in the world of a functional `Forager`."""

    metadata = {"name": "forager", "render_modes": []}

    @check_arguments
    def __init__(self, model: Forager, number: Annotated[int, Field(ge=1, le=MAX_FORAGERS)] = 2) -> None:
        _check(model)
        self.model = model
        self._mode = MODES[model.mode]
        self._colored = self._mode.table is color_table
        self._arrays = new_arrays(model.world, self._mode.table(model.world), model.aperture, agents=number)
        self._seeds = np.random.default_rng()
        self._rewards = CollisionRewards(model.world, number)
        self._rate, self._steps = np.zeros(number), 0
        self._values = self._region_values() if is_steady(model.world) else None
        more = 0 if self._colored else 1
        space = make_space(model.world, model.mode, model.aperture, model.hint, more)
        self._set_agents([f"forager_{i}" for i in range(number)], space, gymnasium.spaces.Discrete(4))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.possible_agents)} agents, {self.model!r}>"

    def _begin(self, seed: int | None) -> tuple[list[Any], list[dict[str, Any]]]:
        """Begin: the first agent in the middle, the others on random free cells."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        words = seed_words(int(self._seeds.integers(0, 2**63)))
        step.begin(self._arrays, *words, *self.model.world.start)
        self._steps = 0
        self._rewards.delayed.clear()
        self._rate[:] = 0.0
        views = self._views(self._arrays.views[:, self._arrays.head[col.SIDE]])
        return views, self._infos(np.full(len(self.possible_agents), EMPTY))

    def _advance(self, actions: list[Any]) -> JointStep:
        """Do one step of all agents."""
        n = len(actions)
        room = len(self._arrays.slots)
        if self._arrays.head[col.USED] + n > room and room < self.model.capacity:
            self._arrays = lookup.grow_arrays(self._arrays, 2 * room)
        out, hits = np.empty((n, self._arrays.views.shape[-1]), np.uint8), np.empty(n, np.int64)
        step.step_together(self._arrays, np.asarray(actions, np.int64), out, hits)
        earned = self._rewards.pay(hits, np.full(n, self._steps), self._context)
        self._rate += RATE * (earned - self._rate)
        self._steps += 1
        over = [self._steps == self.model.horizon] * n
        return JointStep(self._views(out), earned.tolist(), [False] * n, over, self._infos(hits))

    def _infos(self, hits: np.ndarray) -> list[dict[str, Any]]:
        """Return for each agent its collision, its running rate, and the value of its region compared with the best."""
        values, infos = self._values or self._region_values(), []
        for rate, hit, biome in zip(self._rate.tolist(), hits.tolist(), self._biomes.tolist(), strict=True):
            here = {"biome": biome, "biome_value": values[biome], "biome_regret": max(values) - values[biome]}
            infos.append({"reward_rate": rate, "collided": hit} | here)
        return infos

    def _region_values(self) -> list[float]:
        world = self.model.world
        values = region_values(world, lambda kind, _: world.kinds[kind].reward(self._context(0, kind)))
        return [float(value) for value in values]

    @property
    def collected(self) -> int:
        """Objects that the agents collected together."""
        return int(self._arrays.head[col.EATEN_ALL])

    def recipe(self) -> dict[str, Any]:
        """Return how it is made, for `core.saving.checkpoint`."""
        return {"model": self.model, "number": len(self.possible_agents)}

    def kept(self) -> dict[str, Any]:
        """Return the mutable state for `core.saving.checkpoint`."""
        arrays = {name: np.copy(getattr(self._arrays, name)) for name in CHANGING}
        rewards = {"owed": self._rewards.delayed.owed.copy(), "rate": self._rate.copy()}
        return {"arrays": arrays, "agents": self.agents, "seeds": self._seeds, "steps": self._steps} | rewards

    def restore(self, kept: dict[str, Any]) -> ForagerParallel:
        """Continue the saved episode; ConfigError, and nothing is changed, if it is of another world."""
        arrays = kept["arrays"]
        for name in ("head", "regions", "agents", "views"):
            mine = getattr(self._arrays, name)
            if arrays[name].shape != mine.shape:
                raise ConfigError(f"{name}: expected shape {mine.shape}, got {arrays[name].shape}")
        self._arrays = self._arrays._replace(**arrays)
        self.agents, self._seeds, self._steps = kept["agents"], kept["seeds"], kept["steps"]
        self._rewards.delayed.owed, self._rate = kept["owed"], kept["rate"]
        return self

    def _context(self, agent: int, kind: int) -> HostContext:
        head = self._arrays.head
        return HostContext(self._steps, (int(head[col.KEY_0]), int(head[col.KEY_1])), kind, 0)

    @property
    def _biomes(self) -> np.ndarray:
        return self.model.world.region_at(self._arrays.agents[:, col.AGENT_X], self._arrays.agents[:, col.AGENT_Y])

    def _views(self, encoded: np.ndarray) -> list[Any]:
        """Return the observation of each agent, the other agents included."""
        model, every = self.model, max(self.model.hint[1], 1)
        phase = np.full(len(encoded), self._steps % every)
        seen = add_hint(model.world, model.hint, self._mode.observe(self._cells(encoded), np), phase, self._biomes)
        part = (lambda i: {k: v[i] for k, v in seen.items()}) if model.hint[0] else (lambda i: seen[i])
        return [part(i) for i in range(len(self.possible_agents))]

    def _cells(self, encoded: np.ndarray) -> np.ndarray:
        rows, cols = self.model.aperture
        cells = encoded.reshape(len(encoded), rows, cols, -1).copy()
        others = self._others(rows, cols)
        if self._colored:
            cells[others] = AGENT
            return cells
        return np.concatenate([cells, others[..., None]], -1).astype(np.bool_)

    def _others(self, rows: int, cols: int) -> np.ndarray:
        """bool (agents, rows, columns): where each agent sees another."""
        world = self.model.world
        x, y = self._arrays.agents[:, col.AGENT_X], self._arrays.agents[:, col.AGENT_Y]
        across, down = x[None] - x[:, None] + cols // 2, y[:, None] - y[None] + rows // 2
        if world.edge == "torus":
            across, down = across % world.width, down % world.height
        here = (across >= 0) & (across < cols) & (down >= 0) & (down < rows) & ~np.eye(len(x), dtype=bool)
        out = np.zeros((len(x), rows, cols), np.bool_)
        me, other = np.nonzero(here)
        out[me, down[me, other], across[me, other]] = True
        return out


def _check(model: Forager) -> None:
    check_view_mode(model.mode, "ForagerParallel")
    if model.world.renews or model.world.teleport_every:
        raise ConfigError("several foragers: expected a world without renewal and teleports, got one with them")
