"""Several foragers in one world, as a PettingZoo parallel environment.

In a step the agents move in their order; whoever comes first collects. They do not block each other and share
one map; each sees the others as one more kind, the last one. Noise in rewards belongs to the step: those who
collect in the same step share it.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from pettingzoo import ParallelEnv

from harvestgym.core.errors import ConfigError
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.jax_engine.collisions import RATE
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import codes
from harvestgym.forager.reward_context import HostMoment
from harvestgym.forager.senses import hinted, sensed, space
from harvestgym.forager.world import EMPTY

from . import step
from .arrays import AGENT_X, AGENT_Y, KEY_0, KEY_1, SIDE, USED, grown, new_life
from .biome_values import steady, worths
from .rewards import Purses

Actions = dict[str, int]

AGENT = (20, 20, 20)
"""The colour of another agent, in worlds that are seen in colours."""

_OWN = ("head", "regions", "agents", "slots", "lookup", "taken", "heap", "views")
"""The arrays of a life that change."""


class ForagerParallel(ParallelEnv[str, Any, int]):
    """`number` foragers in the world of a functional `Forager`."""

    metadata = {"name": "forager", "render_modes": []}

    def __init__(self, model: Forager, number: int = 2) -> None:
        _check(model, number)
        self.model = model
        self.possible_agents = [f"forager_{i}" for i in range(number)]
        self.agents: list[str] = []
        self._codes = codes(model.world, model.mode)
        self._life = new_life(model.world, self._codes, model.aperture, agents=number)
        self._seeds = np.random.default_rng()
        self._purses = Purses(model.world, number)
        self._rate, self._steps = np.zeros(number), 0
        self._values = self._worths() if steady(model.world) else None
        self._space = space(model.world, model.mode, model.aperture, model.hint, more=1)
        self._actions = gymnasium.spaces.Discrete(4)

    def observation_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """As the world's observation mode says, with one more kind for the others unless they are a colour."""
        return self._space

    def action_space(self, agent: str) -> gymnasium.spaces.Space[Any]:
        """North, east, south, west."""
        return self._actions

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begin: the first agent in the middle, the others on random free cells."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        words = seed_words(int(self._seeds.integers(0, 2**63)))
        step.begin(self._life, *words, *self.model.world.start)
        self.agents, self._steps = list(self.possible_agents), 0
        self._purses.empty(slice(None))
        self._rate[:] = 0.0
        return self._views(self._life.views[:, self._life.head[SIDE]]), self._infos(np.full(len(self.agents), EMPTY))

    def step(self, actions: Actions) -> tuple[dict[str, Any], ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """One step of all agents."""
        n = len(self.possible_agents)
        moves = np.array([self._move(actions, agent) for agent in self.agents], np.int64)
        room = len(self._life.slots)
        if self._life.head[USED] + n > room and room < self.model.capacity:
            self._life = grown(self._life, 2 * room)
        out, hits = np.empty((n, self._life.views.shape[-1]), np.uint8), np.empty(n, np.int64)
        step.step_together(self._life, moves, out, hits)
        earned = self._purses.pay(hits, np.full(n, self._steps), self._moment)
        self._rate += RATE * (earned - self._rate)
        self._steps += 1
        over = self._steps == self.model.horizon
        by = lambda values: dict(zip(self.possible_agents, values, strict=True))  # noqa: E731
        views, rewards = self._views(out), by(earned.tolist())
        infos = self._infos(hits)
        if over:
            self.agents = []
        return views, rewards, by([False] * n), by([over] * n), infos

    def _infos(self, hits: np.ndarray) -> dict[str, dict[str, Any]]:
        """Of each agent what it met, how it fares, and what its biome is worth now beside the best."""
        values, infos = self._values or self._worths(), {}
        told = zip(self.possible_agents, self._rate.tolist(), hits.tolist(), self._biomes.tolist(), strict=True)
        for agent, rate, hit, biome in told:
            here = {"biome": biome, "biome_value": values[biome], "biome_regret": max(values) - values[biome]}
            infos[agent] = {"reward_rate": rate, "collided": hit} | here
        return infos

    def _worths(self) -> list[float]:
        kinds = self.model.world.kinds
        return [float(w) for w in worths(self.model.world, lambda kind, _: kinds[kind].reward(self._moment(0, kind)))]

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        return {"model": self.model, "number": len(self.possible_agents)}

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        life = {name: np.copy(getattr(self._life, name)) for name in _OWN}
        purses = {"owed": self._purses.owed.copy(), "rate": self._rate.copy()}
        return {"life": life, "agents": self.agents, "seeds": self._seeds, "steps": self._steps} | purses

    def restore(self, kept: dict[str, Any]) -> ForagerParallel:
        """This world, where the one that was kept stood; ConfigError, and nothing is changed, if it is another."""
        life = kept["life"]
        for name in ("head", "regions", "agents", "views"):
            mine = getattr(self._life, name)
            if life[name].shape != mine.shape:
                raise ConfigError(f"{name}: wanted shape {mine.shape}, found {life[name].shape}")
        self._life = self._life._replace(**life)
        self.agents, self._seeds, self._steps = kept["agents"], kept["seeds"], kept["steps"]
        self._purses.owed, self._rate = kept["owed"], kept["rate"]
        return self

    def _moment(self, agent: int, kind: int) -> HostMoment:
        head = self._life.head
        return HostMoment(self._steps, (int(head[KEY_0]), int(head[KEY_1])), kind, 0)

    @property
    def _biomes(self) -> np.ndarray:
        return self.model.world.region_at(self._life.agents[:, AGENT_X], self._life.agents[:, AGENT_Y])

    def _move(self, actions: Actions, agent: str) -> int:
        action = actions.get(agent, -1)
        if action not in (0, 1, 2, 3):
            raise ConfigError(f"action of {agent}: wanted 0, 1, 2 or 3, found {actions.get(agent)!r}")
        return int(action)

    def _views(self, encoded: np.ndarray) -> dict[str, Any]:
        """What each agent sees, with the others in it."""
        model, clock = self.model, self._steps
        told = zip(self._pictures(encoded), self._biomes.tolist(), strict=True)
        views = [hinted(model.world, model.hint, sensed(model.mode, seen, np), clock, biome) for seen, biome in told]
        return dict(zip(self.possible_agents, views, strict=True))

    def _pictures(self, encoded: np.ndarray) -> np.ndarray:
        rows, cols = self.model.aperture
        seen = encoded.reshape(len(encoded), rows, cols, -1).copy()
        others = self._others(rows, cols)
        if self.model.mode == "colors":
            seen[others] = AGENT
            return seen
        return np.concatenate([seen, others[..., None]], -1).astype(np.bool_)

    def _others(self, rows: int, cols: int) -> np.ndarray:
        """bool (agents, rows, columns): where each agent sees another."""
        world = self.model.world
        x, y = self._life.agents[:, AGENT_X], self._life.agents[:, AGENT_Y]
        col, row = x[None] - x[:, None] + cols // 2, y[:, None] - y[None] + rows // 2
        if world.edge == "torus":
            col, row = col % world.width, row % world.height
        here = (col >= 0) & (col < cols) & (row >= 0) & (row < rows) & ~np.eye(len(x), dtype=bool)
        out = np.zeros((len(x), rows, cols), np.bool_)
        me, other = np.nonzero(here)
        out[me, row[me, other], col[me, other]] = True
        return out


def _check(model: Forager, number: int) -> None:
    if not 1 <= number <= 1024:
        raise ConfigError(f"number: wanted 1 to 1024 foragers, found {number}")
    if model.mode == "world":
        raise ConfigError("several foragers: wanted 'objects', 'colors', 'compass' or 'scalar', found 'world'")
    if model.world.renews or model.world.teleport_every:
        raise ConfigError("several foragers: wanted a world without renewal and teleports")
